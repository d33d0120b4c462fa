// SPDX-License-Identifier: Apache-2.0

import BeelineStore
import BeelineTesting
import Foundation
import GRDB
import HTTPDNS
import Names
import Testing

@Suite("Answer database")
struct AnswerDatabaseTests {
    private let folder: Folder
    private let store: AnswerDatabase

    init() throws {
        folder = try Folder()
        store = AnswerDatabase(path: folder.file("answers.sqlite"))
    }

    private static func part(_ addresses: [String], at stored: Int64 = 1_000, ttl: Int64 = 60) -> StoredAnswer.Part {
        StoredAnswer.Part(addresses: addresses, storedAt: stored, expiresAt: stored + ttl)
    }

    private static let answers = [
        StoredAnswer(name: "a.example", network: "", upstream: "one", v4: part(["192.0.2.1", "192.0.2.2"])),
        StoredAnswer(
            name: "a.example",
            network: "home",
            upstream: "one",
            v4: part(["192.0.2.3"]),
            v6: part(["2001:db8::1"])
        ),
        StoredAnswer(name: "none.example/192.0.2.0/24", network: "", upstream: "two", v4: part([]), v6: part([])),
    ]

    @Test("saved answers are loaded from a file that only its owner can read, and each save replaces the last")
    func roundTrip() async throws {
        #expect(try await store.load() == [])
        let old = umask(0)
        defer { umask(old) }
        try await store.save(Self.answers)
        #expect(folder.names == ["answers.sqlite"] && folder.mode("answers.sqlite") == 0o600)
        #expect(Set(try await store.load()) == Set(Self.answers))
        try await store.save([Self.answers[2]])
        #expect(try await store.load() == [Self.answers[2]])
    }

    @Test("a store with too many answers keeps the most recent ones")
    func bound() async throws {
        let many = (0..<50).map {
            StoredAnswer(name: "n\($0).example", network: "", upstream: "one", v4: Self.part(["192.0.2.1"], at: $0))
        }
        let small = AnswerDatabase(path: store.path, maxAnswers: 3)
        try await small.save(many)
        #expect(try await store.load().map(\.name) == ["n49.example", "n48.example", "n47.example"])
        try await store.save(many)
        #expect(try await small.load().map(\.name) == ["n49.example", "n48.example", "n47.example"])
    }

    // MARK: A resolver

    private func resolver(_ upstream: ScriptedUpstream, clock: ManualClock = ManualClock()) -> Resolver {
        var configuration = ResolverConfiguration(upstreams: [upstream], system: nil)
        configuration.families = .v4
        configuration.network.monitor = nil
        configuration.cache.store = store
        return Resolver(configuration, clock: clock)
    }

    private static func answer(_ address: String) throws -> Answer {
        Answer(v4: .addresses([try #require(IPAddress(address))], ttl: .seconds(600)))
    }

    @Test("a new resolver answers from the file without asking its upstream")
    func restart() async throws {
        let host = try Host("www.example.com")
        let first = resolver(ScriptedUpstream("one", .answer(try Self.answer("192.0.2.1"))))
        _ = try await first.resolve(host)
        await first.save()
        await first.shutDown()

        let upstream = ScriptedUpstream("one")
        let second = resolver(upstream)
        await second.restore()
        let resolution = try await second.resolve(host)
        #expect(resolution.source == .cached && resolution.addresses.map(\.description) == ["192.0.2.1"])
        #expect(resolution.ttl <= .seconds(600) && upstream.questions.isEmpty)
        await second.shutDown()
    }

    @Test("an answer past the stale bound is not used after a restart")
    func staleBound() async throws {
        let now = Int64(Date().timeIntervalSince1970)
        let bound = 43_200
        let ages = [("fresh", -10), ("stale", -bound / 2), ("over", -bound - 120), ("ancient", -30 * 86_400)]
        try await store.save(
            ages.map { name, age in
                let part = StoredAnswer.Part(
                    addresses: ["192.0.2.1"],
                    storedAt: now + Int64(age) - 60,
                    expiresAt: now + Int64(age) + (name == "fresh" ? 600 : 0)
                )
                return StoredAnswer(name: "\(name).example", network: "", upstream: "one", v4: part)
            }
        )
        let resolver = resolver(ScriptedUpstream("one") { _ in .fail(UpstreamError(.unreachable, "away")) })
        await resolver.restore()
        #expect(resolver.cached(try Host("fresh.example"))?.source == .cached)
        #expect(resolver.cached(try Host("stale.example"))?.source == .stale)
        #expect(resolver.cached(try Host("over.example")) == nil)
        #expect(resolver.cached(try Host("ancient.example")) == nil)
        await resolver.shutDown()
    }

    // MARK: Others

    @Test("of concurrent saves, the file holds one complete set of answers")
    func another() async throws {
        let path = store.path
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    // Each writer has its own store, like a process.
                    let store = AnswerDatabase(path: path)
                    for _ in 0..<5 {
                        try await store.save(
                            (0..<20).map {
                                StoredAnswer(name: "n\($0)", network: "", upstream: "\(writer)", v4: Self.part([]))
                            }
                        )
                        let seen = try await store.load()
                        #expect(seen.count == 20 && Set(seen.map(\.upstream)).count == 1)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(folder.names == ["answers.sqlite"])
    }

    @Test("changes that another process makes to the file are loaded")
    func otherProcess() async throws {
        try await store.save(Self.answers)
        try folder.look("answers.sqlite") { db in
            try db.execute(sql: "UPDATE answer SET upstream = 'three'; DELETE FROM answer WHERE network = 'home'")
        }
        #expect(try await store.load().map(\.upstream) == ["three", "three"])
    }

    @Test("a damaged file is set aside and replaced by a new one")
    func damaged() async throws {
        try await store.save(Self.answers)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: store.path))
        bytes.resetBytes(in: 0..<16)
        try bytes.write(to: URL(fileURLWithPath: store.path))
        #expect(try await store.load() == [])
        let kept = try #require(folder.names.first { $0.hasPrefix("answers.sqlite.damaged-") })
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file(kept))) == bytes)
        try await store.save(Self.answers)
        #expect(try await store.load().count == 3)

