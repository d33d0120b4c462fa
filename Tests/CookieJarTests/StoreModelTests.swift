// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names
import Testing

@testable import CookieJar

/// The packed store and a plain list must give the same answers in many random steps.
struct StoreModelTests {
    /// RFC 6265bis in the simplest form: all cookies in one array.
    private struct Model {
        struct Entry {
            var cookie: Cookie
            var order: Int
        }

        var entries: [Entry] = []
        var next = 0

        mutating func insert(_ cookie: Cookie, at now: CookieTime) {
            entries.removeAll { $0.cookie.isExpired(at: now) }
            let old = entries.firstIndex {
                $0.cookie.nameOctets == cookie.nameOctets && $0.cookie.domain == cookie.domain
                    && $0.cookie.path == cookie.path && $0.cookie.isHostOnly == cookie.isHostOnly
            }
            if cookie.isExpired(at: now) {
                if let old { entries.remove(at: old) }
            } else if let old {
                var cookie = cookie
                cookie.created = entries[old].cookie.created
                entries[old].cookie = cookie
            } else {
                entries.append(Entry(cookie: cookie, order: next))
                next += 1
            }
        }

        func header(host: String, path: String, isSecure: Bool, at now: CookieTime) -> String {
            entries.filter { entry in
                let cookie = entry.cookie
                let isInDomain = host == cookie.domain || (!cookie.isHostOnly && host.hasSuffix("." + cookie.domain))
                let isInPath =
                    path == cookie.path
                    || (path.hasPrefix(cookie.path)
                        && (cookie.path.hasSuffix("/") || path.dropFirst(cookie.path.count).hasPrefix("/")))
                return isInDomain && isInPath && (isSecure || !cookie.isSecure) && !cookie.isExpired(at: now)
            }.sorted { left, right in
                (-left.cookie.path.count, left.cookie.created, left.order)
                    < (-right.cookie.path.count, right.cookie.created, right.order)
            }.map { String(decoding: $0.cookie.pairOctets, as: UTF8.self) }.joined(separator: "; ")
        }
    }

    @Test(arguments: 1...6)
    func agreesWithAList(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var configuration = CookieJarConfiguration()
        configuration.maxCookies = 100_000
        configuration.maxCookiesPerDomain = 100_000
        let jar = CookieJar(configuration: configuration)
        var model = Model()
        let hosts = ["example.com", "www.example.com", "a.www.example.com", "other.co.uk", "192.0.2.1", "single"]
        let long = "/" + String(repeating: "long/", count: 60)
        let paths = ["/", "/a", "/a/", "/a/b", "/ab", "/a/b/c", "/b", long, long + "x"]
        for step in 0..<3000 {
            let now = CookieTime.after(Double(step))
            var cookie = Cookie(
                "n\(Int.random(in: 0..<12, using: &generator))",
                String(repeating: "v", count: Int.random(in: 0..<40, using: &generator)) + "\(step)",
                domain: hosts.randomElement(using: &generator) ?? "",
                path: paths.randomElement(using: &generator) ?? ""
            )
            cookie.isSecure = Bool.random(using: &generator)
            cookie.isHostOnly = Bool.random(using: &generator) || ["192.0.2.1", "single"].contains(cookie.domain)
            if Int.random(in: 0..<4, using: &generator) == 0 {
                cookie.expires = .after(Double(step + Int.random(in: -20..<200, using: &generator)))
            }
            // Some cookies have a creation time before that of cookies that the jar already holds.
            let age = Bool.random(using: &generator) ? 0 : Int.random(in: 0..<50, using: &generator)
            cookie.created = .after(Double(step - age))
            if case .rejected(let reason) = jar.insert(cookie, now: now) { Issue.record("\(reason)") }
            model.insert(cookie, at: now)
            if step % 3 == 0 {
                let host = hosts.randomElement(using: &generator) ?? ""
                let path = paths.randomElement(using: &generator) ?? ""
                let isSecure = Bool.random(using: &generator)
                let url = try HTTPURL((isSecure ? "https://" : "http://") + host + path)
                let expected = model.header(host: host, path: path, isSecure: isSecure, at: now)
                #expect(jar.header(for: url, now: now) ?? "" == expected, "step \(step)")
            }
        }
        let left = jar.allCookies(now: .after(3000))
        #expect(left.count == model.entries.count { !$0.cookie.isExpired(at: .after(3000)) })
        #expect(jar.removeAll() >= left.count)
        #expect(jar.state.withLockedValue { $0.domains.isEmpty && $0.domainsBySite.isEmpty && $0.count == 0 })
    }

    @Test func aLookUpOfManyCookiesNeedsNoMoreStackThanOfFew() throws {
        var configuration = CookieJarConfiguration()
        configuration.maxCookiesPerDomain = 10_000
        configuration.maxCookies = 10_000
        let jar = CookieJar(configuration: configuration)
        for index in 0..<2000 {
            let domain = index % 2 == 0 ? "" : "; Domain=example.com"
            try jar.set("n\(index)=\(index)\(domain)", from: "https://www.example.com/", at: Double(index))
        }
        let header = try #require(try jar.get("https://www.example.com/", at: 3000))
        #expect(header == (0..<2000).map { "n\($0)=\($0)" }.joined(separator: "; "))
    }

    @Test func anAbsurdlyDeepDomainIsHandledInLinearTime() throws {
        let jar = CookieJar()
        let domain = String(repeating: "a.", count: 10_000) + "com"
        // An attribute of more than 1024 octets is ignored.
        #expect(try jar.set("a=1; Domain=\(domain)", from: "https://example.com/") == .kept)
        #expect(PublicSuffixList.registrableDomain(of: domain) == "a.com")
    }
}
