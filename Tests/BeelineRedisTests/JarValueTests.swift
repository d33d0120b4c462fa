// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Names
import Testing

@testable import BeelineRedis

@Suite("Values of shared jars")
struct JarValueTests {
    private static func cookie(_ name: String, _ value: String = "1") -> Cookie {
        Cookie(name, value, domain: "shop.test")
    }

    @Test("a comparison takes newer records, pushes what was lost, and drops what was deleted long ago")
    func comparison() {
        let names = ["newer", "older", "equal", "lost", "old", "gone", "oldGone", "expired", "pending"]
        let keys = Dictionary(uniqueKeysWithValues: names.map { ($0, CookieKey(Self.cookie($0))) })
        func known(
            _ name: String,
            _ version: Int64,
            _ kind: KnownVersion.Kind = .stored
        ) -> (CookieKey, KnownVersion) {
            (keys[name] ?? CookieKey(Self.cookie(name)), KnownVersion(version: version, kind: kind))
        }
        func update(_ name: String, _ version: Int64) -> JarUpdate {
            let cookie = Self.cookie(name, "server")
            return JarUpdate(key: CookieKey(cookie), version: version, cookie: cookie)
        }
        func compare(drops: Bool) -> JarComparison {
            JarComparison(
                server: [
                    update("newer", 20), update("older", 5), update("equal", 10), update("unknown", 3),
                    update("missing", 11),
                ],
                pruned: 7,
                drops: drops,
                known: Dictionary(
                    uniqueKeysWithValues: [
                        known("newer", 10), known("older", 10), known("equal", 10), known("lost", 8), known("old", 7),
                        known("gone", 9, .removed), known("oldGone", 6, .removed), known("expired", 12, .absent),
                        known("missing", 11, .absent), known("pending", 2),
                    ]
                ),
                pending: Set([keys["pending"]].compactMap(\.self)),
                cookies: names.filter { !["gone", "oldGone", "expired"].contains($0) }.map { Self.cookie($0) }
            )
        }
        let comparison = compare(drops: true)
        #expect(comparison.updates.map(\.version) == [3, 11, 20])
        #expect(comparison.pushes.map(\.cookie.name) == ["lost", "gone", "older"])
        #expect(comparison.pushes.map(\.kind) == [.stored, .removed, .stored])
        #expect(comparison.dropped.keys.map { String(decoding: $0.name, as: UTF8.self) } == ["old"])
        let doubting = compare(drops: false)
        #expect(doubting.pushes.map(\.cookie.name) == ["pending", "old", "lost", "gone", "older"])
        #expect(doubting.dropped.isEmpty)
    }

