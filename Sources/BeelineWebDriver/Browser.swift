// SPDX-License-Identifier: Apache-2.0

import CookieJar
public import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A browser in a throw-away profile, driven from here: Chromium, Firefox or WebKitGTK.
///
/// ```swift
/// var configuration = BrowserConfiguration()
/// configuration.proxy = proxy.endpoint
/// let browser = try await Browser.start(configuration)
/// try await browser.navigate(to: HTTPURL("https://www.example.com/"))
/// await browser.end()
/// ```
///
/// It ends with ``end()``, and its profile with it; with the last reference to it its processes are killed.
public final class Browser: Sendable {
    /// Which one it is.
    public let kind: BrowserKind
    private let session: any BrowserSession
    private let looks = CookieLooks()
    private let cookieInterval: Duration

    /// Starts a browser.
    ///
    /// - Throws: ``WebDriverError``: `notInstalled`, which names the packages, `cannotStart`, `timedOut`.
    public static func start(
        _ configuration: BrowserConfiguration = BrowserConfiguration()
    ) async throws(WebDriverError) -> Browser {
        let environment = configuration.environment ?? ProcessInfo.processInfo.environment
        let programs = try BrowserPrograms.find(configuration.kind, path: environment["PATH"] ?? "/usr/bin:/bin")
        #if !canImport(Darwin)
        let needsDisplay = !configuration.isHeadless || programs.kind == .webKit
        if needsDisplay, environment["DISPLAY"] == nil, environment["WAYLAND_DISPLAY"] == nil {
            throw WebDriverError(
                .cannotStart,
                "\(programs.kind.title) needs a display, which DISPLAY or WAYLAND_DISPLAY names; xvfb-run makes one"
            )
        }
        #endif
        let profile = try ProfileFolder()
        let session: any BrowserSession =
            switch programs.kind {
            case .chromium:
                try await ChromiumSession(
                    programs,
                    configuration,
                    profile: profile,
                    environment: environment,
                    isRoot: geteuid() == 0
                )
            case .firefox:
                try await FirefoxSession(programs, configuration, profile: profile, environment: environment)
            case .webKit:
                try await WebKitSession(programs, configuration, profile: profile, environment: environment)
            }
        return Browser(programs.kind, session, configuration.cookieInterval)
    }

    private init(_ kind: BrowserKind, _ session: any BrowserSession, _ cookieInterval: Duration) {
        self.kind = kind
        self.session = session
        self.cookieInterval = cookieInterval
    }

    /// Its cookies.
    public var cookieStore: WebDriverCookieStore { WebDriverCookieStore(session, looks, interval: cookieInterval) }

    /// Loads a page, and returns when it is there.
    ///
    /// - Throws: ``WebDriverError``: `refused` in the browser's own words where there is no page.
    public func navigate(to url: HTTPURL) async throws(WebDriverError) { try await session.navigate(to: "\(url)") }

    /// Evaluates an expression of JavaScript in the page, and waits for it where it is a promise.
    ///
    /// - Returns: what it gives, as a JSON text; `null` for nothing.
    /// - Throws: ``WebDriverError``: `refused` where the script throws.
    public func evaluate(_ expression: String) async throws(WebDriverError) -> String {
        try await session.evaluate(expression)
    }

    /// Whether it has a window.
    public var isOpen: Bool {
        get async { await session.isOpen() }
    }

    /// Returns when its last window was closed, or when the task is cancelled.
    ///
    /// - Parameter interval: how often it is looked for. Default 300 ms.
    public func waitUntilClosed(every interval: Duration = .milliseconds(300)) async {
        while await session.isOpen() {
            do { try await ContinuousClock().sleep(for: interval.asWait) } catch { return }
        }
    }

    /// Closes it, and returns when its processes have ended.
    public func end() async { await session.end() }
}
