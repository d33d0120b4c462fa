// SPDX-License-Identifier: Apache-2.0

public import BeelineWebView
public import CookieJar
import NIOConcurrencyHelpers

/// The cookies of a ``Browser``.
public struct WebDriverCookieStore: WebCookieStore {
    private let session: any BrowserSession
    private let looks: CookieLooks
    private let interval: Duration

    init(_ session: any BrowserSession, _ looks: CookieLooks, interval: Duration) {
        self.session = session
        self.looks = looks
        self.interval = interval
    }

    /// Returns every cookie of the profile. After the browser has closed, returns the last known cookies. WebKitGTK shows only
    /// the cookies of the current page; the others are as last seen.
    ///
    /// - Throws: ``WebDriverError``.
    public func cookies() async throws -> [Cookie] {
        do throws(WebDriverError) {
            return try await looks.look(at: session)
        } catch {
            guard error.code == .ended, let last = looks.last else { throw error }
            return last
        }
    }

    /// Sets a cookie in the browser.
    ///
    /// - Throws: ``WebDriverError``.
    public func set(_ cookie: Cookie) async throws { try await session.set(cookie) }

    /// Deletes a cookie from the browser.
    ///
    /// - Throws: ``WebDriverError``.
    public func delete(_ cookie: Cookie) async throws { try await session.delete(cookie) }

    /// Returns the cookie as the browser stores it, with its expiry in whole seconds; nil if the browser cannot store it.
    public func kept(of cookie: Cookie) -> Cookie? { session.kept(of: cookie) }

    /// Emits an element at the start and whenever the cookies have changed. Drivers do not report changes, so the cookies are
    /// checked every ``BrowserConfiguration/cookieInterval``, when a tab of Chromium or Firefox closes, and in Firefox when a
    /// server sets cookies. The stream ends when the browser closes.
    public var changes: AsyncStream<Void> {
        let watch = CookieWatch(session, looks, interval: interval)
        return AsyncStream { await watch.change() }
    }
}

/// The cookies at the last check, which remain available after the browser has closed.
final class CookieLooks: Sendable {
    private let seen = NIOLockedValueBox<[Cookie]?>(nil)

    /// The cookies at the last check; nil before the first one.
    var last: [Cookie]? { seen.withLockedValue { $0 } }

    func look(at session: any BrowserSession) async throws(WebDriverError) -> [Cookie] {
        let cookies = try await session.cookies()
        seen.withLockedValue { $0 = cookies }
        return cookies
    }
}

/// Checks for changes while a caller waits for them.
private actor CookieWatch {
    private let session: any BrowserSession
    private let looks: CookieLooks
    private let interval: Duration
    private var last: Set<Cookie>?

    init(_ session: any BrowserSession, _ looks: CookieLooks, interval: Duration) {
        self.session = session
        self.looks = looks
        self.interval = interval
    }

    /// Returns at the next change; nil after the browser has closed.
    func change() async -> Void? {
        while true {
            // A browser ends milliseconds after its last tab closes. The hint leaves time for one more check.
            if last != nil { await session.waitForHint(within: interval) }
            if Task.isCancelled { return nil }
            do throws(WebDriverError) {
                let now = Set(try await looks.look(at: session))
                if now != last {
                    last = now
                    return ()
                }
            } catch {
                if error.code == .ended || Task.isCancelled { return nil }
                // A browser with an open dialog refuses commands for a while.
                last = last ?? []
            }
        }
    }
}