        // Damages pages in the middle of a file with an intact header.
        let many = (0..<500).map {
            StoredAnswer(name: "n\($0)", network: "", upstream: "one", v4: Self.part(["192.0.2.1"]))
        }
        try await store.save(many)
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: store.path))
        try handle.seek(toOffset: 4096)
        try handle.write(contentsOf: Data(repeating: 0xA5, count: 8192))
        try handle.close()
        try await store.save(Self.answers)
        #expect(try await store.load().count == 3)
        #expect(folder.names.filter { $0.contains(".damaged-") }.count == 2)
    }

    @Test(
        "a file of another program or a newer version is refused and left unchanged",
        arguments: [
            ("another program's", "PRAGMA application_id = 7; CREATE TABLE t (a)", StoreError.Code.notOurs),
            ("a jar", "PRAGMA application_id = 1113941315; CREATE TABLE t (a)", .notOurs),
            (
                "of a newer version", "PRAGMA application_id = 1113941313; PRAGMA user_version = 9; CREATE TABLE t (a)",
                .newerSchema
            ),
        ]
    )
    func refused(_ what: String, _ sql: String, _ code: StoreError.Code) async throws {
        try folder.makeDatabase("answers.sqlite") { try $0.execute(sql: sql) }
        let before = try Data(contentsOf: URL(fileURLWithPath: store.path))
        await #expect { try await store.load() } throws: { ($0 as? StoreError)?.code == code }
        await #expect { try await store.save(Self.answers) } throws: { ($0 as? StoreError)?.code == code }
        #expect(try Data(contentsOf: URL(fileURLWithPath: store.path)) == before)
        #expect(folder.names == ["answers.sqlite"])
    }

    @Test("a file that is not a database, with no sign that it was ours, is refused and left unchanged")
    func unknownFile() async throws {
        let bytes = Data("another program's, which is encrypted".utf8)
        try bytes.write(to: URL(fileURLWithPath: store.path))
        await #expect { try await store.load() } throws: { ($0 as? StoreError)?.code == .notOurs }
        await #expect { try await store.save(Self.answers) } throws: { ($0 as? StoreError)?.code == .notOurs }
        #expect(try Data(contentsOf: URL(fileURLWithPath: store.path)) == bytes)
        #expect(folder.names == ["answers.sqlite"])
    }

    @Test("rows that are not valid answers are skipped")
    func strangeRows() async throws {
        try await store.save(Self.answers)
        try folder.look("answers.sqlite") { db in
            try db.execute(
                sql: """
                    DROP TABLE answer;
                    CREATE TABLE answer (name, network, upstream, said, v4, v4_stored, v4_expires, v6, v6_stored, v6_expires);
                    INSERT INTO answer VALUES (x'ff', '', '', 1, '', 1, 1, '', 1, 1);
                    INSERT INTO answer VALUES ('a', 1.5, '', 1, '', 1, 1, '', 1, 1);
                    INSERT INTO answer VALUES ('b', '', 'one', 1, '192.0.2.1', 'x', 1, x'00', NULL, 1);
                    """
            )
        }
        #expect(try await store.load() == [StoredAnswer(name: "b", network: "", upstream: "one")])
    }
}
