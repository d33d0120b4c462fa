// SPDX-License-Identifier: Apache-2.0

#if canImport(WebKit)
import BeelineURLSession
import CookieJar
import Dispatch
import Foundation
import WebKit

/// Adapts `WKHTTPCookieStore` to ``CompletionStore``. It only forwards calls to the main thread.
struct WebKitCookies: CompletionStore {
    private let store: WKHTTPCookieStore
    /// Retained here, because the cookie store does not retain its data store and does not answer without it.
    private let dataStore: WKWebsiteDataStore

    @MainActor
    init(_ dataStore: WKWebsiteDataStore) {
        self.dataStore = dataStore
        store = dataStore.httpCookieStore
    }

    func cookie(_ object: HTTPCookie) -> Cookie? { Cookie(object)?.inWholeSeconds }
    func object(_ cookie: Cookie) -> HTTPCookie? { HTTPCookie(cookie.inWholeSeconds) }
    func kept(of cookie: Cookie) -> Cookie? { cookie.inFoundation?.inWholeSeconds }

    func getAll(_ completion: @escaping @Sendable ([HTTPCookie]) -> Void) {
        onMain { store.getAllCookies { completion($0) } }
    }

    func set(_ object: HTTPCookie, _ completion: @escaping @Sendable () -> Void) {
        onMain { store.setCookie(object) { completion() } }
    }

    func delete(_ object: HTTPCookie, _ completion: @escaping @Sendable () -> Void) {
        onMain { store.delete(object) { completion() } }
    }

    func observe(_ changed: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let observer = WebKitObserver(changed)
        onMain { store.add(observer) }
        // WebKit does not retain observers; this closure does.
        return { onMain { store.remove(observer) } }
    }

    /// Runs closures on the main thread, in the order of the calls.
    private func onMain(_ body: @escaping @MainActor @Sendable () -> Void) {
        DispatchQueue.main.async { MainActor.assumeIsolated { body() } }
    }
}

/// Receives WebKit's notification that cookies have changed.
@MainActor
private final class WebKitObserver: NSObject, WKHTTPCookieStoreObserver {
    private let changed: @Sendable () -> Void

    nonisolated init(_ changed: @escaping @Sendable () -> Void) {
        self.changed = changed
        super.init()
    }

    func cookiesDidChange(in cookieStore: WKHTTPCookieStore) { changed() }
}
#endif
