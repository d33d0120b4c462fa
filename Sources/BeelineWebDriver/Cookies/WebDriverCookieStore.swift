// SPDX-License-Identifier: Apache-2.0

import BeelineWebView
package import CookieJar
import NIOConcurrencyHelpers

/// The cookies of a ``Browser``.
package struct WebDriverCookieStore: WebCookieStore {
    private let session: any BrowserSession
    private let snapshots: CookieSnapshots
    private let interval: Duration

    init(_ session: any BrowserSession, _ snapshots: CookieSnapshots, interval: Duration) {
        self.session = session
        self.snapshots = snapshots
        self.interval = interval
    }

    /// Returns every cookie of the profile. After the browser has closed, returns the last known cookies. WebKitGTK shows only
    /// the cookies of the current page; the others are as last seen.
    ///
    /// - Throws: ``WebDriverError``.
    package func cookies() async throws -> [Cookie] {
        do throws(WebDriverError) {
            return try await snapshots.read(from: session)
        } catch {
            // A cancelled command fails in the same way, but the browser has not ended.
            guard error.code == .ended, !Task.isCancelled, let last = snapshots.last else { throw error }
            return last
        }
    }

    /// Sets a cookie in the browser.
    ///
    /// - Throws: ``WebDriverError``.
    package func set(_ cookie: Cookie) async throws { try await session.set(cookie) }

    /// Deletes a cookie from the browser.
    ///
    /// - Throws: ``WebDriverError``.
    package func delete(_ cookie: Cookie) async throws { try await session.delete(cookie) }

    /// Returns the cookie as the browser stores it, with its expiry in whole seconds; nil if the browser cannot store it.
    package func kept(of cookie: Cookie) -> Cookie? { session.kept(of: cookie) }

    /// Emits an element at the start and whenever the cookies have changed. Drivers do not report changes, so the cookies are
    /// checked every ``BrowserConfiguration/cookieInterval``, when a tab of Chromium or Firefox closes, and in Firefox when a
    /// server sets cookies. The stream ends when the browser closes.
    package var changes: AsyncStream<Void> {
        let watch = CookieWatch(session, snapshots, interval: interval)
        return AsyncStream { await watch.change() }
    }
}

/// The cookies at the last check, which remain available after the browser has closed.
final class CookieSnapshots: Sendable {
    private struct State {
        var last: [Cookie]?
        /// The number of checks that have started.
        var started = 0
        /// The number of the newest check that has ended. Checks may overlap.
        var newest = 0
        /// Whether the newest check found no cookies after one with cookies.
        var isEmptied = false

        mutating func saw(_ shown: ShownCookies, in number: Int) -> [Cookie] {
            let places = shown.unreadable.isEmpty ? [] : Set(shown.cookies.map(CookiePlace.init))
            let hidden = (last ?? []).filter { shown.hides($0) && !places.contains(CookiePlace($0)) }
            let cookies = shown.cookies + hidden
            guard number > newest else { return cookies }
            newest = number
            // A browser that is exiting may show no cookies. Only a second check without cookies counts.
            isEmptied = cookies.isEmpty && last?.isEmpty == false && !isEmptied
            if !isEmptied { last = cookies }
            return cookies
        }
    }

    /// Guards the last check.
    private let state = NIOLockedValueBox(State())

    /// The cookies at the last check; nil before the first one.
    var last: [Cookie]? { state.withLockedValue { $0.last } }

    func read(from session: any BrowserSession) async throws(WebDriverError) -> [Cookie] {
        let number = state.withLockedValue { state in
            state.started += 1
            return state.started
        }
        let shown = try await session.cookies()
        return state.withLockedValue { $0.saw(shown, in: number) }
    }
}

/// Checks for changes while a caller waits for them.
private actor CookieWatch {
    /// The minimum time between two checks, except when a tab closes: a page may set cookies with each response.
    private static let pause = Duration.milliseconds(100)

    private let session: any BrowserSession
    private let snapshots: CookieSnapshots
    private let interval: Duration
    private var last: Set<Cookie>?

    init(_ session: any BrowserSession, _ snapshots: CookieSnapshots, interval: Duration) {
        self.session = session
        self.snapshots = snapshots
        self.interval = max(interval, Self.pause)
    }

    /// Returns at the next change; nil after the browser has closed.
    func change() async -> Void? {
        while true {
            // A browser ends milliseconds after its last tab closes. The hint leaves time for one more check.
            if last != nil { await session.waitForHint(after: Self.pause, within: interval) }
            if Task.isCancelled { return nil }
            do throws(WebDriverError) {
                let now = Set(try await snapshots.read(from: session))
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
