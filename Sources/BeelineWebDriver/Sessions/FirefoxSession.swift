// SPDX-License-Identifier: Apache-2.0

import BeelineWebView
import CookieJar
import HTTPDNS
import NIOConcurrencyHelpers
import Names

/// Firefox, controlled by its built-in WebDriver BiDi without a driver.
///
/// Firefox shows the partition of a cookie only to a query for that partition. The queries cover the sites that were open in a
/// tab and those for which a cookie was set.
final class FirefoxSession: BrowserSession {
    /// The Origin of the handshake. An argument tells Firefox to allow it.
    private static let origin = "http://beeline.invalid"

    /// The event for a closed tab or frame.
    private static let closing = "browsingContext.contextDestroyed"

    /// The event for a received response head.
    private static let answered = "network.responseStarted"

    /// The event for a loaded page.
    private static let loaded = "browsingContext.load"

    private let process: OwnedProcess
    private let connection: BrowserConnection
    private let profile: ProfileFolder
    /// Guards the sites that may have partitions.
    private let partitions = NIOLockedValueBox(FirefoxPartitions())
    /// Guards the id of the last navigation, whose events may arrive after its answer.
    private let navigation = NIOLockedValueBox<JSONValue?>(nil)

    init(
        _ programs: BrowserPrograms,
        _ configuration: BrowserConfiguration,
        profile: ProfileFolder,
        environment: [String: String]
    ) async throws(WebDriverError) {
        self.profile = profile
        let folder = try profile.makeFolder("profile")
        try await profile.trust(configuration.rootPEMs, in: "profile", environment: environment)
        try profile.write(FirefoxPreferences.text(proxy: configuration.proxy), to: "profile/user.js")
        var arguments = [programs.browser, "--no-remote", "--new-instance", "--profile", folder]
        arguments += ["--remote-debugging-port", "0", "--remote-allow-origins", Self.origin]
        if configuration.isHeadless { arguments.append("--headless") }
        arguments += configuration.arguments
        let process = try profile.start(arguments, environment: environment, log: "firefox.log")
        do throws(WebDriverError) {
            let url = try await Self.address(process, profile, within: configuration.startLimit)
            let limit = configuration.commandLimit
            connection = try await BrowserConnection(
                to: "\(url)/session",
                origin: Self.origin,
                limit: limit,
                hint: Self.hint
            )
        } catch {
            await process.end()
            throw error
        }
        self.process = process
        do throws(WebDriverError) {
            let capabilities: JSONValue = [
                "acceptInsecureCerts": false, "unhandledPromptBehavior": ["default": "ignore"],
            ]
            try await connection.send("session.new", ["capabilities": ["alwaysMatch": capabilities]])
            let events = [Self.closing, Self.answered, Self.loaded]
            try await connection.send("session.subscribe", ["events": .array(events.map { .string($0) })])
        } catch {
            await end()
            throw error
        }
    }

    /// Reads the WebSocket address from Firefox's output.
    private static func address(
        _ process: OwnedProcess,
        _ profile: ProfileFolder,
        within limit: Duration
    ) async throws(WebDriverError) -> String {
        let clock = ContinuousClock()
        let deadline = clock.now + limit.asWait
        while clock.now < deadline {
            let log = profile.text("firefox.log") ?? ""
            for line in log.split(separator: "\n") {
                guard let start = line.firstIndex(of: "w"), line.hasPrefix("WebDriver BiDi listening on ") else {
                    continue
                }
                return String(line[start...])
            }
            if let status = process.status {
                let last = log.split(separator: "\n").last ?? "it gives no reason"
                throw WebDriverError(.cannotStart, "Firefox ended with \(status): \(last)")
            }
            do { try await clock.sleep(for: .milliseconds(50)) } catch {
                throw WebDriverError(.cannotStart, "the start of Firefox was cancelled", underlyingError: error)
            }
        }
        throw WebDriverError(.timedOut, "Firefox did not start within \(limit)")
    }

    func navigate(to url: String) async throws(WebDriverError) {
        let page = try await page()
        let last = navigation.withLockedValue { $0 }
        let parameters: JSONValue = ["context": page, "url": .string(url), "wait": "complete"]
        // If another navigation is in progress, Firefox may load the new page without an answer to this command.
        let result = try await connection.send("browsingContext.navigate", parameters) { event in
            guard event.method == Self.loaded, let load: JSONValue = event.parameters() else { return false }
            return load["context"] == page && load["url"]?.string == url && load["navigation"] != last
        }
        navigation.withLockedValue { $0 = result["navigation"] }
    }

    func evaluate(_ expression: String) async throws(WebDriverError) -> String {
        let script = """
            Promise.resolve().then(() => (\(expression)))
                .then(value => JSON.stringify(value === undefined ? null : value))
            """
        let answer = try await connection.send(
            "script.evaluate",
            ["expression": .string(script), "target": ["context": try await page()], "awaitPromise": true]
        )
        guard let text = answer["result"]?["value"]?.string else {
            let reason = answer["exceptionDetails"]?["text"]?.string ?? "its result is not JSON"
            throw WebDriverError(.refused, "the script failed: \(reason)")
        }
        return text
    }

