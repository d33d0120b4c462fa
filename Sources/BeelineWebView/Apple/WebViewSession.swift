// SPDX-License-Identifier: Apache-2.0

#if canImport(WebKit)
public import BeelineProxy
public import CookieJar
public import Foundation
import Names
public import WebKit

/// The web views of one user: one data store, the user's cookie jar, and the proxy in this app.
///
/// ```swift
/// let session = WebViewSession(jar: jar, proxy: proxy)
/// let webView = try await session.open(url)       // logged in on the first load, on the right address
/// …
/// await session.stop()
/// ```
///
/// While the session exists, a login or logout in a page reaches the jar, and a change of the jar reaches the pages. Keep the
/// session as long as its web views exist. To separate users, give each a session with its own data store and jar.
@MainActor
public final class WebViewSession {
    /// The data store of the web views.
    public let dataStore: WKWebsiteDataStore
    /// The cookies of the data store.
    public let store: WebKitCookieStore
    /// The user's cookie jar.
    public let jar: CookieJar
    /// The proxy of the web views; `nil` if there is none.
    public let proxy: BeelineProxy?
    private let configuration: WebCookieFollowing.Configuration
    private var following: WebCookieFollowing?
    /// The number of ``stop()`` calls. A load that started before a stop must not follow cookies after it.
    private var stops = 0

    /// Creates a session. It syncs cookies from the first ``open(_:configuration:frame:)`` on.
    ///
    /// - Parameters:
    ///   - jar: The user's cookie jar.
    ///   - proxy: The proxy in this app; `nil` lets web views connect directly.
    ///   - dataStore: The data store of the web views. Default: `default()`, which the whole app shares.
    ///   - configuration: How cookies are kept in sync.
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

    /// Whether web views of this system support a proxy: from iOS 17 and macOS 14 on.
    public nonisolated static var canUseProxy: Bool {
        if #available(macOS 14, iOS 17, visionOS 1, *) { true } else { false }
    }

    /// Sets the proxy of the data store. Call it again if `rebind()` has changed the proxy's port.
    public func useProxy() {
        #if canImport(Network)
        if #available(macOS 14, iOS 17, visionOS 1, *) { dataStore.use(proxy) }
        #endif
    }

    /// Creates a web view and loads a page in it once its store has all cookies of the page's site.
    ///
    /// Cookies that the store refuses are left out. On a system before iOS 17 and macOS 14, the page is then loaded with
    /// ``FirstLoad``.
    ///
    /// - Parameters:
    ///   - url: The URL of the page.
    ///   - configuration: The configuration of the web view. Its data store is replaced by this session's.
    ///   - frame: The frame of the web view.
    /// - Throws: ``WebViewError``; no page has been loaded then.
    public func open(
        _ url: URL,
        configuration: WKWebViewConfiguration = WKWebViewConfiguration(),
        frame: CGRect = .zero
    ) async throws(WebViewError) -> WKWebView {
        configuration.websiteDataStore = dataStore
        // Created first, because the store does not answer without a web view.
        let webView = WKWebView(frame: frame, configuration: configuration)
        try await load(url, in: webView)
        return webView
    }

    /// Loads a page in a web view of this session's data store once the store has all cookies of the page's site, as
    /// ``open(_:configuration:frame:)`` does.
    ///
    /// - Returns: The cookies that the store refused or cannot hold.
    /// - Throws: ``WebViewError``; no page has been loaded then.
    @discardableResult
    public func load(_ url: URL, in webView: WKWebView) async throws(WebViewError) -> HandOver {
        let stops = stops
        let page: HTTPURL
        do {
            page = try HTTPURL(url.absoluteString)
        } catch {
            throw WebViewError(.failed, "\(url) is not a page with cookies: \(error)", underlyingError: error)
        }
        var report: HandOver?
        do {
            report = try await store.handOver(from: jar, for: page)
        } catch {
            if Self.canUseProxy || error.code == .cancelled { throw error }
        }
        guard stops == self.stops else {
            throw WebViewError(.stopped, "the session was stopped before \(url) was loaded")
        }
        var request = URLRequest(url: url)
        webView.configuration.userContentController.removeFirstLoad()
        if !Self.canUseProxy, report?.refused.isEmpty != true {
            let first = FirstLoad(of: page, from: jar)
            if let header = first.cookieHeader { request.setValue(header, forHTTPHeaderField: "Cookie") }
            webView.configuration.userContentController.addUserScript(
                WKUserScript(source: first.script, injectionTime: .atDocumentStart, forMainFrameOnly: false)
            )
        }
        if following == nil { following = store.follow(jar, configuration: configuration) }
        webView.load(request)
        return report ?? HandOver()
    }

    /// Waits until the jar and the web views have the same cookies. Call it before the app is suspended: WebKit writes cookies
    /// to disk at times of its own choice, and never writes session cookies. The jar can be kept on disk (`BeelineStore`).
    public func sync() async throws(WebViewError) { try await following?.sync() }

    /// Stops the sync of cookies. The web views continue to work.
    public func stop() async {
        stops += 1
        // A load that starts during the stop must follow cookies again.
        let old = following
        following = nil
        await old?.stop()
    }
}

extension WKUserContentController {
    /// Removes the script of an earlier first load, which would set its old cookies in every later page.
    fileprivate func removeFirstLoad() {
        let scripts = userScripts
        guard scripts.contains(where: { FirstLoad.isScript($0.source) }) else { return }
        // A single script cannot be removed.
        removeAllUserScripts()
        for script in scripts where !FirstLoad.isScript(script.source) { addUserScript(script) }
    }
}
#endif
