// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What Beeline uses of Apple's WebKit, which is nowhere else: signatures alone, for Scripts/check-apple, as a module of that
// name.

@_exported public import Foundation
@_exported public import FoundationNetworking
public import Network

@MainActor
public protocol WKHTTPCookieStoreObserver: AnyObject {
    func cookiesDidChange(in cookieStore: WKHTTPCookieStore)
}

@MainActor
public final class WKHTTPCookieStore: NSObject {
    public func getAllCookies(_ completionHandler: @escaping @MainActor @Sendable ([HTTPCookie]) -> Void) {}
    public func setCookie(_ cookie: HTTPCookie, completionHandler: (@MainActor @Sendable () -> Void)? = nil) {}
    public func delete(_ cookie: HTTPCookie, completionHandler: (@MainActor @Sendable () -> Void)? = nil) {}
    public func add(_ observer: any WKHTTPCookieStoreObserver) {}
    public func remove(_ observer: any WKHTTPCookieStoreObserver) {}
}

@MainActor
public final class WKWebsiteDataStore: NSObject {
    public static func `default`() -> WKWebsiteDataStore { WKWebsiteDataStore() }
    public static func nonPersistent() -> WKWebsiteDataStore { WKWebsiteDataStore() }
    public var httpCookieStore: WKHTTPCookieStore { WKHTTPCookieStore() }
    public var proxyConfigurations: [Network.ProxyConfiguration] = []
}

public enum WKUserScriptInjectionTime: Int, Sendable {
    case atDocumentStart, atDocumentEnd
}

@MainActor
public final class WKUserScript: NSObject {
    public let source: String
    public init(source: String, injectionTime: WKUserScriptInjectionTime, forMainFrameOnly: Bool) {
        self.source = source
    }
}

@MainActor
public final class WKUserContentController: NSObject {
    public var userScripts: [WKUserScript] { [] }
    public func addUserScript(_ userScript: WKUserScript) {}
    public func removeAllUserScripts() {}
}

@MainActor
public final class WKWebViewConfiguration: NSObject {
    public var websiteDataStore = WKWebsiteDataStore.default()
    public var userContentController = WKUserContentController()
}

@MainActor
public final class WKNavigation: NSObject {}

@MainActor
public final class WKWebView: NSObject {
    public let configuration: WKWebViewConfiguration
    public init(frame: CGRect, configuration: WKWebViewConfiguration) { self.configuration = configuration }
    @discardableResult
    public func load(_ request: URLRequest) -> WKNavigation? { nil }
}
