// SPDX-License-Identifier: Apache-2.0

import CookieJar
import HTTPDNS
import Names

/// WebKitGTK's MiniBrowser, driven by WebKitWebDriver.
///
/// The driver shows the cookies of the page that it is on, and takes a cookie for one host on a page of that host only: where
/// the page is another one, a blank page of the host is opened in a tab of its own, in the clear, which the proxy answers
/// without asking the site. Secure cookies are taken there, too.
final class WebKitSession: BrowserSession {
    private let driver: DriverLaunch
    private let profile: ProfileFolder
    private let blankPagePath: String
    private let known = PageCookies()
    /// Which tab commands are for is a state of the session: whoever changes it is alone.
    private let turnstile = Turnstile()

    init(
        _ programs: BrowserPrograms,
        _ configuration: BrowserConfiguration,
        profile: ProfileFolder,
        environment: [String: String]
    ) async throws(WebDriverError) {
        self.profile = profile
        blankPagePath = configuration.blankPagePath ?? "/"
        // The capability `proxy` makes it speak TLS to the proxy; its own option does what is meant.
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
        driver = try await DriverLaunch.start(
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

    func cookies() async throws(WebDriverError) -> [Cookie] {
        try await alone { () async throws(WebDriverError) in
            guard let page = try await page() else { return known.all }
            let cookies = try JSONValue.list(try await driver.get("/cookie"), "cookies")
            // In between the page may have become another one, to which these do not belong.
            if try await self.page() == page { known.saw(cookies.compactMap { Cookie(webKit: $0) }, on: page) }
            return known.all
        }
    }

    func set(_ cookie: Cookie) async throws(WebDriverError) {
        guard let parameters = cookie.webKit else {
            throw WebDriverError(.refused, "WebKitGTK takes no cookie that is Partitioned or not UTF-8: \(cookie.name)")
        }
        try await alone { () async throws(WebDriverError) in
            try await onPage(of: cookie) { () async throws(WebDriverError) in
                try await driver.post("/cookie", ["cookie": parameters])
            }
            known.added(kept(of: cookie) ?? cookie)
        }
    }

    func delete(_ cookie: Cookie) async throws(WebDriverError) {
        // The command Delete Cookie takes every cookie of a name; an expired one takes the place of this one alone.
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

    /// Runs `body` when nobody else is in, in a tab that is open.
    private func alone<Value>(
        _ body: () async throws(WebDriverError) -> Value
    ) async throws(WebDriverError) -> Value {
        try await turnstile.pass { () async throws(WebDriverError) in try await driver.inOpenTab(body) }
    }

    /// The page that the browser is on; nil where it is none of the web.
    private func page() async throws(WebDriverError) -> HTTPURL? {
        let text = try await driver.get("/url").string ?? ""
        return try? HTTPURL(text)
    }

    /// Runs `body` on a page where the cookie can be set.
    private func onPage(
        of cookie: Cookie,
        _ body: () async throws(WebDriverError) -> Void
    ) async throws(WebDriverError) {
        guard cookie.isHostOnly else { return try await body() }
        let page = try await page()
        if page?.host.urlForm == cookie.domain { return try await body() }
        let blank = "http://\(cookie.domain)\(blankPagePath)"
        // Nobody looks at a blank page: it may become another one.
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
