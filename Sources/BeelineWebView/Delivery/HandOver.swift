// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import Names

/// What a hand-over did.
public struct HandOver: Hashable, Sendable {
    /// How many cookies the store has now.
    public var count = 0
    /// Cookies that this kind of store cannot hold; they stay in the jar alone.
    public var unsupported: [Cookie] = []

    /// A hand-over of nothing.
    public init() {}
}

extension WebCookieStore {
    /// Puts the cookies of a page's site into the store, so that its *first* load is logged in.
    ///
    /// ```swift
    /// try await store.handOver(from: jar, for: url)
    /// webView.load(URLRequest(url: …))
    /// ```
    ///
    /// These are all cookies of the site (its registrable domain and every host below, whatever the path) and the
    /// Partitioned ones that other sites have set within its pages. It returns when the store *shows* each of them as
    /// the jar has it: HttpOnly, Secure, SameSite, expiry and partition. Where there is none, the store is not even
    /// asked. Of a cookie that both have, the jar's counts.
    ///
    /// - Parameters:
    ///   - jar: Whose cookies.
    ///   - url: The page.
    ///   - limit: How long the store has in all.
    ///   - clock: By which that is measured.
    /// - Returns: How many there were, and those that such a store cannot hold.
    /// - Throws: ``WebViewError`` that names the cookie which the store refused, altered or did not show in time.
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
        report.count = wanted.count
        if wanted.isEmpty { return report }
        try await carryOut(CookieDelivery(set: wanted), within: limit, by: clock)
        return report
    }
}

extension CookieJar {
    /// The cookies that pages of a URL's site may need, the oldest first: the order in which a store is to get them,
    /// since cookies of one path length are sent in the order of their creation.
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
