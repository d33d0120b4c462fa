// SPDX-License-Identifier: Apache-2.0

#if canImport(WebKit)
public import CookieJar
public import WebKit

/// The cookies of the web views that share a `WKWebsiteDataStore`.
///
/// ```swift
/// let store = WebKitCookieStore(webView.configuration.websiteDataStore)
/// try await store.handOver(from: jar, for: url)
/// ```
///
/// WebKit answers only while a web view of the data store exists: make that first. A call that it does not answer fails
/// after ten seconds, with `timedOut`. It has no place for Partitioned and nameless cookies, and SameSite=None is no
/// attribute there; `docs/COOKIES-BRIDGE.md` has the list.
public struct WebKitCookieStore: WebCookieStore {
    private let store: CompletionCookieStore<WebKitCookies>

    /// The cookies of a data store, which is kept alive.
    @MainActor
    public init(_ dataStore: WKWebsiteDataStore) {
        store = CompletionCookieStore(WebKitCookies(dataStore))
    }

    /// Every cookie of the data store.
    public func cookies() async throws -> [Cookie] { try await store.cookies() }

    /// Puts a cookie into the data store.
    public func set(_ cookie: Cookie) async throws { try await store.set(cookie) }

    /// Deletes the cookie of this cookie's name, domain and path.
    public func delete(_ cookie: Cookie) async throws { try await store.delete(cookie) }

    /// The cookie as an `HTTPCookie` can be; nil for one that cannot be an `HTTPCookie`.
    public func kept(of cookie: Cookie) -> Cookie? { store.kept(of: cookie) }

    /// What the data store's observer hears.
    public var changes: AsyncStream<Void> { store.changes }
}
#endif
