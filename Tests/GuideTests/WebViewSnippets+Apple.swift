// SPDX-License-Identifier: Apache-2.0

#if canImport(WebKit)
import Beeline
import BeelineProxy
import BeelineWebView
import Foundation
import Network
import WebKit

// The code of BeelineWebView's guide for WebKit; Scripts/check-apple compiles it on Linux.

@MainActor
func openWebView(_ url: URL, _ jar: CookieJar) async throws {
    let client = try BeelineClient(jar: jar)

    var settings = BeelineProxy.Configuration()
    settings.credentials = .token()  // keeps other apps on the device out
    let proxy = try await BeelineProxy.start(settings, client: client)

    let session = WebViewSession(jar: jar, proxy: proxy)  // keep it
    let webView = try await session.open(url)
    print(webView)
}

@MainActor
func suspendAndResume(_ session: WebViewSession, _ proxy: BeelineProxy) async throws {
    try await session.sync()  // before the app is suspended

    _ = try await proxy.rebind()  // when it comes back
    session.useProxy()
}

@MainActor
func secondUser(_ proxy: BeelineProxy, _ jar: CookieJar) -> WebViewSession {
    WebViewSession(jar: jar, proxy: proxy, dataStore: .nonPersistent())
}

@MainActor
func ownWebView(jar: CookieJar, webView: WKWebView, page: HTTPURL) async throws {
    let store = WebKitCookieStore(webView.configuration.websiteDataStore)
    try await store.handOver(from: jar, for: page)
}
#endif
