// SPDX-License-Identifier: Apache-2.0

#if canImport(WebKit)
import BeelineURLSession
import CookieJar
import Dispatch
import Foundation
import WebKit

/// `WKHTTPCookieStore` as a ``CompletionStore``: calls on the main thread, and nothing else.
struct WebKitCookies: CompletionStore {
    private let store: WKHTTPCookieStore
    /// The cookie store does not keep its data store, and answers nothing without it.
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
        // WebKit does not retain it: this does.
        return { onMain { store.remove(observer) } }
    }

    /// In the order of the calls.
    private func onMain(_ body: @escaping @MainActor @Sendable () -> Void) {
        DispatchQueue.main.async { MainActor.assumeIsolated { body() } }
    }
}

/// Hears that some cookie has changed.
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
