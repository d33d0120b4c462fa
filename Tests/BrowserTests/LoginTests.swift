// SPDX-License-Identifier: Apache-2.0

import BeelineWebDriver
import BeelineWebView
import CookieJar
import Testing

/// A login made by our client is there in the browser.
@Suite(.serialized)
struct LoginTests {
    @Test(
        "a login by POST is handed over, and the first load is logged in at a name that only our upstream knows",
        arguments: BrowserKind.allCases
    )
    func firstLoad(_ kind: BrowserKind) async throws {
        let lab = try await BrowserLab(kind)
        let login = try await lab.client.post("\(lab.url("www.a.test", "/login"))", body: .form([("user", "anne")]))
        #expect(login.status == .ok)
        #expect(lab.jar.allCookies().count == 2)

        let page = try lab.url("www.a.test", "/page")
        for cookie in lab.jar.allCookies() { try await lab.browser.cookieStore.set(cookie) }
        try await lab.browser.navigate(to: page)

        #expect(try await lab.pageText() == "logged in: 42")
        #expect(try await lab.evaluate("document.cookie") == "theme=dark")
        let loads = lab.site.requests.filter { $0.path == "/page" }
        #expect(loads.map { $0.cookies["session"] } == ["42"])
        #expect(loads.map(\.connection.serverName) == ["www.a.test"])

        // The other name of this address has a certificate of its own.
        try await lab.browser.navigate(to: lab.url("www.b.test", "/page"))
        #expect(try await lab.pageText() == "log in first")
        #expect(lab.site.requests.last?.connection.serverName == "www.b.test")
        #expect(lab.trap.connections.accepted == 0)
        await lab.stop()
    }
}