    func cookies() async throws(WebDriverError) -> ShownCookies {
        let open = try await sitesOfTabs()
        var unreadable: Set<CookiePlace> = []
        let cookies = try await partitions.cookies(open: open) { (site: Site?) async throws(WebDriverError) in
            let shown = try await self.cookies(in: site)
            unreadable.formUnion(shown.unreadable)
            guard let site else { return shown.cookies }
            // The query for a site also returns the site's own unpartitioned cookies.
            return shown.cookies.filter { Self.site(of: $0, like: site) != site }
        }
        return ShownCookies(cookies, unreadable: unreadable)
    }

    func set(_ cookie: Cookie) async throws(WebDriverError) {
        guard let partial = cookie.biDi else {
            throw WebDriverError(.refused, "Firefox can get only values in UTF-8 with characters up to U+00FF")
        }
        try await connection.send("storage.setCookie", Self.parameters("cookie", partial, in: cookie.partition))
        guard let site = cookie.partition else { return }
        let isOwn = Self.site(of: cookie, like: site) == site
        partitions.withLockedValue { if isOwn { $0.setOwn(cookie) } else { $0.remember(site) } }
    }

    func delete(_ cookie: Cookie) async throws(WebDriverError) {
        let filter = cookie.biDiFilter
        try await connection.send("storage.deleteCookies", Self.parameters("filter", filter, in: cookie.partition))
        guard cookie.partition != nil else { return }
        partitions.withLockedValue { $0.forgetOwn(cookie) }
    }

    func kept(of cookie: Cookie) -> Cookie? { cookie.inWholeSeconds }

    func isOpen() async -> Bool {
        guard connection.isOpen, process.status == nil else { return false }
        do throws(WebDriverError) {
            return try await !tabs().isEmpty
        } catch {
            return error.code != .ended
        }
    }

    func waitForHint(after pause: Duration, within limit: Duration) async {
        await connection.waitForHint(after: pause, within: limit)
    }

    func end() async {
        await briefly { [connection] in _ = try? await connection.send("browser.close") }
        await connection.close()
        await process.end()
    }

    /// Whether an event reports that a server sets cookies or that a tab, not a frame, closes. With its last tab, Firefox ends
    /// and shows no more cookies.
    static func hint(_ event: BrowserMessage) -> BrowserHint? {
        switch event.method {
        case closing:
            let parent: JSONValue? = event.parameters(as: Closing.self)?.parent
            return parent?.string == nil ? .closing : nil
        case answered:
            let headers = event.parameters(as: ResponseStarted.self)?.response.headers ?? []
            return headers.contains { $0.name.lowercased() == "set-cookie" } ? .cookies : nil
        default: return nil
        }
    }

    private struct Closing: Decodable { let parent: JSONValue? }

    /// The part of `network.responseStarted` that matters here.
    private struct ResponseStarted: Decodable {
        struct Response: Decodable { let headers: [Header] }
        struct Header: Decodable { let name: String }

        let response: Response
    }

    // MARK: Tabs and partitions

    private func tabs() async throws(WebDriverError) -> [JSONValue] {
        try await connection.send("browsingContext.getTree", ["maxDepth": .number(0)], as: Tree.self).contexts
    }

    private struct Tree: Decodable { let contexts: [JSONValue] }

    private func page() async throws(WebDriverError) -> JSONValue {
        guard let page = try await tabs().first?["context"] else {
            throw WebDriverError(.ended, "Firefox has no open tab")
        }
        return page
    }

    private func sitesOfTabs() async throws(WebDriverError) -> [Site] {
        let urls = try await tabs().compactMap { $0["url"]?.string.flatMap { try? HTTPURL($0) } }
        return Array(Set(urls.map { Site(of: $0) }))
    }

    private func cookies(in site: Site?) async throws(WebDriverError) -> ShownCookies {
        let parameters = Self.parameters("filter", [:], in: site)
        let answer = try await connection.send("storage.getCookies", parameters, as: DriverCookies.self)
        return try ShownCookies(answer.cookies, name: Cookie.biDiName) { Cookie(biDi: $0) }
    }

    /// Returns the site of the cookie's domain, with the scheme of `site`.
    private static func site(of cookie: Cookie, like site: Site) -> Site? {
        (try? Host(cookie.domain)).map { Site(isSecure: site.isSecure, host: $0) }
    }

    private static func parameters(_ name: String, _ value: JSONValue, in site: Site?) -> JSONValue {
        var parameters = [name: value]
        if let site { parameters["partition"] = ["type": "storageKey", "sourceOrigin": .string("\(site)")] }
        return .object(parameters)
    }
}
