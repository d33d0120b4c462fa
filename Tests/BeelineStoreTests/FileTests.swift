// SPDX-License-Identifier: Apache-2.0

import BeelineStore
import CookieJar
import Foundation
import GRDB
import Names
import Testing

@Suite("Store files")
struct FileTests {
    @Test("only the owner can read the files of a store, with any umask")
    func modes() async throws {
        let folder = try Folder()
        let old = umask(0)
        defer { umask(old) }
        let store = try await CookieDatabase.open(folder)
        store.jar.put("a", "1")
        try await store.flush()
        #expect(folder.names == ["jar.sqlite", "jar.sqlite-lock", "jar.sqlite-shm", "jar.sqlite-wal"])
        for name in folder.names { #expect(folder.mode(name) == 0o600, "\(name)") }
        try await store.close()

        chmod(folder.file(), 0o644)
        let again = try await CookieDatabase.open(folder)
        again.jar.put("b", "1")
        try await again.flush()
        for name in folder.names { #expect(folder.mode(name) == 0o600, "\(name)") }
        try await again.close()
    }

    /// A file that the store must not change.
    struct Refused: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let code: StoreError.Code
        let sql: String
    }

    static let refused = [
        Refused(
            testDescription: "a database without a number, such as a browser's",
            code: .notOurs,
            sql: "CREATE TABLE moz_cookies (id INTEGER PRIMARY KEY); INSERT INTO moz_cookies VALUES (1)"
        ),
        Refused(
            testDescription: "another program's number",
            code: .notOurs,
            sql: "PRAGMA application_id = 252006673; CREATE TABLE cookie (id INTEGER)"
        ),
        Refused(
            testDescription: "another program's database with a log",
            code: .notOurs,
            sql: "PRAGMA journal_mode = WAL; PRAGMA application_id = 7; CREATE TABLE cookie (id INTEGER)"
        ),
        Refused(
            testDescription: "a version that is not written yet",
            code: .newerSchema,
            sql: "PRAGMA application_id = 1113941315; PRAGMA user_version = 99; CREATE TABLE cookie (id INTEGER)"
        ),
    ]

    @Test("a file that is not ours is refused and left unchanged", arguments: refused)
    func refusal(_ row: Refused) async throws {
        let folder = try Folder()
        try folder.makeDatabase { try $0.execute(sql: row.sql) }
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.file()))
        chmod(folder.file(), 0o640)
        await #expect {
            _ = try await CookieDatabase.open(folder)
        } throws: { error in
            guard let error = error as? StoreError else { return false }
            return error.code == row.code && error.message.contains(folder.file())
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file())) == before)
        #expect(folder.names == ["jar.sqlite"])
        if row.code == .notOurs { #expect(folder.mode("jar.sqlite") == 0o640) }
    }

    @Test("a file of version 1 is migrated with all its cookies")
    func migration() async throws {
        let folder = try Folder()
        try folder.makeDatabase { db in
            try db.execute(
                sql: """
                    PRAGMA application_id = 1113941315;
                    CREATE TABLE cookie (
                        id INTEGER PRIMARY KEY AUTOINCREMENT, domain TEXT NOT NULL, is_host_only INTEGER NOT NULL,
                        path TEXT NOT NULL, partition TEXT NOT NULL, name BLOB NOT NULL, value BLOB NOT NULL,
                        created INTEGER NOT NULL, accessed INTEGER NOT NULL, expires INTEGER,
                        is_secure INTEGER NOT NULL, is_http_only INTEGER NOT NULL, same_site INTEGER NOT NULL,
                        UNIQUE (domain, name, path, is_host_only, partition)
                    ) STRICT;
                    PRAGMA user_version = 1;
                    INSERT INTO cookie VALUES
                        (1, 'example.com', 1, '/', '', x'6F6C64', x'31', 1, 1, 1772370000000000, 0, 0, 0),
                        (2, 'example.com', 0, '/', '', x'FF', x'32', 2, 2, NULL, 1, 1, 2);
                    """
            )
        }
        let store = try await CookieDatabase.open(folder, .restoring)
        #expect(store.report.migratedFrom == 1)
        #expect(store.report.loaded == 2)
        #expect(
            store.jar.allCookies().map(\.nameOctets).sorted { $0.count > $1.count } == [[0x6f, 0x6c, 0x64], [0xff]]
        )
        store.jar.put("new", "3")
        store.jar.take("old")
        try await store.close()
        let again = try await CookieDatabase.open(folder, .restoring)
        #expect(again.report.migratedFrom == nil)
        #expect(try again.header == "\u{fffd}=2; new=3")
        try await again.close()
    }

    /// A kind of damage to a file.
    struct Damage: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let damage: @Sendable (inout Data) -> Void
    }

    static let damages = [
        Damage(testDescription: "it is cut off in a page") { $0.removeLast(1000) },
        Damage(testDescription: "half of it is gone") { $0.removeLast($0.count / 2) },
        Damage(testDescription: "only a piece of its head is there") { $0.removeLast($0.count - 80) },
        Damage(testDescription: "the beginning of its head is lost") { $0.resetBytes(in: 0..<60) },
        Damage(testDescription: "a page in its middle is lost") { $0.resetBytes(in: 8192..<12_288) },
        Damage(testDescription: "its schema is lost") { $0.resetBytes(in: 100..<4096) },
    ]

    @Test("a damaged file is set aside and replaced by an empty one", arguments: damages)
    func damage(_ row: Damage) async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        for number in 0..<150 { first.jar.put("n\(number)", String(repeating: "v", count: 200)) }
        try await first.close()
        let url = URL(fileURLWithPath: folder.file())
        var bytes = try Data(contentsOf: url)
        row.damage(&bytes)
        try bytes.write(to: url)

        let second = try await CookieDatabase.open(folder)
        let place = try #require(second.report.setAside)
        #expect(place == folder.file() + ".damaged-20260301T120000Z")
        #expect(try Data(contentsOf: URL(fileURLWithPath: place)).count == bytes.count)
        let message = try #require(second.report.messages.first)
        #expect(message.contains("is damaged") && message.contains(place))
        #expect(second.jar.allCookies().isEmpty)
        second.jar.put("new", "1")
        try await second.close()

        // Again within the same second: files that were set aside are not overwritten.
        try bytes.write(to: url)
        let third = try await CookieDatabase.open(folder)
        #expect(third.report.setAside == place + "-2")
        try await third.close()
    }

    /// Files without any trace of our format.
    static let strangeFiles = [
        Damage(testDescription: "the number in its head is lost") { $0.resetBytes(in: 0..<100) },
        Damage(testDescription: "it is noise, as an encrypted database is") {
            $0 = Data((0..<$0.count).map { UInt8(truncatingIfNeeded: $0 &* 197 >> 3) })
        },
        Damage(testDescription: "it is a text") { $0 = Data("# Netscape HTTP Cookie File\n".utf8) },
        Damage(testDescription: "it is shorter than a head") { $0 = $0.prefix(50) },
    ]

    @Test(
        "a file that is not a database, with no sign that it was ours, is refused and left unchanged",
        arguments: strangeFiles
    )
    func unknownFile(_ row: Damage) async throws {
        let folder = try Folder()
        try await CookieDatabase.open(folder).close()
        let url = URL(fileURLWithPath: folder.file())
        var bytes = try Data(contentsOf: url)
        row.damage(&bytes)
        try bytes.write(to: url)
        // Neither without a lock file nor with a lock file of another program.
        for lock in [nil, "another program's"] {
            try lock.map { try Data($0.utf8).write(to: URL(fileURLWithPath: folder.file() + "-lock")) }
            await #expect {
                _ = try await CookieDatabase.open(folder)
            } throws: { ($0 as? StoreError)?.code == .notOurs }
            #expect(try Data(contentsOf: url) == bytes)
            #expect(folder.names == ["jar.sqlite"] + (lock == nil ? [] : ["jar.sqlite-lock"]))
        }
    }

    @Test("a file that lost its header while a process of ours had it open is set aside", arguments: strangeFiles)
    func unknownFileAfterCrash(_ row: Damage) async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        let lock = try Data(contentsOf: URL(fileURLWithPath: folder.file() + "-lock"))
        try await first.close()
        let url = URL(fileURLWithPath: folder.file())
        var bytes = try Data(contentsOf: url)
        row.damage(&bytes)
        try bytes.write(to: url)
        // The lock file that a killed process leaves.
        try lock.write(to: URL(fileURLWithPath: folder.file() + "-lock"))
        let second = try await CookieDatabase.open(folder)
        #expect(second.report.setAside != nil)
        try await second.close()
        #expect(folder.names.count == 2)
    }

    @Test("a file that lost a table counts as damaged")
    func lostTable() async throws {
        let folder = try Folder()
        try await CookieDatabase.open(folder).close()
        try folder.look { try $0.execute(sql: "DROP TABLE deletion") }
        let store = try await CookieDatabase.open(folder)
        #expect(store.report.setAside != nil)
        try await store.close()
    }

    @Test("rows that are not valid cookies are skipped and counted")
    func strangeRows() async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        for name in ["a", "b", "c", "d"] { first.jar.put(name, "1") }
        try await first.close()
        try folder.look { db in
            try db.execute(sql: "UPDATE cookie SET same_site = 9 WHERE name = x'61'")
            try db.execute(sql: "UPDATE cookie SET domain = 'no good' WHERE name = x'62'")
            try db.execute(sql: "UPDATE cookie SET path = '' WHERE name = x'63'")
        }
        let second = try await CookieDatabase.open(folder)
        #expect(try second.header == "d=1")
        #expect(second.report.skipped == 3)
        #expect(second.report.messages.count == 1)
        try await second.close()
    }

    @Test("cookies above the jar's limit are counted and reported")
    func dropped() async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        for number in 0..<30 { first.jar.put("n\(number)", "1") }
        try await first.close()
        #expect(first.report.dropped == 0)
        var small = CookieJarConfiguration()
        small.maxCookiesPerDomain = 10
        let second = try await CookieDatabase.open(folder, jar: small)
        #expect((second.report.loaded, second.report.dropped, second.report.skipped) == (10, 20, 0))
        #expect(second.report.messages.contains { $0.contains("20 cookies exceed the limits of this jar") })
        try await second.close()
    }

    @Test("a jar is marked as restored when its file existed, and not when the file is new")
    func restored() async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        #expect(!first.jar.isRestored)
        try await first.close()
        let second = try await CookieDatabase.open(folder)
        #expect(second.jar.isRestored)
        try await second.close()
    }

    @Test("an empty file is treated like a missing one")
    func empty() async throws {
        let folder = try Folder()
        try Data().write(to: URL(fileURLWithPath: folder.file()))
        let store = try await CookieDatabase.open(folder)
        #expect(store.report.messages.isEmpty)
        store.jar.put("a", "1")
        try await store.close()
        let again = try await CookieDatabase.open(folder)
        #expect(try again.header == "a=1")
        try await again.close()
    }

    @Test("a log left by a deleted database is not applied to the new one")
    func orphanedLog() async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        first.jar.put("a", "1")
        try await first.flush()
        let log = try Data(contentsOf: URL(fileURLWithPath: folder.file() + "-wal"))
        try await first.close()
        try FileManager.default.removeItem(atPath: folder.file())
        try log.write(to: URL(fileURLWithPath: folder.file() + "-wal"))
        let second = try await CookieDatabase.open(folder)
        #expect(second.jar.allCookies().isEmpty)
        #expect(second.report.setAside == nil)
        try await second.close()
    }

    @Test("if an open file is moved away, the next write is an error")
    func moved() async throws {
        let folder = try Folder()
        let store = try await CookieDatabase.open(folder)
        try FileManager.default.moveItem(atPath: folder.file(), toPath: folder.file("elsewhere"))
        store.jar.put("a", "1")
        await #expect { try await store.flush() } throws: { ($0 as? StoreError)?.code == .moved }
        await #expect { try await store.close() } throws: { ($0 as? StoreError)?.code == .moved }
    }

    @Test("a path that cannot be a file is named in the error")
    func noPlace() async throws {
        let folder = try Folder()
        for path in [folder.path, folder.file("no/such/folder/jar.sqlite")] {
            await #expect {
                _ = try await CookieDatabase.open(path)
            } throws: { error in
                guard let error = error as? StoreError else { return false }
                return error.code == .notAccessible && error.message.contains(path)
            }
        }
        #expect(folder.names.isEmpty)
    }

    @Test("a symbolic link is followed and kept")
    func link() async throws {
        let folder = try Folder()
        let real = try await CookieDatabase.open(folder.file("real.sqlite"))
        try await real.close()
        try FileManager.default.createSymbolicLink(atPath: folder.file(), withDestinationPath: "real.sqlite")
        let store = try await CookieDatabase.open(folder)
        store.jar.put("a", "1")
        try await store.close()
        #expect(folder.names == ["jar.sqlite", "real.sqlite"])
        #expect(try folder.look("real.sqlite") { try Int.fetchOne($0, sql: "SELECT count(*) FROM cookie") } == 1)
    }
}