    @Test("a row holds all attributes, and no octets make its reader trap")
    func rows() throws {
        var cookie = Cookie(nameOctets: [0xff, 0x61], valueOctets: [0x80], domain: "shop.test", isHostOnly: false)
        cookie.path = "/a"
        cookie.expires = CookieTime(microseconds: 1_772_366_400_123_456)
        (cookie.created, cookie.lastAccessed) = (CookieTime(microseconds: -5), CookieTime(microseconds: 7))
        (cookie.isSecure, cookie.isHTTPOnly, cookie.sameSite) = (true, true, .strict)
        cookie.partition = Site(of: try HTTPURL("https://top.test/"))
        let row = try #require(JarRow.write(cookie))
        #expect(JarRow.read(row[...]) == cookie)
        let session = Self.cookie("", "nameless")
        #expect(JarRow.read(try #require(JarRow.write(session))[...]) == session)
        cookie.valueOctets = Array(repeating: 0x61, count: 70_000)
        #expect(JarRow.write(cookie) == nil)

        var random = SeededRandom(seed: 36)
        for _ in 0..<FuzzRounds.count(ordinary: 20_000) {
            var octets = row
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                octets[Int.random(in: 0..<octets.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            if Bool.random(using: &random) {
                octets = Array(octets.prefix(.random(in: 0...octets.count, using: &random)))
            }
            guard let read = JarRow.read(octets[...]) else { continue }
            #expect(JarRow.write(read).flatMap { JarRow.read($0[...]) } == read)
        }
    }

    @Test("a jar that is full of the longest cookies can be read again", arguments: [1, 20_000, 80_000])
    func fullJar(_ maxRecords: Int) throws {
        let label = String(repeating: "a", count: 63)
        let domain = [label, label, label, String(repeating: "b", count: 61)].joined(separator: ".")
        var cookie = Cookie(String(repeating: "n", count: 4_096), "", domain: domain)
        cookie.path = "/" + String(repeating: "p", count: 1_023)
        cookie.isSecure = true
        cookie.partition = Site("https://\(domain)")
        #expect(CookieJar().insert(cookie) == .kept)
        var configuration = RedisJarConfiguration(name: "shop")
        configuration.maxRecords = maxRecords
        let entry = PendingChanges.Entry(cookie: cookie, kind: .stored, updated: JarUpdate.maxVersion, order: 0)
        for key in [nil, RedisJarEncryptionKey(Array(repeating: 7, count: 32))] {
            let coding = JarCoding(place: "shop", cipher: key.map { JarCipher($0) })
            let sealed = coding.record(of: entry)
            let (field, record) = (try #require(sealed?.field), try #require(sealed?.record))
            #expect(record.count <= JarCoding.maxRecord)
            #expect((field.count + record.count) * maxRecords <= configuration.maxJarOctets)
        }
        configuration.maxRecords = .max
        #expect(configuration.maxJarOctets == 1 << 30)
    }

    @Test("keys with the same text at different borders have different fields")
    func fields() {
        let coding = JarCoding(place: "p", cipher: nil)
        let cookies = [
            Cookie("b", "", domain: "a.test", path: "/c"), Cookie("cb", "", domain: "a.test", path: "/"),
            Cookie("b", "", domain: "a.test", path: "/"), Cookie("", "b", domain: "a.test", path: "/cb"),
        ]
        #expect(Set(cookies.map { coding.field(of: CookieKey($0)) }).count == cookies.count)
    }

    @Test(
        "the reader of replies gives the same values however the octets arrive, and refuses what is beyond its limits"
    )
    func replies() throws {
        let limits = RedisReplyReader.Limits(octets: 100, elements: 8)
        let octets = Array(
            "+OK\r\n:-5\r\n$3\r\na\r\n\r\n$-1\r\n*2\r\n*1\r\n:1\r\n$0\r\n\r\n*-1\r\n-ERR no\r\n-WRONGTYPE x\r\n".utf8
        )
        let values: [RedisValue] = [
            .octets(Array("OK".utf8)), .integer(-5), .octets(Array("a\r\n".utf8)), .nothing,
            .array([.array([.integer(1)]), .octets([])]), .nothing, .refused("ERR no"), .unexpected,
        ]
        for size in 1...octets.count {
            var reader = RedisReplyReader()
            var found: [RedisValue] = []
            for start in stride(from: 0, to: octets.count, by: size) {
                reader.append(octets[start..<min(start + size, octets.count)])
                while let value = try reader.next(limits) { found.append(value) }
            }
            #expect(found == values, "\(size)")
        }
        let refused = [
            "*2147483647\r\n", "$536870912\r\n", "*9\r\n", "$101\r\n", "x\r\n", ":1x\r\n", "$1\r\nabc", "\r\n",
            "*8\r\n*1\r\n",
            String(repeating: "*1\r\n", count: 8), "+" + String(repeating: "a", count: 5_000),
        ]
        for text in refused {
            var reader = RedisReplyReader()
            reader.append(text.utf8)
            #expect(throws: RedisReplyReader.Failure.self, "\(text.prefix(20))") { try reader.next(limits) }
        }
    }

    @Test("elements of a large reply are read once, however many pieces it arrives in")
    func largeReply() throws {
        let limits = RedisReplyReader.Limits(octets: 8 << 20, elements: 60_000)
        let element = Array("$60\r\n\(String(repeating: "v", count: 60))\r\n".utf8)
        var reader = RedisReplyReader()
        reader.append("*60000\r\n".utf8)
        var reply: RedisValue?
        let begin = ContinuousClock.now
        // Reading all of it again for each element would take hours.
        for _ in 0..<60_000 {
            #expect(reply == nil)
            reader.append(element)
            reply = try reader.next(limits)
        }
        #expect(reply?.elements?.count == 60_000)
        #expect(ContinuousClock.now - begin < .seconds(60))
    }

    @Test("the size of a reply is bounded, whether it arrives whole or in pieces", arguments: [1, 7, 1 << 20])
    func largeElements(_ piece: Int) {
        // The elements are within the limit of their number, and too large together.
        let element = "$99\r\n\(String(repeating: "v", count: 99))\r\n"
        let octets = Array("*8\r\n\(String(repeating: element, count: 8))".utf8)
        let limits = RedisReplyReader.Limits(octets: 100, elements: 8)
        var many: [UInt8] = []
        for _ in 0..<7 { many += octets }
        for (text, isRefused) in [(octets, false), (Array("*7\r\n".utf8) + many, true)] {
            var reader = RedisReplyReader()
            var (failure, values) = (RedisReplyReader.Failure?.none, 0)
            for start in stride(from: 0, to: text.count, by: piece) where failure == nil {
                reader.append(text[start..<min(start + piece, text.count)])
                do throws(RedisReplyReader.Failure) {
                    if try reader.next(.init(octets: limits.octets, elements: 63)) != nil { values += 1 }
                } catch {
                    failure = error
                }
            }
            #expect(failure == (isRefused ? .tooLarge : nil) && values == (isRefused ? 0 : 1))
        }
    }

    @Test("no octets make the reader of replies trap")
    func fuzz() {
        var random = SeededRandom(seed: 6_380)
        let seed = Array("*2\r\n$3\r\nabc\r\n*2\r\n:12\r\n+OK\r\n-ERR\r\n".utf8)
        for _ in 0..<FuzzRounds.count(ordinary: 20_000) {
            var octets = seed
            for _ in 0...Int.random(in: 0..<4, using: &random) {
                octets[Int.random(in: 0..<octets.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            var reader = RedisReplyReader()
            reader.append(octets)
            while let value = try? reader.next(.init(octets: 64, elements: 4)), value != .nothing {}
        }
    }

    @Test("pauses grow to their bound, with a random part")
    func pauses() {
        var pause = RetryPause(.milliseconds(100)...Duration.milliseconds(300))
        #expect(pause.next(share: 1) == .milliseconds(100))
        #expect(pause.next(share: 0) == .milliseconds(100))
        #expect(pause.next(share: 0.5) == .milliseconds(225))
        pause.reset()
        #expect(pause.next(share: 0) == .milliseconds(50))
        var none = RetryPause(.zero ... .zero)
        #expect(none.next(share: 0) >= .microseconds(500) && none.next(share: 1) == .milliseconds(1))
    }

    @Test("a jar's name cannot leave its hash tag")
    func names() {
        #expect(JarKeys(prefix: "beeline:", name: "a/b@c.d")?.base == "{beeline:jar:a/b@c.d}:")
        for name in ["", "a}b", "{", "a b", "a\n", String(repeating: "a", count: 201), "ä"] {
            #expect(JarKeys(prefix: "beeline:", name: name) == nil, "\(name)")
        }
        #expect(JarKeys(prefix: "{x}", name: "a") == nil)
    }
}
#endif
