// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOConcurrencyHelpers
import Names
import Testing

@testable import DirectHTTP

@Suite("HSTS (RFC 6797)")
struct HSTSTests {
    static let fields: [(value: String, maxAge: Int64?, subdomains: Bool)] = [
        ("max-age=31536000", 31_536_000, false),
        ("max-age=15768000 ; includeSubDomains", 15_768_000, true),
        ("MAX-AGE=\"31536000\"; INCLUDESUBDOMAINS", 31_536_000, true),
        ("max-age=0", 0, false),
        ("max-age  = 1000", 1000, false),
        (" ;; max-age=1;", 1, false),
        ("max-age=1; preload; other=\"a;b\\\"c\"", 1, false),
        ("includeSubDomains; max-age=\"1\"", 1, true),
        ("max-age=99999999999999999999999999", .max, false),
        ("", nil, false),
        ("includeSubDomains", nil, false),
        ("max-age", nil, false),
        ("max-age=", nil, false),
        ("max-age=-1", nil, false),
        ("max-age=+1", nil, false),
        ("max-age=1.5", nil, false),
        ("max-age=1 2", nil, false),
        ("max-age=\"1", nil, false),
        ("max-age='1'", nil, false),
        ("max-age=1; max-age=2", nil, false),
        ("max-age=1; includeSubDomains; includesubdomains", nil, false),
        ("max-age=1; includeSubDomains=true", nil, false),
        ("max-age=1, includeSubDomains", nil, false),
        ("max-age=1; =x", nil, false),
        ("max-age=1; preload; preload", nil, false),
    ]

    @Test("a field is read strictly (§6.1)", arguments: fields)
    func parsing(_ row: (value: String, maxAge: Int64?, subdomains: Bool)) {
        let policy = StrictTransportSecurity(fieldValue: row.value)
        #expect(policy?.maxAge == row.maxAge)
        #expect(policy?.includesSubdomains ?? false == row.subdomains)
    }

    /// A store whose clock stands at `now`.
    private func store(_ now: NIOLockedValueBox<Int64>, maxEntries: Int = 100) -> HSTSStore {
        HSTSStore(maxEntries: maxEntries) { now.withLockedValue { $0 } }
    }

