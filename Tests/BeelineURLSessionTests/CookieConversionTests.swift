// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineURLSession
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Cookie to HTTPCookie and back")
struct CookieConversionTests {
    static func cookie(_ change: (inout Cookie) -> Void = { _ in }) -> Cookie {
        var cookie = Cookie("id", "42", domain: "www.a.test", path: "/x")
        cookie.created = noon
        change(&cookie)
        return cookie
    }

    func object(_ cookie: Cookie) throws -> HTTPCookie { try #require(HTTPCookie(cookie)) }

    @Test(
        "an attribute that Foundation supports survives the conversion in both directions",
        arguments: [
            ("name, value, domain and path", cookie()),
            ("a domain for the hosts below it", cookie { $0.isHostOnly = false }),
            ("Secure", cookie { $0.isSecure = true }),
            ("HttpOnly", cookie { $0.isHTTPOnly = true }),
            ("Expires to the microsecond", cookie { $0.expires = .init(microseconds: 1_800_000_000_123_457) }),
            ("Expires in the past", cookie { $0.expires = .init(microseconds: -1) }),
            ("an empty value", cookie { $0.valueOctets = [] }),
            ("a value with = , and quotes", cookie { $0.valueOctets = Array(#""a,b=c; "#.utf8.dropLast(2)) }),
            ("a value beyond ASCII", cookie { $0.valueOctets = Array("köstlich 🍪".utf8) }),
            ("an IPv4 address as domain", cookie { $0.domain = "192.0.2.1" }),
            ("an IPv6 address as domain", cookie { $0.domain = "[2001:db8::1]" }),
        ]
    )
    func keeps(_ what: String, _ cookie: Cookie) throws {
        var back = try #require(Cookie(try object(cookie)))
        back.created = cookie.created
        back.lastAccessed = cookie.lastAccessed
        #expect(back == cookie)
    }

    @Test("Secure and HttpOnly are true on the HTTPCookie itself, not only in its properties")
    func flags() throws {
        let both = try object(Self.cookie { ($0.isSecure, $0.isHTTPOnly) = (true, true) })
        #expect(both.isSecure && both.isHTTPOnly)
        let none = try object(Self.cookie())
        #expect(!none.isSecure && !none.isHTTPOnly)
    }

    @Test("a cookie without Expires is session-only for Foundation, and a cookie with Expires is not")
    func session() throws {
        #expect(try object(Self.cookie()).isSessionOnly)
        #expect(try !object(Self.cookie { $0.expires = .after(60) }).isSessionOnly)
    }

    @Test(
        "a converted domain follows Foundation's rule: no dot for a host-only cookie, a dot for others",
        arguments: [
            ("a.test", true, "a.test"), ("a.test", false, ".a.test"),
            ("192.0.2.1", true, "192.0.2.1"), ("192.0.2.1", false, "192.0.2.1"),
            ("[::1]", true, "::1"), ("[::1]", false, "::1"),
        ]
    )
    func domains(_ domain: String, _ isHostOnly: Bool, _ written: String) throws {
        let cookie = Self.cookie { ($0.domain, $0.isHostOnly) = (domain, isHostOnly) }
        #expect(try object(cookie).domain == written)
    }

    @Test(
        "a storage finds a converted cookie for the URL of its host",
        arguments: [
            ("https://www.a.test/x", "www.a.test"), ("https://192.0.2.1/x", "192.0.2.1"), ("https://[::1]/x", "[::1]"),
        ]
    )
    func found(_ url: String, _ domain: String) throws {
        let storage = try HTTPCookieStorage.own()
        storage.setCookie(try object(Self.cookie { $0.domain = domain }))
        #expect(storage.cookies(for: try URL(fromTest: url))?.map(\.name) == ["id"])
    }

    #if !canImport(Darwin)
    @Test("SameSite is lost on Linux", arguments: Cookie.SameSite.allCases)
    func sameSite(_ sameSite: Cookie.SameSite) throws {
        let cookie = Self.cookie { ($0.sameSite, $0.isSecure) = (sameSite, true) }
        #expect(Cookie(try object(cookie))?.sameSite == .unspecified)
    }

    @Test("on Linux the creation time is that of the HTTPCookie object")
    func created() throws {
        let before = CookieTime(secondsSince1970: CookieTime.now.secondsSince1970 - 1)
        let back = try #require(Cookie(try object(Self.cookie())))
        #expect(back.created > before && back.created != noon)
    }

    @Test("Max-Age is applied, although Foundation on Linux ignores it", arguments: [3600.0, 0, -1])
    func maxAge(_ age: Double) throws {
        let url = try URL(fromTest: "http://a.test/")
        let field = "a=1; Max-Age=\(Int(age)); Expires=Wed, 09 Jun 2027 10:18:14 GMT"
        let read = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: url)
        let object = try #require(read.first)
        #expect(object.expiresDate == nil)
        let cookie = try #require(Cookie(object))
        let life = try #require(cookie.expires).secondsSince1970 - cookie.created.secondsSince1970
        #expect(abs(life - age) < 0.001)
    }
    #endif

    @Test(
        "a cookie that Foundation would alter cannot be converted",
        arguments: [
            ("a name that is not UTF-8", cookie { $0.nameOctets = [0xff] }),
            ("a value that is not UTF-8", cookie { $0.valueOctets = [0x61, 0xc3] }),
            ("no name: Foundation would send a = before the value", cookie { $0.nameOctets = [] }),
            (
                "Partitioned: Foundation would send it to every page",
                cookie {
                    $0.partition = try? Site(of: HTTPURL("https://top.test/"))
                }
            ),
            ("a domain that is no host", cookie { $0.domain = "a b" }),
        ]
    )
    func refuses(_ what: String, _ cookie: Cookie) {
        #expect(HTTPCookie(cookie) == nil)
    }

    @Test("cookie properties set by a program have Foundation's meaning")
    func properties() throws {
        let object = HTTPCookie(properties: [
            .name: "a", .value: "1", .domain: ".WWW.A.test", .path: "relative", .discard: "TRUE",
            .expires: Date(timeIntervalSince1970: 2e9),
        ])
        let cookie = try #require(object.flatMap { Cookie($0) })
        #expect(cookie.domain == "www.a.test" && !cookie.isHostOnly)
        #expect(cookie.path == "/")
        #expect(cookie.expires == nil, "Discard ends it with the session")
    }

    @Test("a cookie whose domain is not a host cannot be converted", arguments: [".", "", "a b", "[::1"])
    func noHost(_ domain: String) {
        let object = HTTPCookie(properties: [.name: "a", .value: "1", .domain: domain, .path: "/"])
        #expect(object.flatMap { Cookie($0) } == nil)
    }
}
