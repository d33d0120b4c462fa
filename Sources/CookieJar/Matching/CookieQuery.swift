// SPDX-License-Identifier: Apache-2.0

import Names

/// The conditions of a request for cookies (RFC 6265bis §5.8.3 step 3).
struct CookieQuery {
    let url: HTTPURL
    let request: CookieRequest
    let path: [UInt8]
    let context: CookieContext
    let now: CookieTime
    /// The filter of the jar's configuration.
    let filter: CookieMatchFilter?
    /// Whether Secure cookies match.
    let isSecure: Bool

    init(
        _ url: HTTPURL,
        context: CookieContext,
        now: CookieTime,
        filter: CookieMatchFilter?,
        isOnAnyConnection: Bool = false
    ) {
        self.url = url
        request = CookieRequest(url)
        path = PathMatch.path(of: url)
        self.context = context
        self.now = now
        self.filter = filter
        isSecure = request.isSecure || isOnAnyConnection
    }

    /// Whether the filter can send cookies that do not match the request.
    var widens: Bool { filter?.widens == true }

    /// Whether a cookie matches the request, except for its path. `isHost` is true if the cookie's domain is the request's host,
    /// and false if it is a parent domain.
    func matches(_ cookie: StoredCookie, isHost: Bool) -> Bool {
        guard !cookie.isExpired(at: now) else { return false }
        return widens
            || (isHost || !cookie.isHostOnly) && (!cookie.isSecure || isSecure)
                && (!cookie.isHTTPOnly || context.api == .http) && context.sends(cookie.sameSite)
    }
}
