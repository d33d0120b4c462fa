// SPDX-License-Identifier: Apache-2.0

#if canImport(WebKit)
public import BeelineProxy
public import CookieJar
public import Foundation
import Names
public import WebKit

/// The web views of one user: one data store, the user's jar, and the proxy in this app.
///
/// ```swift
/// let session = WebViewSession(jar: jar, proxy: proxy)
/// let webView = try await session.open(url)       // logged in on the first load, on the right address
/// …
/// await session.stop()
/// ```
///
/// While it lives, a login or logout in a page reaches the jar, and the other way round. Keep it for as long as its web
/// views live. Users are kept apart by giving each a session with a data store and a jar of its own.
@MainActor
public final class WebViewSession {
    /// Where the web views keep their data.
    public let dataStore: WKWebsiteDataStore
    /// Its cookies.
    public let store: WebKitCookieStore
    /// The user's cookies.
    public let jar: CookieJar
    /// The proxy that the web views go through; nil where there is none.
    public let proxy: BeelineProxy?
    private let configuration: WebCookieFollowing.Configuration
    private var following: WebCookieFollowing?
    /// How often it was stopped: a load that began before follows nothing after.
    private var stops = 0

    /// A session; cookies are followed from the first ``open(_:configuration:frame:)`` on.
    ///
    /// - Parameters:
    ///   - jar: The user's cookies.
    ///   - proxy: The proxy in this app; nil: web views find their sites by themselves.
    ///   - dataStore: Where the web views keep their data. Default: `default()`, which is one for the whole app.
    ///   - configuration: How cookies are followed.
    public init(
        jar: CookieJar,
        proxy: BeelineProxy?,
        dataStore: WKWebsiteDataStore = .default(),
        configuration: WebCookieFollowing.Configuration = WebCookieFollowing.Configuration()
    ) {
        (self.jar, self.proxy, self.dataStore, self.configuration) = (jar, proxy, dataStore, configuration)
        store = WebKitCookieStore(dataStore)
        useProxy()
    }

    /// Whether this system's web views can go through a proxy: from iOS 17 and macOS 14 on.
    public nonisolated static var canUseProxy: Bool {
        if #available(macOS 14, iOS 17, visionOS 1, *) { true } else { false }
    }

    /// Tells the data store where the proxy listens; again where `rebind()` found another port.
    public func useProxy() {
        #if canImport(Network)
        if #available(macOS 14, iOS 17, visionOS 1, *) { dataStore.use(proxy) }
        #endif
    }

    /// Makes a web view, and loads a page in it when it has all cookies of the page's site.
    ///
    /// Where the store does not take them on a system before iOS 17 and macOS 14, the page is loaded with
    /// ``FirstLoad``.
    ///
    /// - Parameters:
    ///   - url: The page.
    ///   - configuration: What the web view is otherwise; its data store becomes this session's.
    ///   - frame: Its frame.
    /// - Throws: ``WebViewError``; nothing has been loaded then.
    public func open(
        _ url: URL,
        configuration: WKWebViewConfiguration = WKWebViewConfiguration(),
        frame: CGRect = .zero
    ) async throws(WebViewError) -> WKWebView {
        configuration.websiteDataStore = dataStore
        // Before anything is asked of the store: without a web view it does not answer.
        let webView = WKWebView(frame: frame, configuration: configuration)
        try await load(url, in: webView)
        return webView
    }

    /// Loads a page in a web view of this session's data store when that has all cookies of the page's site.
    ///
    /// - Throws: ``WebViewError``; nothing has been loaded then.
    public func load(_ url: URL, in webView: WKWebView) async throws(WebViewError) {
        let stops = stops
        let page: HTTPURL
        do {
            page = try HTTPURL(url.absoluteString)
        } catch {
            throw WebViewError(.failed, "\(url) is no page that has cookies: \(error)", underlyingError: error)
        }
        var request = URLRequest(url: url)
        do {
            try await store.handOver(from: jar, for: page)
        } catch {
            if Self.canUseProxy || error.code == .cancelled { throw error }
            let first = FirstLoad(of: page, from: jar)
            if let header = first.cookieHeader { request.setValue(header, forHTTPHeaderField: "Cookie") }
            webView.configuration.userContentController.addUserScript(
                WKUserScript(source: first.script, injectionTime: .atDocumentStart, forMainFrameOnly: false)
            )
        }
        guard stops == self.stops else {
            throw WebViewError(.stopped, "the session was stopped before \(url) was loaded")
        }
        if following == nil { following = store.follow(jar, configuration: configuration) }
        webView.load(request)
    }

    /// Returns when jar and web views have been seen to agree, as before the app is suspended: WebKit writes cookies to
    /// its files when it likes, and those without an expiry never. The jar can be kept on disk (`BeelineStore`).
    public func sync() async throws(WebViewError) { try await following?.sync() }

    /// Ends the following. The web views live on by themselves.
    public func stop() async {
        stops += 1
        await following?.stop()
        following = nil
    }
}
#endif
