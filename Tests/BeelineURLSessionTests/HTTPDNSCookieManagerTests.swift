// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineURLSession
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("HTTPDNSCookieManager")
struct HTTPDNSCookieManagerTests {
    let manager = HTTPDNSCookieManager()

    @discardableResult
    func handle(_ fields: [AnyHashable: Any], _ url: String = "https://www.test.com/a/b") throws -> [String] {
        manager.handle(headerFields: fields, for: try URL(fromTest: url)).map { "\($0.name)=\($0.value)" }
    }

    func header(_ url: String) throws -> String? { manager.requestCookieHeader(for: try URL(fromTest: url)) }

    @Test(
        "cookies of a domain go to its hosts, and not to hosts that only contain its name",
        arguments: [
            ("https://test.com/", true), ("https://www.test.com/", true), ("https://a.b.test.com/", true),
            ("https://TEST.com/", true),
            ("https://evil-test.com/", false), ("https://test.com.evil.org/", false), ("https://eviltest.com/", false),
            ("https://est.com/", false), ("https://com/", false), ("https://192.0.2.1/", false),
        ]
    )
    func defaultFilter(_ url: String, _ gets: Bool) throws {
        try handle(["Set-Cookie": "sid=1; Domain=test.com; Path=/"])
        #expect(try header(url) == (gets ? "sid=1" : nil))
    }

    @Test(
        "cookies that Foundation joined with commas are separated, even with commas in dates",
        arguments: [
            "Set-Cookie", "set-cookie", "SET-COOKIE",
        ]
    )
    func joined(_ name: String) throws {
        let field =
            "a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT; Path=/, b=2, c=3; expires=Thursday, 10-Jun-27 10:18:14 GMT"
        #expect(try handle([name: field]) == ["a=1", "b=2", "c=3"])
        #expect(manager.jar.cookie("a")?.expires == CookieTime(cookieDate: "09 Jun 2027 10:18:14"))
        #expect(manager.jar.cookie("c")?.expires == CookieTime(cookieDate: "10 Jun 2027 10:18:14"))
    }

    @Test("the fields of an HTTPURLResponse are read")
    func response() throws {
        let url = try URL(fromTest: "https://www.test.com/a/b")
        let fields = [
            "Set-Cookie": "a=1; Path=/, b=2; Expires=Wed, 09 Jun 2027 10:18:14 GMT", "Content-Type": "text/html",
        ]
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields)
        )
        #expect(manager.handle(headerFields: response.allHeaderFields, for: url).map(\.name) == ["a", "b"])
        #expect(try header("https://www.test.com/a/c") == "b=2; a=1", "the longer path first")
    }

    @Test("separate fields are not split at commas")
    func apart() throws {
        #expect(try handle(["Set-Cookie": ["a=1, b=2", "c=3"]]) == ["a=1, b=2", "c=3"])
    }

    @Test("only stored cookies are returned, and a deletion is not")
    func kept() throws {
        try handle(["Set-Cookie": "old=1"])
        let field = "ok=1, foreign=1; Domain=other.org, suffix=1; Domain=com, old=; Max-Age=0"
        #expect(try handle(["Set-Cookie": field]) == ["ok=1"])
        #expect(manager.jar.pairs == ["ok=1"])
    }

    @Test("other fields, values that are not text and URLs of other schemes have no effect")
    func nothing() throws {
        #expect(try handle(["Cookie": "a=1", "Set-Cookie": 5, 7: "a=1"]) == [])
        #expect(try handle(["Set-Cookie": "a=1"], "file:///etc/passwd") == [])
        #expect(try header("https://www.test.com/") == nil)
        #expect(try header("mailto:a@test.com") == nil)
        #expect(manager.deleteCookies(for: try URL(fromTest: "mailto:a@test.com")) == 0)
    }

    @Test("a deletion removes the cookies that a request would send, and returns their number")
    func deletion() throws {
        try handle(["Set-Cookie": "a=1; Domain=test.com; Path=/, b=2; Path=/a, c=3; Path=/other"])
        #expect(manager.deleteCookies(for: try URL(fromTest: "https://www.test.com/a/b")) == 2)
        #expect(manager.jar.pairs == ["c=3"])
        #expect(manager.deleteCookies(for: try URL(fromTest: "https://www.test.com/a/b")) == 0)
    }

    @Test("a filter restricts which cookies are stored, sent and deleted")
    func filter() throws {
        try handle(["Set-Cookie": "a=1; Path=/, b=2; Path=/"])
        manager.setCookieFilter { cookie, url in cookie.name != "b" && url.host == "www.test.com" }
        #expect(try header("https://www.test.com/") == "a=1")
        #expect(try handle(["Set-Cookie": "b=3; Path=/, d=4; Path=/"]) == ["d=4"])
        #expect(manager.deleteCookies(for: try URL(fromTest: "https://www.test.com/")) == 2)
        manager.setCookieFilter(nil)
        #expect(try header("https://www.test.com/") == "b=2")
    }

    @Test("a filter that accepts everything does not add cookies")
    func filterCannotWiden() throws {
        manager.setCookieFilter { _, _ in true }
        try handle(["Set-Cookie": "a=1; Domain=test.com; Path=/"])
        #expect(try header("https://evil-test.com/") == nil)
        #expect(try handle(["Set-Cookie": "b=1; Domain=other.org"]) == [])
    }

    @Test("a cookie is sent by the host's name and not by its address")
    func address() throws {
        let original = try URL(fromTest: "https://www.test.com/login")
        manager.handle(headerFields: ["Set-Cookie": "sid=1; Secure; HttpOnly"], for: original)
        #expect(manager.requestCookieHeader(for: original) == "sid=1")
        #expect(try header("https://203.0.113.7/login") == nil)
    }

    @Test("the jar's setting for SameSite=None without Secure applies")
    func insecureNone() throws {
        var configuration = CookieJarConfiguration()
        configuration.acceptsInsecureSameSiteNone = true
        let url = try URL(fromTest: "https://www.test.com/")
        for (jar, header) in [(CookieJar(configuration: configuration), "a=1"), (CookieJar(), nil)] {
            let manager = HTTPDNSCookieManager(jar: jar)
            manager.handle(headerFields: ["Set-Cookie": "a=1; SameSite=None"], for: url)
            #expect(manager.requestCookieHeader(for: url) == header)
        }
    }

    @Test("the shared manager is always the same object")
    func shared() {
        #expect(HTTPDNSCookieManager.shared === HTTPDNSCookieManager.shared)
    }
}
