// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import CookieJar

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Mutated octets for every decoder: none traps, and decoded values that are encoded again decode to the same values.
///
/// `BEELINE_FUZZ=1000000` sets the number of inputs for each decoder; the default is smaller.
struct FuzzTests {
    private static let rounds = ProcessInfo.processInfo.environment["BEELINE_FUZZ"].flatMap { Int($0) } ?? 2000

    /// Mutates the seeds: changes, removes and doubles octets, and inserts pieces of other seeds.
    private static func inputs(_ seeds: [String], seed: UInt64, _ body: ([UInt8]) throws -> Void) rethrows {
        var generator = SeededGenerator(seed: seed)
        let seeds = seeds.map { Array($0.utf8) }
        let special: [UInt8] = Array("=;, \t\r\n\0\"\\.:/-0190aZ[]{}#%".utf8) + [0x7f, 0x80, 0xc3, 0xe2, 0xff]
        for _ in 0..<rounds {
            var input = seeds[Int.random(in: 0..<seeds.count, using: &generator)]
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let place = Int.random(in: 0...input.count, using: &generator)
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: input.insert(special[Int.random(in: 0..<special.count, using: &generator)], at: place)
                case 1: if place < input.count { input[place] = .random(in: 0...255, using: &generator) }
                case 2: input.removeSubrange(place..<min(place + Int.random(in: 0..<8, using: &generator), input.count))
                case 3: input.insert(contentsOf: input.prefix(place).suffix(12), at: place)
                default:
                    let other = seeds[Int.random(in: 0..<seeds.count, using: &generator)]
                    let start = Int.random(in: 0...other.count, using: &generator)
                    input.insert(contentsOf: other[start...].prefix(20), at: place)
                }
            }
            try body(input)
        }
    }

    @Test func setCookie() throws {
        let url = try HTTPURL("https://www.example.com/x/y")
        let seeds = [
            "a=b; Path=/; Domain=example.com; Secure; HttpOnly; SameSite=None; Partitioned; Max-Age=60",
            "__Host-id=\"v\"; Expires=Wed, 09 Jun 2027 10:18:14 GMT; Secure; Path=/", "nameless", "=x; domain=.com",
        ]
        Self.inputs(seeds, seed: 11) { input in
            guard let cookie = try? Cookie(setCookieOctets: input, from: url, now: noon) else { return }
            let written = cookie.setCookieOctets
            let host = cookie.isHostOnly ? cookie.domain : "www.\(cookie.domain)"
            guard let again = try? HTTPURL("https://\(host)/") else { return }
            guard var copy = try? Cookie(setCookieOctets: written, from: again, now: noon) else {
                Issue.record("\(String(decoding: written, as: UTF8.self)) is not read again")
                return
            }
            // Expires has whole seconds, and the partition comes from the URL.
            copy.expires = cookie.expires
            copy.partition = cookie.partition
            #expect(copy == cookie)
        }
    }

    @Test func cookieDate() {
        Self.inputs(
            ["Wed, 09 Jun 2027 10:18:14 GMT", "Wednesday, 09-Jun-27 10:18:14 GMT", "1 jan 1601 0:0:0"],
            seed: 12
        ) {
            guard let read = CookieDateParser.parse($0, $0.indices) else { return }
            #expect(CookieTime(cookieDate: read.httpDate) == read)
        }
    }

    @Test(arguments: CookieFormat.allCases)
    func files(_ format: CookieFormat) {
        var cookie = Cookie("a", "b", domain: "example.com", path: "/x")
        cookie.isHostOnly = false
        cookie.expires = .after(1000)
        let seeds = [
            String(
                decoding: format.write([cookie, Cookie("__Host-c", "d e", domain: "www.example.org")]),
                as: UTF8.self
            ),
            "#HttpOnly_.example.com\tTRUE\t/\tTRUE\t0\tn\tv\n", "# https://example.com/\nSet-Cookie: a=b; Secure\n",
            "[{\"name\":\"\\ud83c\\udf6a\",\"value\":\"1\",\"domain\":\".example.com\",\"expirationDate\":1.5e9}]",
        ]
        Self.inputs(seeds, seed: 13) { input in
            // A jar accepts only cookies that every format can hold.
            let jar = CookieJar()
            jar.insert(format.read(input, now: noon).cookies, now: noon)
            let cookies = jar.allCookies(now: noon).filter { cookie in
                switch format {
                case .netscape: !(cookie.nameOctets + Array(cookie.path.utf8)).contains(0x09)
                case .storageState: String(validUTF8: cookie.nameOctets + cookie.valueOctets) != nil
                case .headers, .json: true
                }
            }
            let second = CookieJar()
            let again = format.read(format.write(cookies), now: noon)
            second.insert(again.cookies, now: noon)
            let copies = second.allCookies(now: noon)
            #expect(again.problems.isEmpty)
            #expect(Set(copies.map(Identity.init)) == Set(cookies.map(Identity.init)))
        }
    }

    @Test func httpArchives() {
        let entry = """
            {"log":{"entries":[{"startedDateTime":"2026-03-01T12:00:00.5+01:30","request":{"url":"https://www.example.com/",\
            "cookies":[{"name":"d","value":"4","domain":".example.com","expires":"2027-01-01T00:00:00Z"}]},"response":{"headers":[{"name":"Set-Cookie","value":"a=1; Path=/\\nb=2"}]}},{"request":{"url":"http://a.org/"},\
            "response":{"cookies":[{"name":"c","value":"3","path":"/x","expires":"2027-01-01T00:00:00Z","secure":false}]}}]}}
            """
        Self.inputs([entry, "{\"log\":{\"entries\":[]}}"], seed: 16) { input in
            let read = CookieJSON.read(input, now: noon)
            #expect(CookieJSON.read(CookieJSON.write(read.cookies), now: noon).cookies == read.cookies)
        }
    }

    @Test func joinedFields() {
        let seeds = ["a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT; Path=/, b=2, c", "a=1,b=2,,; x=, y=z"]
        Self.inputs(seeds, seed: 14) { input in
            let joined = String(decoding: input, as: UTF8.self)
            let fields = SetCookieSplitter.split(joined)
            #expect(SetCookieSplitter.split(fields.joined(separator: ", ")) == fields)
        }
    }

    @Test func publicSuffixes() {
        Self.inputs(["www.example.co.uk", "a.b.www.ck", "..", "x.github.io."], seed: 15) { input in
            let domain = String(decoding: input, as: UTF8.self)
            if let registrable = PublicSuffixList.registrableDomain(of: domain) {
                // Compare octets: in a String, a dot and the combining accent after it are one character.
                #expect(domain.utf8.reversed().starts(with: registrable.utf8.reversed()))
                #expect(PublicSuffixList.registrableDomain(of: registrable) == registrable)
            }
        }
    }

    /// The fields of a cookie that every format keeps.
    private struct Identity: Hashable {
        let pair: [UInt8]
        let domain: String
        let path: String
        let isHostOnly: Bool
        let isSecure: Bool
        let isHTTPOnly: Bool

        init(_ cookie: Cookie) {
            pair = cookie.pairOctets
            domain = cookie.domain
            path = cookie.path
            isHostOnly = cookie.isHostOnly
            isSecure = cookie.isSecure
            isHTTPOnly = cookie.isHTTPOnly
        }
    }
}
