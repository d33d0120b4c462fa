// SPDX-License-Identifier: Apache-2.0

public import Names

/// Restricts the cookies that a jar accepts, among those that RFC 6265bis accepts.
public struct CookieAcceptPolicy: Sendable {
    enum Rule: Sendable {
        case all
        case none
        case mainDocumentOnly
        case custom(@Sendable (Cookie, HTTPURL) -> Bool)
    }

    let rule: Rule

    /// Accepts all cookies.
    public static let all = CookieAcceptPolicy(rule: .all)
    /// Accepts no cookies. Cookies that are already in the jar are still sent.
    public static let none = CookieAcceptPolicy(rule: .none)
    /// Accepts cookies from the site of the main document: the context's `topLevelSite` must be the site of the URL, or nil.
    public static let onlyFromMainDocumentSite = CookieAcceptPolicy(rule: .mainDocumentOnly)
    /// Accepts cookies for which the closure returns true. The closure runs while the jar is locked, so it must not use the jar.
    public static func custom(_ accepts: @escaping @Sendable (Cookie, HTTPURL) -> Bool) -> CookieAcceptPolicy {
        CookieAcceptPolicy(rule: .custom(accepts))
    }
}

/// Selects the cookies that a jar sends. The closures run while the jar is locked, so they must not use the jar.
public struct CookieMatchFilter: Sendable {
    let matches: @Sendable (Cookie, HTTPURL) -> Bool
    let widens: Bool

    /// Sends the matching cookies for which the closure returns true.
    public static func narrowing(_ matches: @escaping @Sendable (Cookie, HTTPURL) -> Bool) -> CookieMatchFilter {
        CookieMatchFilter(matches: matches, widens: false)
    }

    /// Sends all cookies of the jar for which the closure returns true, even if they do not match the request under RFC 6265bis.
    /// Only expired cookies are excluded. The closure is then the only protection against sending a cookie to the wrong host.
    public static func widening(_ matches: @escaping @Sendable (Cookie, HTTPURL) -> Bool) -> CookieMatchFilter {
        CookieMatchFilter(matches: matches, widens: true)
    }
}