    @Test("a host requires TLS until max-age has passed, and with includeSubDomains its subdomains do too (§8.2)")
    func matching() throws {
        let now = NIOLockedValueBox<Int64>(1000)
        let store = store(now)
        store.record("max-age=10; includeSubDomains", of: try Host("site.test"))
        store.record("max-age=10", of: try Host("www.other.test"))
        let rows: [(host: String, isKnown: Bool)] = [
            ("site.test", true), ("SITE.test.", true), ("a.b.site.test", true), ("mysite.test", false),
            ("test", false), ("www.other.test", true), ("a.www.other.test", false), ("other.test", false),
            ("127.0.0.1", false), ("[::1]", false),
            // DNS cannot encode it, but a proxy may know it.
            (String(repeating: "a", count: 64) + ".site.test.", true),
        ]
        for row in rows { #expect(store.requiresTLS(try Host(row.host)) == row.isKnown, "\(row.host)") }
        now.withLockedValue { $0 = 1010 }
        for row in rows { #expect(!store.requiresTLS(try Host(row.host))) }
        #expect(store.entries.isEmpty)
    }

    @Test("max-age=0 removes the host's own entry, and not that of its parent")
    func removal() throws {
        let store = store(NIOLockedValueBox(1000))
        let (parent, child) = (try Host("site.test"), try Host("www.site.test"))
        store.record("max-age=10; includeSubDomains", of: parent)
        store.record("max-age=10", of: child)
        store.record("max-age=0", of: child)
        #expect(store.entries.map(\.host) == ["site.test"] && store.requiresTLS(child))
        store.record("max-age=0; includeSubDomains", of: parent)
        #expect(store.entries.isEmpty)
    }

    @Test("a later field replaces the earlier one, and a malformed one changes nothing")
    func updates() throws {
        let store = store(NIOLockedValueBox(1000))
        let host = try Host("site.test")
        store.record("max-age=10; includeSubDomains", of: host)
        store.record("max-age=oops", of: host)
        #expect(store.entries == [HSTSEntry(host: host, includesSubdomains: true, expiresAt: 1010)])
        store.record("max-age=20", of: host)
        #expect(store.entries == [HSTSEntry(host: host, includesSubdomains: false, expiresAt: 1020)])
        store.record("max-age=9223372036854775807", of: host)
        #expect(store.entries.map(\.expiresAt) == [.max])
    }

    @Test("a full store keeps a host whose policy was renewed")
    func renewed() throws {
        let store = store(NIOLockedValueBox(1000), maxEntries: 2)
        for name in ["a.test", "b.test", "a.test", "c.test"] { store.record("max-age=100", of: try Host(name)) }
        #expect(store.entries.map { "\($0.host)" } == ["a.test", "c.test"])
    }

    @Test("a full store forgets expired hosts first, and then the oldest host")
    func bound() throws {
        let now = NIOLockedValueBox<Int64>(1000)
        let store = store(now, maxEntries: 2)
        for (name, age) in [("a.test", 100), ("b.test", 10), ("c.test", 100)] {
            store.record("max-age=\(age)", of: try Host(name))
        }
        #expect(store.entries.map(\.host) == ["b.test", "c.test"])
        now.withLockedValue { $0 = 1050 }
        store.record("max-age=100", of: try Host("d.test"))
        #expect(store.entries.map(\.host) == ["c.test", "d.test"])
    }

    @Test("entries above the bound take no scan of the table each", .timeLimit(.minutes(1)))
    func manyEntries() throws {
        let store = store(NIOLockedValueBox(1000), maxEntries: 10_000)
        store.add(
            try (0..<100_000).map { number in
                let host = try Host("h\(number).test")
                return try #require(HSTSEntry(host: host, includesSubdomains: false, expiresAt: 2_000))
            }
        )
        #expect(store.entries.count == 10_000 && store.entries.first?.host == "h90000.test")
    }

    @Test("an address has no entry")
    func addresses() throws {
        let store = store(NIOLockedValueBox(1000))
        for host in ["127.0.0.1", "[::1]", "1.2.3"] { store.record("max-age=10", of: try Host(host)) }
        #expect(store.entries.isEmpty)
        #expect(HSTSEntry(host: try Host("127.0.0.1"), includesSubdomains: true, expiresAt: 1) == nil)
    }

    static let urls: [(from: String, to: String?)] = [
        ("http://site.test/a?b#c", "https://site.test/a?b#c"),
        ("http://site.test:80/", "https://site.test/"),
        ("http://site.test:8080/", "https://site.test:8080/"),
        ("http://site.test:443/", "https://site.test/"),
        ("http://www.site.test./", "https://www.site.test./"),
        ("ws://site.test/", "wss://site.test/"),
        ("ws://site.test:81/", "wss://site.test:81/"),
        ("https://site.test/", nil),
        ("https://site.test:80/", nil),
        ("http://other.test/", nil),
        ("http://127.0.0.1/", nil),
    ]

    @Test("http becomes https, port 80 becomes 443, and other ports stay (§8.3)", arguments: urls)
    func upgrade(_ row: (from: String, to: String?)) throws {
        let store = store(NIOLockedValueBox(1000))
        store.record("max-age=10; includeSubDomains", of: try Host("site.test"))
        #expect(store.upgraded(try HTTPURL(row.from)).map { "\($0)" } == row.to)
        let secret = try #require(store.upgraded(try HTTPURL("http://me:pass@site.test/")))
        #expect(secret.user == "me" && secret.password == "pass")
    }

    // MARK: Files

    @Test("a file of curl is read and written")
    func files() throws {
        let text = """
            # Your HSTS cache.

            site.test "20191231 10:00:00"
              .sub.test "20380119 03:14:08"\r
            .never.test. "unlimited"
            site.test "20200101 00:00:00"
            .site.test "19700101 00:00:00"
            """
        let (entries, skipped) = HSTSFile.read(text)
        let expected = [
            HSTSEntry(host: try Host("site.test"), includesSubdomains: true, expiresAt: 1_577_836_800),
            HSTSEntry(host: try Host("sub.test"), includesSubdomains: true, expiresAt: 2_147_483_648),
            HSTSEntry(host: try Host("never.test"), includesSubdomains: true, expiresAt: .max),
        ]
        #expect(entries == expected && skipped == 0)
        let written = HSTSFile.write(entries)
        #expect(written.hasSuffix(".sub.test \"20380119 03:14:08\"\n.never.test \"unlimited\"\n"))
        #expect(HSTSFile.read(written).entries == entries)
    }

    @Test(
        "lines that are not entries are counted and skipped",
        arguments: [
            "site.test", "site.test 20191231", "site.test \"2019-12-31\"", "site.test \"20191331 10:00:00\"",
            "site.test \"20190229 10:00:00\"", "site.test \"20191231 24:00:00\"", "127.0.0.1 \"20191231 10:00:00\"",
            ". \"20191231 10:00:00\"", "a b \"20191231 10:00:00\"", "site.test \"\"", "site.test \"",
            "\(String(repeating: "a", count: 5000)) \"20191231 10:00:00\"",
        ]
    )
    func badLines(_ line: String) {
        let (entries, skipped) = HSTSFile.read("\(line)\ngood.test \"20191231 10:00:00\"\n")
        #expect(entries.map(\.host) == ["good.test"] && skipped == 1)
    }

    @Test("random text neither traps nor makes entries that cannot be written and read again")
    func fuzz() {
        var random = SeededRandom(seed: 6797)
        let pieces = [
            "max-age", "=", "\"", ";", " ", "12", "includeSubDomains", "\\", "\n", ".a.test", "20191231 10:00:00", "#",
            "unlimited", "é", "\u{0}",
        ]
        for _ in 0..<FuzzRounds.count(ordinary: 5_000) {
            let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }.joined()
            if let policy = StrictTransportSecurity(fieldValue: text) { #expect(policy.maxAge >= 0) }
            let entries = HSTSFile.read(text).entries
            #expect(HSTSFile.read(HSTSFile.write(entries)).entries == entries)
        }
    }
}
