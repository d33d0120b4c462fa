// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import CookieJar

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Inputs that an attacker makes large to cost time. In quadratic time each test would run for hours, so passing within
/// the time limit shows that the time is linear.
///
/// If `BEELINE_FUZZ` is set, files have 10 MB; otherwise 400 kB, for a build without optimization.
@Suite(.timeLimit(.minutes(10)))
struct LargeInputTests {
    private static let size = ProcessInfo.processInfo.environment["BEELINE_FUZZ"] == nil ? 400_000 : 10_000_000
    private let page = "https://www.example.com/a/b"

    private func text(_ unit: String, _ count: Int = LargeInputTests.size) -> String {
        String(repeating: unit, count: count / unit.utf8.count)
    }

    /// The octets of all cookies of the jar, which bound the memory that a large field can leave behind.
    private func octets(_ jar: CookieJar) -> Int {
        jar.allCookies(now: noon).reduce(0) { $0 + $1.pairOctets.count + $1.path.utf8.count + $1.domain.utf8.count }
    }

    @Test func aFieldOf10MegabytesIsReadOnceAndNotKept() throws {
        let jar = CookieJar()
        let filling = String(repeating: "x", count: 10_000_000)
        #expect(try jar.set("a=\(filling)", from: page) == .rejected(.tooLarge))
        #expect(octets(jar) == 0)
    }

    @Test(arguments: [
        ("a name", "", CookieOutcome.rejected(.tooLarge)),
        ("a value", "a=", .rejected(.tooLarge)),
        ("a path, which is too long to be one", "a=b; Path=/", .kept),
        ("a domain, which is too long to be one", "a=b; Domain=", .kept),
        ("a date", "a=b; Expires=", .kept),
        ("an age", "a=b; Max-Age=1", .kept),
        ("an unknown attribute", "a=b; x=", .kept),
        ("an attribute's name", "a=b; ", .kept),
    ])
    func aLongPartOfAField(_ sentence: String, _ start: String, _ outcome: CookieOutcome) throws {
        for unit in ["1", "x.", ";x ", " ; =", " ", "=", "12:34:56 "] {
            let jar = CookieJar()
            let got = try jar.set(start + text(unit), from: page)
            if unit == "1" { #expect(got == outcome, "\(sentence)") }
            #expect(octets(jar) < 8192, "\(sentence) of \(unit)")
        }
    }

    @Test func ofAHundredThousandAttributesTheLastOfAKindCounts() throws {
        let jar = CookieJar()
        let attributes = String(repeating: "; Path=/x; x=y; Secure; Expires=1", count: 25_000)
        #expect(try jar.set("a=b" + attributes + "; Path=/a", from: page) == .kept)
        #expect(jar.allCookies(now: noon).map(\.path) == ["/a"])
        #expect(try jar.get(page) == "a=b")
    }

    @Test func aDomainOfTenThousandLabelsIsNone() throws {
        let domain = String(repeating: "a.", count: 9_998) + "example.com"
        let jar = CookieJar()
        // An attribute of more than 1024 octets is ignored (RFC 6265bis §5.6), so the cookie is host-only.
        #expect(try jar.set("a=b; Domain=\(domain)", from: page) == .kept)
        #expect(jar.allCookies(now: noon).map(\.isHostOnly) == [true])
        #expect(jar.insert(Cookie("a", "b", domain: domain), now: noon) == .rejected(.malformedDomain))
        #expect(throws: NameError.self) { try HTTPURL("https://\(domain)/") }
        #expect(PublicSuffixList.registrableDomain(of: domain) == "example.com")
        let million = String(repeating: "a.", count: 500_000)
        #expect(PublicSuffixList.registrableDomain(of: million + "example.co.uk") == "example.co.uk")
    }

    @Test func aHostOfManyLabelsGetsTheCookiesOfEach() throws {
        // More labels than ``CookieTable`` looks up at once.
        let labels = (0..<60).map { "l\($0)" } + ["example", "com"]
        let host = labels.joined(separator: ".")
        let jar = CookieJar()
        for depth in stride(from: labels.count, through: 2, by: -1) {
            let domain = labels.suffix(depth).joined(separator: ".")
            try jar.set("d\(depth)=1; Path=/; Domain=\(domain)", from: "https://\(host)/", at: Double(depth))
        }
        let names = (2...labels.count).map { "d\($0)=1" }
        #expect(try jar.get("https://\(host)/", at: 100) == names.joined(separator: "; "))
        #expect(try jar.get("https://example.com/", at: 100) == "d2=1")
    }

    @Test(arguments: [
        ",", ", ", "a,", "a=,", "a=b; Expires=Wed, 09 Jun 2027 10:18:14 GMT, ", ", a ", ",Expires=Wed", "x",
    ])
    func joinedFields(_ unit: String) {
        let joined = text(unit)
        let count = SetCookieSplitter.split(joined).reduce(0) { $0 + $1.utf8.count }
        #expect(count <= joined.utf8.count)
    }

    @Test func manyFieldsJoined() {
        #expect(SetCookieSplitter.split(text("a=1, ")).count == Self.size / 5)
    }

    @Test(arguments: CookieFormat.allCases)
    func aFile(_ format: CookieFormat) {
        let units = [
            "\n", "\t", "#", "a", "{", "[", "\"\\u1234", "[\"", "{\"a\":", "1,", "Set-Cookie: a=b;",
            "Set-Cookie: a=b\n",
            "# https://example.com/\n", ".example.com\tTRUE\t/\tTRUE\t0\tn\tv\n", ".example.com\tTRUE\t/",
        ]
        for unit in units {
            // Some units are parsed as content only after the start of their format.
            for start in ["", "[", "# https://example.com/\n"] {
                let file = Array((start + text(unit, Self.size / 8)).utf8)
                let read = format.read(file, now: noon)
                #expect(read.cookies.count + read.problems.count <= file.count)
            }
        }
    }
}
