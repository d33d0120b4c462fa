// SPDX-License-Identifier: Apache-2.0

import BeelineWebView
import CookieJar
import HTTPDNS
import Names

/// WebKitGTK's MiniBrowser, controlled by WebKitWebDriver.
///
/// The driver shows only the cookies of the current page, and accepts a host-only cookie only on a page of that host. On other
/// pages, a blank page of the host is opened in a new tab over plain HTTP; the proxy serves it without contacting the site. The
/// driver accepts Secure cookies there too.
final class WebKitSession: BrowserSession {
    private let driver: DriverSession
    private let profile: ProfileFolder
    private let blankPagePath: String
    private let known = PageCookies()
    /// The current tab is a state of the session, so commands that change it must not overlap.
    private let tabs = AsyncMutex()

    init(
        _ programs: BrowserPrograms,
        _ configuration: BrowserConfiguration,
        profile: ProfileFolder,
        environment: [String: String]
    ) async throws(WebDriverError) {
        self.profile = profile
        blankPagePath = configuration.blankPagePath ?? "/"
        // With the capability `proxy`, MiniBrowser would speak TLS to the proxy, so use its command-line option.
        let proxy = configuration.proxy.map { ["--proxy=http://\($0)"] } ?? []
        let arguments = ["--automation"] + proxy + configuration.arguments
        let pins = configuration.pinnedCertificates.map { host, file -> JSONValue in
            ["host": .string(host), "certificateFile": .string(file)]
        }
        let capabilities: JSONValue = [
            "acceptInsecureCerts": false,
            "unhandledPromptBehavior": "ignore",
            "timeouts": .timeouts(configuration.commandLimit),
            "webkitgtk:browserOptions": [
                "binary": .string(programs.browser),
                "args": .array(arguments.map { .string($0) }),
                "certificates": .array(pins),
            ],
        ]
        driver = try await DriverSession.start(
            programs.driver ?? "WebKitWebDriver",
            capabilities: capabilities,
            environment: environment,
            profile: profile,
            limits: configuration
        )
    }

    func navigate(to url: String) async throws(WebDriverError) {
        try await alone { () async throws(WebDriverError) in try await driver.navigate(to: url) }
    }

    func evaluate(_ expression: String) async throws(WebDriverError) -> String {
        try await alone { () async throws(WebDriverError) in try await driver.evaluate(expression) }
    }

    func cookies() async throws(WebDriverError) -> ShownCookies {
        try await alone { () async throws(WebDriverError) in
            guard let page = try await page() else { return ShownCookies(known.all) }
            let cookies = try await driver.get("/cookie", as: [DriverCookie].self)
            let shown = try ShownCookies(cookies) { Cookie(webKit: $0) }
            // Discard the cookies if the page changed during the query.
            if try await self.page() == page { known.saw(shown, on: page) }
            return ShownCookies(known.all)
        }
    }

    func set(_ cookie: Cookie) async throws(WebDriverError) {
        guard let parameters = cookie.webKit else {
            throw WebDriverError(.refused, "WebKitGTK refuses Partitioned and non-UTF-8 cookies: \(cookie.name)")
        }
        try await alone { () async throws(WebDriverError) in
            try await onPage(of: cookie) { () async throws(WebDriverError) in
                try await driver.post("/cookie", ["cookie": parameters])
            }
            known.added(kept(of: cookie) ?? cookie)
        }
    }

    func delete(_ cookie: Cookie) async throws(WebDriverError) {
        // Delete Cookie would delete all cookies of a name, so replace this one with an expired one.
        var expired = cookie
        expired.expires = CookieTime(secondsSince1970: 1)
        guard let parameters = expired.webKit else { return }
        try await alone { () async throws(WebDriverError) in
            try await onPage(of: cookie) { () async throws(WebDriverError) in
                try await driver.post("/cookie", ["cookie": parameters])
            }
            known.deleted(cookie)
        }
    }

    func kept(of cookie: Cookie) -> Cookie? {
        guard cookie.webKit != nil else { return nil }
        var cookie = cookie.inWholeSeconds
        cookie.sameSite = cookie.sameSite.inWebKit
        return cookie
    }

    func isOpen() async -> Bool { await driver.hasWindow() }

    func end() async { await driver.end() }

    /// Runs `body` exclusively, in an open tab.
    private func alone<Value>(
        _ body: () async throws(WebDriverError) -> Value
    ) async throws(WebDriverError) -> Value {
        try await tabs.withLock { () async throws(WebDriverError) in try await driver.inOpenTab(body) }
    }

    /// Returns the URL of the current page; nil if it is not an HTTP page.
    private func page() async throws(WebDriverError) -> HTTPURL? {
        let text = try await driver.get("/url").string ?? ""
        return try? HTTPURL(text)
    }

    /// Runs `body` on a page that can set the cookie.
    private func onPage(
        of cookie: Cookie,
        _ body: () async throws(WebDriverError) -> Void
    ) async throws(WebDriverError) {
        guard cookie.isHostOnly else { return try await body() }
        let page = try await page()
        if page?.host.urlForm == cookie.domain { return try await body() }
        let blank = "http://\(cookie.domain)\(blankPagePath)"
        // Without a page, or on a blank page, the current tab can be reused.
        if page == nil || page?.path == blankPagePath {
            try await driver.navigate(to: blank)
            return try await body()
        }
        try await driver.inNewTab { () async throws(WebDriverError) in
            try await driver.navigate(to: blank)
            try await body()
        }
    }
}
