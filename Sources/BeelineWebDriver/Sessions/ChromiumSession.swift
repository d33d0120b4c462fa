// SPDX-License-Identifier: Apache-2.0

import BeelineWebView
import CookieJar
import HTTPDNS
import LibC
import Names

/// Chromium, controlled by chromedriver. Cookies use the DevTools protocol (for example `Storage.getCookies`), which shows all
/// of them at any time, whatever page is open.
///
/// By default, Chromium ends with its last window and first drops the session cookies. It is configured to do neither, so that
/// the cookies can be read after the window has closed. It ends with ``end()``.
final class ChromiumSession: BrowserSession {
    private let driver: DriverSession
    private let connection: BrowserConnection
    private let profile: ProfileFolder

    init(
        _ programs: BrowserPrograms,
        _ configuration: BrowserConfiguration,
        profile: ProfileFolder,
        environment: [String: String]
    ) async throws(WebDriverError) {
        self.profile = profile
        var environment = environment
        if !configuration.rootPEMs.isEmpty {
            // Chromium looks for a user's certificates there, not in --user-data-dir.
            try await profile.trust(configuration.rootPEMs, in: "data/pki/nssdb", environment: environment)
            environment["XDG_DATA_HOME"] = profile["data"]
        }
        var arguments = [
            "--user-data-dir=\(profile["profile"])", "--no-first-run", "--no-default-browser-check",
            "--keep-alive-for-test",
        ]
        if configuration.isHeadless { arguments.append("--headless=new") }
        // As root, Chromium does not run with its sandbox.
        if geteuid() == 0 { arguments.append("--no-sandbox") }
        arguments += configuration.arguments
        var capabilities: [String: JSONValue] = [
            "browserName": "chrome",
            "acceptInsecureCerts": false,
            "unhandledPromptBehavior": "ignore",
            "timeouts": .timeouts(configuration.commandLimit),
            "goog:chromeOptions": [
                "binary": .string(programs.browser),
                "args": .array(arguments.map { .string($0) }),
                // The value 1 restores the last session, so that Chromium keeps session cookies.
                "prefs": ["session.restore_on_startup": .number(1)],
                // Without this setting, chromedriver disables background mode, and --keep-alive-for-test has no effect.
                "localState": ["background_mode.enabled": true],
                "excludeSwitches": ["enable-automation"],
            ],
        ]
        if let proxy = configuration.proxy { capabilities["proxy"] = .manualProxy(proxy) }
        driver = try await DriverSession.start(
            programs.driver ?? "chromedriver",
            capabilities: .object(capabilities),
            environment: environment,
            profile: profile,
            limits: configuration
        )
        do throws(WebDriverError) {
            connection = try await Self.connect(profile, limit: configuration.commandLimit)
        } catch {
            await driver.end()
            throw error
        }
    }

    /// Connects to the browser itself, at the address in its DevToolsActivePort file.
    private static func connect(
        _ profile: ProfileFolder,
        limit: Duration
    ) async throws(WebDriverError) -> BrowserConnection {
        let lines = profile.text("profile/DevToolsActivePort")?.split(separator: "\n") ?? []
        guard lines.count == 2 else {
            throw WebDriverError(.cannotStart, "Chromium does not report the address of its DevTools protocol")
        }
        let connection = try await BrowserConnection(
            to: "ws://127.0.0.1:\(lines[0])\(lines[1])",
            origin: nil,
            limit: limit
        ) { event in
            // Chromium keeps running after its last tab closes, so the read can wait. A page can cause many of these events.
            event.method == "Target.targetDestroyed" ? .cookies : nil
        }
        do throws(WebDriverError) {
            let pages: JSONValue = [["type": "page"]]
            try await connection.send("Target.setDiscoverTargets", ["discover": true, "filter": pages])
            return connection
        } catch {
            await connection.close()
            throw error
        }
    }

    func navigate(to url: String) async throws(WebDriverError) { try await driver.navigate(to: url) }

    func evaluate(_ expression: String) async throws(WebDriverError) -> String {
        try await driver.evaluate(expression)
    }

    func cookies() async throws(WebDriverError) -> ShownCookies {
        let answer = try await connection.send("Storage.getCookies", as: DriverCookies.self)
        return try ShownCookies(answer.cookies.filter { !$0.hasOpaquePartition }) { Cookie(devTools: $0) }
    }

    func set(_ cookie: Cookie) async throws(WebDriverError) {
        guard let parameters = cookie.devTools else {
            throw WebDriverError(.refused, "Chromium refuses cookies that are not UTF-8: \(cookie.name)")
        }
        try await connection.send("Storage.setCookies", ["cookies": [parameters]])
    }

    func delete(_ cookie: Cookie) async throws(WebDriverError) {
        // There is no browser-level command to delete a cookie, so replace it with an expired one.
        var expired = cookie
        expired.expires = CookieTime(secondsSince1970: 1)
        try await set(expired)
    }

    func kept(of cookie: Cookie) -> Cookie? { cookie.devTools == nil ? nil : cookie.inWholeSeconds }

    func isOpen() async -> Bool {
        // chromedriver would end a browser without a window, so ask the browser itself.
        do throws(WebDriverError) {
            let targets = try await connection.send("Target.getTargets")["targetInfos"]?.array ?? []
            return targets.contains { $0["type"] == "page" }
        } catch {
            return error.code != .ended
        }
    }

    func waitForHint(after pause: Duration, within limit: Duration) async {
        await connection.waitForHint(after: pause, within: limit)
    }

    func end() async {
        await connection.close()
        await driver.end()
    }
}

extension JSONValue {
    /// The capability `timeouts` (§9): the time limits for scripts and page loads.
    static func timeouts(_ limit: Duration) -> JSONValue {
        // The maximum of the standard.
        let milliseconds = JSONValue.number(Int64(min(max(0, limit / .milliseconds(1)), 9_007_199_254_740_991)))
        return ["script": milliseconds, "pageLoad": milliseconds]
    }

    /// The capability `proxy` (§7.4.1).
    static func manualProxy(_ endpoint: Endpoint) -> JSONValue {
        ["proxyType": "manual", "httpProxy": .string("\(endpoint)"), "sslProxy": .string("\(endpoint)")]
    }
}
