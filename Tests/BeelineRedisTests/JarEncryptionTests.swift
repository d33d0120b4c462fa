// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Foundation
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineRedis

@Suite("Encrypted jars", .timeLimit(.minutes(2)))
struct JarEncryptionTests {
    private static let key = RedisJarEncryptionKey((0..<32).map { UInt8($0) })
    private static let other = RedisJarEncryptionKey((1..<33).map { UInt8($0) })

    @Test("the server holds no name, domain or value", .enabled(if: !RedisServer.programs.isEmpty))
    func nothingReadable() async throws {
        let server = try RedisServer(try #require(RedisServer.programs.first))
        let one = try await server.jar { $0.encryptionKey = Self.key }
        let two = try await server.jar { $0.encryptionKey = Self.key }
        one.set("secretname", "secretvalue")
        one.set("deletedname", "deletedvalue")
        try await two.has("deletedname=deletedvalue", "secretname=secretvalue")
        one.remove("deletedname")
        try await two.has("secretname=secretvalue")
        let origin = try HTTPURL("https://shop.test/").origin
        await #expect(throws: RedisError.self) {
            try await one.ensureLoggedIn(to: origin, isLoggedIn: { _ in false }, logIn: { _ in })
        }
        var dump = try server.ask("--scan")
        for key in dump.split(separator: "\n") {
            dump += try server.ask("DUMP", String(key))
            dump += try server.ask("HGETALL", String(key)) + server.ask("XRANGE", String(key), "-", "+")
            dump += try server.ask("ZRANGE", String(key), "0", "-1")
        }
        #expect(dump.contains("{beeline:jar:shop}:cookies") && dump.contains(":c:e:"))
        for text in ["secretname", "secretvalue", "deletedname", "deletedvalue", "shop.test"] {
            #expect(!dump.contains(text), "\(text)")
        }
        try await one.close()
        try await two.close()
        server.stop()
    }

    @Test("records of another key are reported and left alone", .enabled(if: !RedisServer.programs.isEmpty))
    func otherKey() async throws {
        let server = try RedisServer(try #require(RedisServer.programs.first))
        let one = try await server.jar { $0.encryptionKey = Self.key }
        one.set("a", "1")
        try await one.synchronize()
        let told = NIOLockedValueBox<[String]>([])
        let stranger = try await server.jar {
            $0.encryptionKey = Self.other
            $0.onProblem = { problem in told.withLockedValue { $0.append(problem) } }
        }
        let plain = try await server.jar { $0.onProblem = { problem in told.withLockedValue { $0.append(problem) } } }
        stranger.set("a", "2")
        try await stranger.synchronize()
        #expect(stranger.pairs == ["a=2"] && stranger.state.unreadableRecords == 1 && plain.pairs.isEmpty)
        let later = try await server.jar { $0.encryptionKey = Self.key }
        try await later.has("a=1")
        #expect(told.withLockedValue { Set($0) }.count == 2)
        for jar in [one, stranger, plain, later] { try await jar.close() }
        server.stop()
    }

    @Test("a record is valid in its jar, field, version and kind only")
    func bond() throws {
        let cipher = JarCipher(try #require(Self.key))
        let coding = JarCoding(place: "{beeline:jar:a}:", cipher: cipher)
        func entry(
            _ name: String,
            _ updated: Int64,
            _ kind: PendingChanges.Entry.Kind = .stored
        ) -> PendingChanges.Entry {
            let cookie = Cookie(name, "1", domain: "shop.test")
            return PendingChanges.Entry(cookie: cookie, kind: kind, updated: updated, order: 0)
        }
        let (field, record) = try #require(coding.record(of: entry("a", 5)))
        #expect(coding.update(field: field, record: record)?.cookie == entry("a", 5).cookie)
        #expect(coding.update(field: field, record: record)?.version == 5)
        let again = try #require(coding.record(of: entry("a", 5)))
        #expect(again.record != record, "each has its own nonce")
        let (otherField, otherRecord) = try #require(coding.record(of: entry("b", 5)))
        #expect(coding.update(field: field, record: otherRecord) == nil)
        #expect(coding.update(field: otherField, record: record) == nil)
        #expect(coding.update(field: field, record: Array("6".utf8) + record.dropFirst()) == nil)
        #expect(coding.update(field: field, record: Array("5:d:e:".utf8) + record.dropFirst(6)) == nil)
        #expect(JarCoding(place: "{beeline:jar:b}:", cipher: cipher).update(field: field, record: record) == nil)
        let plain = JarCoding(place: "{beeline:jar:a}:", cipher: nil)
        let forged = try #require(plain.record(of: entry("a", 9)))
        #expect(coding.update(field: field, record: forged.record) == nil, "an unencrypted record")
        #expect(plain.update(field: forged.field, record: forged.record)?.cookie == entry("a", 9).cookie)
        let (gone, removal) = try #require(coding.record(of: entry("a", 7, .removed)))
        let update = try #require(coding.update(field: gone, record: removal))
        #expect(gone == field && update.cookie == nil && update.key == CookieKey(entry("a", 7).cookie))
    }

    @Test("a key file has 32 octets, hexadecimal or Base64, and is not open to all")
    func keyFiles() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("beeline-key-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("key").path
        let octets = (0..<32).map { UInt8($0) }
        let hexadecimal = octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        func write(_ data: Data, mode: Int = 0o600) throws {
            try data.write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        for data in [
            Data(octets), Data((hexadecimal + "\n").utf8), Data((Data(octets).base64EncodedString() + "\n").utf8),
        ] {
            try write(data)
            #expect(try RedisJarEncryptionKey(file: path).octets == octets)
        }
        let refused: [(Data, Int)] = [
            (Data(octets), 0o604), (Data(octets.dropLast()), 0o600), (Data(), 0o600),
            (Data((hexadecimal.dropLast() + "x").utf8), 0o600), (Data(repeating: 0x41, count: 300), 0o600),
        ]
        for (data, mode) in refused {
            try write(data, mode: mode)
            #expect(throws: RedisError.self) { try RedisJarEncryptionKey(file: path) }
        }
        #expect(throws: RedisError.self) { try RedisJarEncryptionKey(file: folder.path) }
        #expect(throws: RedisError.self) { try RedisJarEncryptionKey(file: folder.path + "/none") }
    }
}
#endif
