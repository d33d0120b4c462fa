// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import Testing

/// Facts about cookies in Foundation on Linux. If a toolchain changes one, CookiesBridge.md and the bridge's
/// workaround need an update.
@Suite("Foundation on Linux: cookies")
struct CookieFactsTests {
    func parse(_ field: String, from url: String = "https://www.a.test/x/y") throws -> [HTTPCookie] {
        HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: try URL(fromTest: url))
    }

    @Test("Max-Age is read and ignored, and so is Expires next to it")
    func maxAge() throws {
        let cookie = try #require(try parse("a=1; Max-Age=3600; Expires=Wed, 09 Jun 2027 10:18:14 GMT").first)
        #expect(cookie.expiresDate == nil && cookie.properties?[.maximumAge] as? String == "3600")
        let storage = try HTTPCookieStorage.own()
        try storage.set("a=1; Max-Age=0", from: "https://a.test/")
        #expect(storage.pairs == ["a=1"])
    }

    @Test("HttpOnly is read and missing from the properties")
    func httpOnly() throws {
        let cookie = try #require(try parse("a=1; HttpOnly").first)
        #expect(cookie.isHTTPOnly && cookie.properties?[HTTPCookiePropertyKey("HttpOnly")] == nil)
        #expect(HTTPCookie(properties: cookie.properties ?? [:])?.isHTTPOnly == false)
    }

    @Test("Secure is text: true means no, FALSE means yes, and a copy made from the properties loses it")
    func secure() throws {
        let parts: [HTTPCookiePropertyKey: Any] = [.name: "a", .value: "1", .domain: "a.test", .path: "/"]
        #expect(HTTPCookie(properties: parts.merging([.secure: true]) { $1 })?.isSecure == false)
        #expect(HTTPCookie(properties: parts.merging([.secure: "FALSE"]) { $1 })?.isSecure == true)
        let cookie = try #require(try parse("a=1; Secure").first)
        #expect(cookie.isSecure && HTTPCookie(properties: cookie.properties ?? [:])?.isSecure == false)
    }

    @Test("the default path is always /, an empty Domain becomes a dot, and dates are read in three forms")
    func defaults() throws {
        #expect(try parse("a=1").first?.path == "/")
        #expect(try parse("a=1; Domain=").first?.domain == ".")
        #expect(try parse("a=1; Expires=Wed, 09-Jun-2027 10:18:14 GMT").first?.expiresDate != nil)
        #expect(try parse("a=1; Expires=09 Jun 2027 10:18:14").first?.expiresDate == nil)
    }

    @Test("a comma in a value can split it into two cookies, and a lower-case set-cookie field is ignored")
    func joined() throws {
        #expect(try parse("a=1,b=2").map(\.name) == ["a", "b"])
        let url = try URL(fromTest: "https://a.test/")
        #expect(HTTPCookie.cookies(withResponseHeaderFields: ["set-cookie": "a=1"], for: url) == [])
    }

    @Test("a storage ignores path, Secure, expiry and public suffixes when it finds cookies for a URL")
    func lookUp() throws {
        let storage = try HTTPCookieStorage.own()
        let url = try URL(fromTest: "http://www.a.test/")
        try storage.set("a=1; Secure", from: "https://www.a.test/")
        try storage.set("b=1; Path=/deep", from: "https://www.a.test/")
        try storage.set("c=1; Domain=test", from: "https://www.a.test/")
        #expect(Set(storage.cookies(for: url)?.map(\.name) ?? []) == ["a", "b", "c"])
    }

    @Test("cookies with equal text for domain, path and name together share one place")
    func joinedKeys() throws {
        let storage = try HTTPCookieStorage.own()
        try storage.set("bc=1; Path=/", from: "https://a.test/")
        try storage.set("c=2; Path=/b", from: "https://a.test/")
        #expect(storage.pairs == ["c=2"])
    }

    @Test("the end of an address matches as a parent domain")
    func address() throws {
        let storage = try HTTPCookieStorage.own()
        storage.setCookie(
            try #require(HTTPCookie(properties: [.name: "a", .value: "1", .domain: ".0.0.1", .path: "/"]))
        )
        #expect(storage.cookies(for: try URL(fromTest: "http://127.0.0.1/"))?.count == 1)
    }

    @Test("onlyFromMainDocumentDomain accepts ads.com for badads.com")
    func mainDocument() throws {
        let storage = try HTTPCookieStorage.own()
        storage.cookieAcceptPolicy = .onlyFromMainDocumentDomain
        storage.setCookies(
            try parse("a=1", from: "https://ads.com/"),
            for: try URL(fromTest: "https://ads.com/"),
            mainDocumentURL: try URL(fromTest: "https://badads.com/")
        )
        #expect(storage.pairs == ["a=1"])
    }

    @Test("a storage sends no notification of changes")
    func notification() throws {
        let storage = try HTTPCookieStorage.own()
        nonisolated(unsafe) var count = 0
        let token = NotificationCenter.default.addObserver(
            forName: .NSHTTPCookieManagerCookiesChanged,
            object: nil,
            queue: nil
        ) { _ in count += 1 }
        try storage.set("a=1", from: "https://a.test/")
        NotificationCenter.default.removeObserver(token)
        #expect(count == 0)
    }

    @Test("the creation time is that of the object, and no other time is known")
    func created() throws {
        let key = HTTPCookiePropertyKey("Created")
        let cookie = try #require(try parse("a=1").first)
        var properties = cookie.properties ?? [:]
        properties[key] = 0.0
        let copy = try #require(HTTPCookie(properties: properties))
        let created = try #require(copy.properties?[key] as? Double)
        #expect(abs(created - Date().timeIntervalSinceReferenceDate) < 60)
    }
}
#endif
