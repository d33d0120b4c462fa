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

    /// Every cookie of the profile; of a browser that has gone what was seen last. WebKitGTK shows those of the page that it is
    /// on; the others are as they were.
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

    /// Puts a cookie in.
    ///
    /// - Throws: ``WebDriverError``.
    public func set(_ cookie: Cookie) async throws { try await session.set(cookie) }

    /// Deletes a cookie.
    ///
    /// - Throws: ``WebDriverError``.
    public func delete(_ cookie: Cookie) async throws { try await session.delete(cookie) }

    /// The cookie in whole seconds; nil where the browser cannot hold it.
    public func kept(of cookie: Cookie) -> Cookie? { session.kept(of: cookie) }

    /// An element whenever a look at the cookies shows others than the last one, and one to begin with. Drivers tell of no
    /// changes: they are looked for every ``BrowserConfiguration/cookieInterval``, once more when a tab of Chromium or Firefox
    /// closes, and in Firefox at once where a server sets cookies. It ends with the browser.
    public var changes: AsyncStream<Void> {
        let watch = CookieWatch(session, looks, interval: interval)
        return AsyncStream { await watch.change() }
    }
}

/// What a browser's cookies were when they were last looked at, which is all that is left of them when it has gone.
final class CookieLooks: Sendable {
    private let seen = NIOLockedValueBox<[Cookie]?>(nil)

    /// What the last look saw; nil where there was none.
    var last: [Cookie]? { seen.withLockedValue { $0 } }

    func look(at session: any BrowserSession) async throws(WebDriverError) -> [Cookie] {
        let cookies = try await session.cookies()
        seen.withLockedValue { $0 = cookies }
        return cookies
    }
}

/// Looks for changes, as long as somebody waits for them.
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

    /// Returns at the next change; nil when there can be none any more.
    func change() async -> Void? {
        while true {
            // Where a tab closes and the browser with it, there are milliseconds for one more look.
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
                // A browser that shows a dialog refuses for a while.
                last = last ?? []
            }
        }
    }
}
