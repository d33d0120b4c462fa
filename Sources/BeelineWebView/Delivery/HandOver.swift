// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import Names

/// The result of copying the cookies of a page's site to a store; see
/// ``WebCookieStore/handOver(from:for:within:clock:)``.
public struct HandOver: Hashable, Sendable {
    /// A cookie that the store does not show as it is in the jar.
    public struct Refusal: Hashable, Sendable {
        /// The cookie of the jar.
        public let cookie: Cookie
        /// One line: whether the store refused, altered or did not show the cookie.
        public let reason: String
    }

    /// The number of cookies that the store has received.
    public var count = 0
    /// Cookies that this kind of store cannot hold. They stay in the jar only.
    public var unsupported: [Cookie] = []
    /// Cookies that the store refused, altered or did not show in time. The page is loaded without them.
    public var refused: [Refusal] = []

    /// Creates an empty result.
    package init() {}
}

extension WebCookieStore {
    /// Copies the cookies of a page's site to the store, so that the *first* load of the page is logged in.
    ///
    /// ```swift
    /// try await store.handOver(from: jar, for: url)
    /// webView.load(URLRequest(url: …))
    /// ```
    ///
    /// It copies all cookies of the site (its registrable domain and all subdomains, with any path) and the Partitioned cookies
    /// that other sites have set within its pages. It returns once the store *shows* each of them as it is in the jar:
    /// HttpOnly, Secure, SameSite, expiry and partition. A cookie that the store refuses does not stop the others; the
    /// result lists it. If the site has no cookies, the store is not called. If both sides have a cookie, the jar's replaces
    /// the store's.
    ///
    /// - Parameters:
    ///   - jar: The jar.
    ///   - url: The URL of the page.
    ///   - limit: How long to wait for the store to accept or show the next cookie.
    ///   - clock: The clock for that limit.
    /// - Returns: The number of cookies, and the cookies that the store cannot hold or refused.
    /// - Throws: ``WebViewError`` if the store does not answer or fails.
    @discardableResult
    public func handOver(
        from jar: CookieJar,
        for url: HTTPURL,
        within limit: Duration = .seconds(10),
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws(WebViewError) -> HandOver {
        var report = HandOver()
        var wanted: [(cookie: Cookie, kept: Cookie)] = []
        for cookie in jar.cookies(ofSiteOf: url) {
            if let kept = kept(of: cookie) {
                wanted.append((cookie, kept))
            } else {
                report.unsupported.append(cookie)
            }
        }
        if wanted.isEmpty { return report }
        let failures = try await carryOut(CookieDelivery(set: wanted), within: limit, by: clock)
        report.refused = failures.map { HandOver.Refusal(cookie: $0.cookie, reason: $0.error.message) }
        report.count = wanted.count - failures.count
        return report
    }
}

extension CookieJar {
    /// The cookies that pages of a URL's site may need, oldest first. Set them in this order, because cookies with the same
    /// path length are sent in order of creation.
    func cookies(ofSiteOf url: HTTPURL) -> [Cookie] {
        let site = Site(of: url)
        let cookies = allCookies().filter { cookie in
            if let partition = cookie.partition { return partition == site }
            guard let host = try? Host(cookie.domain) else { return false }
            return Site(isSecure: site.isSecure, host: host) == site
        }
        return cookies.sorted { ($0.created, $0.name) < ($1.created, $1.name) }
    }
}
