// SPDX-License-Identifier: Apache-2.0

public import Names

/// The properties of a request, apart from its URL, that SameSite, HttpOnly and Partitioned depend on.
///
/// The default is a request that the program makes for its user: HTTP, same-site, with a safe method.
public struct CookieContext: Hashable, Sendable {
    /// The interface that reads or sets cookies.
    package enum API: Hashable, Sendable {
        /// A request or a response. Includes HttpOnly cookies.
        case http
        /// A script (`document.cookie`). It cannot read or set HttpOnly cookies.
        case dom
    }

    /// The relation between the site of a request and the site of its initiator (RFC 6265bis §5.2).
    package enum SiteContext: Hashable, Sendable {
        /// The request comes from the same site or from the user.
        case same
        /// A top-level navigation from another site. Lax cookies are sent with a safe method.
        case lax
        /// Another request from another site. Only SameSite=None cookies are sent.
        case cross
    }

    /// The interface. Default `.http`.
    package var api: API
    /// The relation to the initiator. Default `.same`.
    package var site: SiteContext
    /// Whether the request's method is safe (RFC 9110 §9.2.1). Matters only if `site` is `.lax`. Default true.
    package var isSafeMethod: Bool
    /// The site of the top-level page, which partitions Partitioned cookies. Nil for the site of the request. Default nil.
    public var topLevelSite: Site?

    /// The context of a request that the program makes for its user.
    public init() { self.init(api: .http) }

    package init(
        api: API = .http,
        site: SiteContext = .same,
        isSafeMethod: Bool = true,
        topLevelSite: Site? = nil
    ) {
        self.api = api
        self.site = site
        self.isSafeMethod = isSafeMethod
        self.topLevelSite = topLevelSite
    }

    /// Makes the context of a request for `url` that a page at `initiator` causes.
    ///
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - initiator: The URL of the page. Its site is the top-level site, unless the response replaces the page; then
    ///     the site of `url` is.
    ///   - isTopLevelNavigation: Whether the response replaces the page.
    ///   - method: The method of the request, in its case-sensitive form.
    public init(request url: HTTPURL, from initiator: HTTPURL, isTopLevelNavigation: Bool, method: String) {
        let (target, page) = (Site(of: url), Site(of: initiator))
        self.init(
            site: target == page ? .same : isTopLevelNavigation ? .lax : .cross,
            isSafeMethod: Self.isSafe(method),
            topLevelSite: isTopLevelNavigation ? target : page
        )
    }

    /// Whether a method is safe (RFC 9110 §9.2.1). Methods are case-sensitive.
    package static func isSafe(_ method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE"].contains(method)
    }

    /// Whether a cookie with this SameSite value may be sent (RFC 6265bis §5.8.3 step 3).
    func sends(_ sameSite: Cookie.SameSite) -> Bool {
        switch (site, sameSite) {
        case (.same, _), (_, .none): true
        case (.lax, .lax), (.lax, .unspecified): api == .http && isSafeMethod
        case (.lax, .strict), (.cross, _): false
        }
    }

    /// Whether a cookie with this SameSite value may be set (RFC 6265bis §5.7 step 18).
    func stores(_ sameSite: Cookie.SameSite) -> Bool {
        sameSite == .none || site == .same || (site == .lax && api == .http)
    }
}
