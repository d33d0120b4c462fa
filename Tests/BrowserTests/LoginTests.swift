// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import BeelineWebDriver
import BeelineWebView
import CookieJar
import Names
import Testing

extension BrowserTests {
    /// Logins are shared between a browser and the client.
    @Suite
    struct LoginTests {
        @Test(
            "the browser's first load of a name that only the upstream knows carries the client's login",
            arguments: BrowserKind.allCases
        )
        func firstLoad(_ kind: BrowserKind) async throws {
            try await withBrowser(kind) { lab in
                try await lab.login()
                let page = try lab.url("www.a.test", "/page")
                let report = try await lab.browser.cookieStore.handOver(from: lab.jar, for: page)
                #expect(report.count == 2)
                try await lab.browser.navigate(to: page)

                #expect(try await lab.pageText() == "logged in: 42")
                #expect(try await lab.evaluate("document.cookie") == "theme=dark")
                let loads = lab.site.requests.filter { $0.path == "/page" }
                #expect(loads.map { $0.cookies["session"] } == ["42"])
                #expect(loads.map(\.connection.serverName) == ["www.a.test"])

                // Another name on the same address has its own certificate and its own cookies.
                try await lab.browser.navigate(to: lab.url("www.b.test", "/page"))
                #expect(try await lab.pageText() == "log in first")
                #expect(lab.site.requests.last?.connection.serverName == "www.b.test")
                #expect(lab.trap.connections.accepted == 0)
            }
        }

        @Test(
            "the browser keeps expiry, SameSite, HttpOnly and Secure of the jar's cookies",
            arguments: BrowserKind.allCases
        )
        func attributes(_ kind: BrowserKind) async throws {
            try await withBrowser(kind) { lab in
                let page = try lab.url("www.a.test", "/page")
                for text in [
                    "a=1; Path=/; Max-Age=86400; SameSite=Lax", "b=2; Path=/; Secure; HttpOnly; SameSite=Strict",
                    "c=3; Path=/page; Secure; Max-Age=600", "__Host-d=4; Path=/; Secure; HttpOnly",
                    "e=5; Domain=a.test; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=1000", "f=\"6 7\"; Path=/",
                    "g=é; Path=/",
                ] {
                    #expect(lab.jar.store(text, from: page) == .kept)
                }
                let store = lab.browser.cookieStore
                try await store.handOver(from: lab.jar, for: page)
                try await lab.browser.navigate(to: page)
                let shown = try await store.cookies().map(Self.content)
                let kept = lab.jar.allCookies().compactMap { store.kept(of: $0) }.map(Self.content)
                #expect(shown.sorted() == kept.sorted())
            }
        }

        @Test(
            "a value that is not ASCII is the same in the jar and in the page",
            arguments: [BrowserKind.chromium, .firefox]
        )
        func otherScripts(_ kind: BrowserKind) async throws {
            try await withBrowser(kind) { lab in
                let page = try lab.url("www.a.test", "/page")
                #expect(lab.jar.store("jar=é; Path=/", from: page) == .kept)
                let store = lab.browser.cookieStore
                try await store.handOver(from: lab.jar, for: page)
                try await lab.browser.navigate(to: page)
                let seen: String = try await lab.evaluate("(document.cookie = 'page=ü; path=/', document.cookie)")
                #expect(seen == "jar=é; page=ü")
                let shown = try await store.cookies().map { "\($0.name)=\($0.value)" }
                #expect(shown.sorted() == ["jar=é", "page=ü"])
            }
        }

        private static func content(_ cookie: Cookie) -> String {
            let flags = "\(cookie.isHostOnly) \(cookie.isSecure) \(cookie.isHTTPOnly) \(cookie.sameSite)"
            let expires = cookie.expires.map { "\(Int($0.secondsSince1970))" } ?? "session"
            return "\(cookie.name)=\(cookie.value) \(cookie.domain)\(cookie.path) \(flags) \(expires)"
        }

        @Test("logins and logouts in the browser reach the jar, and vice versa", arguments: BrowserKind.allCases)
        func follow(_ kind: BrowserKind) async throws {
            try await withBrowser(kind) { lab in
                let page = try lab.url("www.a.test", "/page")
                try await lab.browser.navigate(to: page)
                let following = lab.browser.cookieStore.follow(lab.jar)

                #expect(try await lab.fetch("/login", method: "POST") == "welcome")
                try await following.sync()
                let session = try #require(lab.jar.cookies(for: page).first { $0.name == "session" })
                #expect(session.isHTTPOnly && session.isSecure && session.sameSite == .strict && session.isHostOnly)
                #expect(try await lab.native("/page") == "logged in: 42")

                #expect(try await lab.fetch("/logout") == "bye")
                try await following.sync()
                #expect(try await lab.native("/page") == "log in first")

                try await lab.login()
                try await following.sync()
                #expect(try await lab.fetch("/page") == "logged in: 42")

                #expect(try await lab.native("/logout") == "bye")
                try await following.sync()
                #expect(try await lab.fetch("/page") == "log in first")
                await following.stop()
            }
        }

        @Test("a cookie that a server sets in Firefox is reported at once, before the next interval")
        func hint() async throws {
            try await withBrowser(.firefox, cookieInterval: .seconds(3_600)) { lab in
                try await lab.browser.navigate(to: lab.url("www.a.test", "/page"))
                var changes = lab.browser.cookieStore.changes.makeAsyncIterator()
                #expect(await changes.next() != nil)
                let _: Int = try await lab.evaluate("fetch('/set?value=late=1').then(reply => reply.status)")
                #expect(await changes.next() != nil)
                #expect(try await lab.browser.cookieStore.cookies().map(\.name) == ["late"])
            }
        }

        @Test("the browser stays logged in when the site moves to another address", arguments: BrowserKind.allCases)
        func move(_ kind: BrowserKind) async throws {
            try await withBrowser(kind) { lab in
                try await lab.login()
                let page = try lab.url("www.a.test", "/page")
                try await lab.browser.cookieStore.handOver(from: lab.jar, for: page)
                try await lab.browser.navigate(to: page)
                #expect(try await lab.pageText() == "logged in: 42")
                let moved = try await lab.move(to: "127.0.0.2")
                // The first tunnel to the dead address makes the proxy resolve the name again; a later load succeeds.
                let again = try lab.url("www.a.test", "/page?again")
                for _ in 0..<5 where moved.requests.isEmpty {
                    // WebKitGTK's driver reports no error for a load that failed.
                    try? await lab.browser.navigate(to: again)
                    _ = try? await moved.requests(atLeast: 1, within: .seconds(1))
                }
                try await lab.browser.navigate(to: again)
                let text = try await lab.pageText()
                #expect(text == "logged in: 42")
                #expect(moved.requests.last?.cookies["session"] == "42")
                await moved.stop()
            }
        }

        @Test("rehoming moves a cookie from an address to the host name", arguments: BrowserKind.allCases)
        func rehome(_ kind: BrowserKind) async throws {
            try await withBrowser(kind) { lab in
                let address = try #require(IPAddress("127.0.0.1"))
                let store = lab.browser.cookieStore
                try await store.set(Cookie("old", "1", domain: "127.0.0.1"))
                let result = try await store.rehome(from: address, to: Host("www.a.test"))
                #expect(result.moved == 1)
                try await lab.browser.navigate(to: lab.url("www.a.test", "/cookies"))
                #expect(try await lab.pageText() == "old")
                #expect(try await store.cookies().map(\.domain) == ["www.a.test"])
            }
        }
    }
}
