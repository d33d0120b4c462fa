// SPDX-License-Identifier: Apache-2.0

public import Names

/// Which cookies a jar accepts, of those that RFC 6265bis would.
public struct CookieAcceptPolicy: Sendable {
    enum Rule: Sendable {
        case all
        case none
        case mainDocumentOnly
        case custom(@Sendable (Cookie, HTTPURL) -> Bool)
    }

    let rule: Rule

    /// All.
    public static let all = CookieAcceptPolicy(rule: .all)
    /// None; cookies that are there already are still sent.
    public static let none = CookieAcceptPolicy(rule: .none)
    /// Those of the main document's own site: the context's `topLevelSite` must be the site of the URL, or absent.
    public static let onlyFromMainDocumentSite = CookieAcceptPolicy(rule: .mainDocumentOnly)
    /// Those for which the closure is true. It runs while the jar is locked, so it must not use the jar.
    public static func custom(_ accepts: @escaping @Sendable (Cookie, HTTPURL) -> Bool) -> CookieAcceptPolicy {
        CookieAcceptPolicy(rule: .custom(accepts))
    }
}

/// Which cookies a jar sends. Both closures run while the jar is locked, so they must not use the jar.
public struct CookieMatchFilter: Sendable {
    let matches: @Sendable (Cookie, HTTPURL) -> Bool
    let widens: Bool

    /// Sends those of the matching cookies for which the closure is true.
    public static func narrowing(_ matches: @escaping @Sendable (Cookie, HTTPURL) -> Bool) -> CookieMatchFilter {
        CookieMatchFilter(matches: matches, widens: false)
    }

    /// Sends all cookies of the jar for which the closure is true, whether RFC 6265bis would or not. Only expiry is
    /// still obeyed. This can send a cookie to a host that must not see it: the closure is all the protection there is.
    public static func widening(_ matches: @escaping @Sendable (Cookie, HTTPURL) -> Bool) -> CookieMatchFilter {
        CookieMatchFilter(matches: matches, widens: true)
    }
}
