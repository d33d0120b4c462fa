// SPDX-License-Identifier: Apache-2.0

public import BeelineWebView
public import CookieJar

/// The cookies of a ``Browser``.
public struct WebDriverCookieStore: WebCookieStore {
    private let session: any BrowserSession

    init(_ session: any BrowserSession) {
        self.session = session
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
}
