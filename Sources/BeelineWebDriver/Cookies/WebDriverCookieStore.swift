// SPDX-License-Identifier: Apache-2.0

public import BeelineWebView
public import CookieJar

/// The cookies of a ``Browser``.
public struct WebDriverCookieStore: WebCookieStore {
    private let session: any BrowserSession
    private let interval: Duration

    init(_ session: any BrowserSession, interval: Duration) {
        self.session = session
        self.interval = interval
    }

    /// Every cookie of the profile. WebKitGTK shows those of the page that it is on; the others are as they were.
    ///
    /// - Throws: ``WebDriverError``.
    public func cookies() async throws -> [Cookie] { try await session.cookies() }

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
    /// changes: they are looked for every ``BrowserConfiguration/cookieInterval``. It ends with the browser.
    public var changes: AsyncStream<Void> {
        let look = CookieLook(session, interval: interval)
        return AsyncStream { await look.change() }
    }
}

/// Looks for changes, as long as somebody waits for them.
private actor CookieLook {
    private let session: any BrowserSession
    private let interval: Duration
    private var last: Set<Cookie>?

    init(_ session: any BrowserSession, interval: Duration) {
        self.session = session
        self.interval = interval
    }

    /// Returns at the next change; nil when there can be none any more.
    func change() async -> Void? {
        while true {
            if last != nil {
                do { try await ContinuousClock().sleep(for: interval) } catch { return nil }
            }
            do throws(WebDriverError) {
                let now = Set(try await session.cookies())
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
