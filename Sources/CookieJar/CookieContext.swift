// SPDX-License-Identifier: Apache-2.0

public import Names

/// Who asks for cookies or sets them, beside the URL: what SameSite, HttpOnly and Partitioned depend on.
///
/// The default is a request that the user's own program makes: HTTP, same-site, with a safe method.
public struct CookieContext: Hashable, Sendable {
    /// How cookies are reached.
    public enum API: Hashable, Sendable {
        /// A request or a response. HttpOnly cookies are seen.
        case http
        /// A script (`document.cookie`): HttpOnly cookies are neither seen nor set.
        case dom
    }

    /// Where a request comes from, as the site of its initiator sees it (RFC 6265bis §5.2).
    public enum SiteContext: Hashable, Sendable {
        /// From the same site, or from the user.
        case same
        /// From another site, and it is a top-level navigation: Lax cookies go with a safe method.
        case lax
        /// From another site: SameSite=None cookies only.
        case cross
    }

    /// How cookies are reached; default `.http`.
    public var api: API
    /// Where the request comes from; default `.same`.
    public var site: SiteContext
    /// Whether the request's method is safe (RFC 9110 §9.2.1); default true. It matters where `site` is `.lax`.
    public var isSafeMethod: Bool
    /// The site of the page at the top, by which Partitioned cookies are kept apart; default nil: the request's own.
    public var topLevelSite: Site?

    /// A context; each part has its default.
    public init(
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

    /// The context of a request for `url` that a page of `initiator` causes.
    ///
    /// - Parameters:
    ///   - url: The URL asked for.
    ///   - initiator: The URL of the page; its site is that of the page at the top.
    ///   - isTopLevelNavigation: Whether the answer takes the page's place.
    ///   - method: The request's method, as it is written on the wire.
    public init(request url: HTTPURL, from initiator: HTTPURL, isTopLevelNavigation: Bool, method: String) {
        let (target, page) = (Site(of: url), Site(of: initiator))
        self.init(
            site: target == page ? .same : isTopLevelNavigation ? .lax : .cross,
            isSafeMethod: Self.isSafe(method),
            topLevelSite: isTopLevelNavigation ? target : page
        )
    }

    /// Whether a method is safe (RFC 9110 §9.2.1). Methods have a case.
    public static func isSafe(_ method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE"].contains(method)
    }

    /// The SameSite values that may be sent (RFC 6265bis §5.8.3 step 3).
    func sends(_ sameSite: Cookie.SameSite) -> Bool {
        switch (site, sameSite) {
        case (.same, _), (_, .none): true
        case (.lax, .lax), (.lax, .unspecified): api == .http && isSafeMethod
        case (.lax, .strict), (.cross, _): false
        }
    }

    /// Whether a cookie of this SameSite may be set (RFC 6265bis §5.7 step 18).
    func stores(_ sameSite: Cookie.SameSite) -> Bool {
        sameSite == .none || site == .same || (site == .lax && api == .http)
    }
}
