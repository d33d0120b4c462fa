// SPDX-License-Identifier: Apache-2.0

public import BeelineWebView
import CookieJar
import LibC
public import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Controls a browser with a temporary profile: Chromium, Firefox or WebKitGTK.
///
/// ```swift
/// var configuration = BrowserConfiguration()
/// configuration.proxy = proxy.endpoint
/// let browser = try await Browser.start(configuration)
/// try await browser.navigate(to: HTTPURL("https://www.example.com/"))
/// await browser.end()
/// ```
///
/// ``end()`` closes the browser and deletes its profile. Releasing the last reference kills its processes.
public final class Browser: Sendable {
    /// The kind of browser.
    public let kind: BrowserKind
    private let session: any BrowserSession
    private let snapshots = CookieSnapshots()
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
                "\(programs.kind.title) needs a display: set DISPLAY or WAYLAND_DISPLAY, or use xvfb-run"
            )
        }
        #endif
        let profile = try ProfileFolder()
        let session: any BrowserSession =
            switch programs.kind {
            case .chromium:
                try await ChromiumSession(programs, configuration, profile: profile, environment: environment)
            case .firefox:
                try await FirefoxSession(programs, configuration, profile: profile, environment: environment)
            case .webKit:
                try await WebKitSession(programs, configuration, profile: profile, environment: environment)
            }
        return Browser(programs.kind, session: session, cookieInterval: configuration.cookieInterval)
    }

    private init(_ kind: BrowserKind, session: any BrowserSession, cookieInterval: Duration) {
        self.kind = kind
        self.session = session
        self.cookieInterval = cookieInterval
    }

    /// The browser's cookies.
    public var cookieStore: some WebCookieStore { WebDriverCookieStore(session, snapshots, interval: cookieInterval) }

    /// Loads a page and returns when it is loaded.
    ///
    /// - Throws: ``WebDriverError``: `refused` with the browser's message if the page cannot be loaded.
    public func navigate(to url: HTTPURL) async throws(WebDriverError) { try await session.navigate(to: "\(url)") }

    /// Evaluates a JavaScript expression in the page. Awaits the result if it is a promise.
    ///
    /// - Returns: The result as JSON text; `null` for undefined.
    /// - Throws: ``WebDriverError``: `refused` if the script throws.
    public func evaluate(_ expression: String) async throws(WebDriverError) -> String {
        try await session.evaluate(expression)
    }

    /// Whether the browser has a window.
    public var isOpen: Bool {
        get async { await session.isOpen() }
    }

    /// Returns when the last window is closed, or when the task is cancelled.
    ///
    /// - Parameter interval: How often to check. Default 300 ms.
    public func waitUntilClosed(every interval: Duration = .milliseconds(300)) async {
        while await session.isOpen() {
            do { try await ContinuousClock().sleep(for: interval.asWait) } catch { return }
        }
    }

    /// Closes the browser and returns when its processes have ended.
    public func end() async { await session.end() }
}
