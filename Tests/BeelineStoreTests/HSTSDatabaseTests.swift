// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import Foundation
import GRDB
import Names
import Testing

@testable import BeelineStore

@Suite("Hosts that require TLS, in SQLite")
struct HSTSDatabaseTests {
    private let folder: Folder
    private let database: HSTSDatabase

    init() throws {
        folder = try Folder()
        database = HSTSDatabase(path: folder.file("hsts.sqlite"))
    }

    private func entry(_ name: String, subdomains: Bool = false, expiresAt: Int64) throws -> HSTSEntry {
        try #require(HSTSEntry(host: try Host(name), includesSubdomains: subdomains, expiresAt: expiresAt))
    }

    @Test("entries are saved and loaded in their order, and a save replaces them")
    func saveAndLoad() async throws {
        #expect(try await database.load().isEmpty)
        let entries = [
            try entry("b.test", subdomains: true, expiresAt: .max),
            try entry("a.test", subdomains: false, expiresAt: 7),
        ]
        try await database.save(entries)
        #expect(try await database.load() == entries)
        try await database.save([entries[1]])
        #expect(try await database.load() == [entries[1]])
        try await database.save([])
        #expect(try await database.load().isEmpty)
        #expect(folder.names == ["hsts.sqlite"] && folder.mode("hsts.sqlite") == 0o600)
    }

    @Test("the last entries are kept if there are more than the bound")
    func bound() async throws {
        let small = HSTSDatabase(path: database.path, maxEntries: 2)
        try await small.save(try (0..<5).map { try entry("h\($0).test", subdomains: false, expiresAt: 10) })
        #expect(try await database.load().map(\.host) == ["h3.test", "h4.test"])
    }

    @Test("rows that are not entries are skipped")
    func hostileRows() async throws {
        try await database.save([try entry("a.test", subdomains: false, expiresAt: 7)])
        try folder.look("hsts.sqlite") { db in
            for (name, subdomains) in [("127.0.0.1", 0), ("a b", 0), ("c.test", 2), ("D.test.", 1)] {
                try db.execute(sql: "INSERT INTO host VALUES (NULL, ?, ?, 9)", arguments: [name, subdomains])
            }
        }
        #expect(
            try await database.load() == [
                try entry("a.test", subdomains: false, expiresAt: 7),
                try entry("d.test", subdomains: true, expiresAt: 9),
            ]
        )
    }

    @Test("the file of another program is not touched, and a damaged one is set aside")
    func otherFiles() async throws {
        let answers = AnswerDatabase(path: database.path)
        try await answers.save([])
        let error = await #expect(throws: StoreError.self) { try await database.save([]) }
        #expect(error?.code == .notOurs)
        try FileManager.default.removeItem(atPath: database.path)
        try await database.save([try entry("a.test", subdomains: false, expiresAt: 7)])
        var bytes = try Data(contentsOf: URL(fileURLWithPath: database.path))
        bytes.replaceSubrange(100..<bytes.count, with: Data(repeating: 0xff, count: bytes.count - 100))
        try bytes.write(to: URL(fileURLWithPath: database.path))
        let (entries, message) = try await database.loadWithMessage()
        #expect(entries.isEmpty && message?.contains("is damaged; it is kept as \(database.path).damaged-") == true)
        #expect(!FileManager.default.fileExists(atPath: database.path))
    }
}
