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
/// WebKit answers only while a web view of the data store exists: create one first. A call without an answer fails after ten
/// seconds with `timedOut`. WebKit cannot store Partitioned cookies or cookies without a name, and it drops SameSite=None.
/// The article “Cookies between a jar and Foundation” of `BeelineURLSession` has the list.
public struct WebKitCookieStore: WebCookieStore {
    private let store: CompletionCookieStore<WebKitCookies>

    /// Creates the store of a data store and retains the data store.
    @MainActor
    public init(_ dataStore: WKWebsiteDataStore) {
        store = CompletionCookieStore(WebKitCookies(dataStore))
    }

    /// All cookies of the data store.
    public func cookies() async throws -> [Cookie] { try await store.cookies() }

    /// Adds a cookie to the data store.
    public func set(_ cookie: Cookie) async throws { try await store.set(cookie) }

    /// Deletes the cookie with the same name, domain and path.
    public func delete(_ cookie: Cookie) async throws { try await store.delete(cookie) }

    /// The cookie with only the attributes that an `HTTPCookie` keeps; `nil` if `HTTPCookie` cannot represent it.
    public func kept(of cookie: Cookie) -> Cookie? { store.kept(of: cookie) }

    /// An element for each notification of the data store's observer.
    public var changes: AsyncStream<Void> { store.changes }
}
#endif
