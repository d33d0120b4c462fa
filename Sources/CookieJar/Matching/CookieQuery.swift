// SPDX-License-Identifier: Apache-2.0

import Names

/// What a request asks of a store: the conditions of RFC 6265bis §5.8.3 step 3.
struct CookieQuery {
    let url: HTTPURL
    let request: CookieRequest
    let path: [UInt8]
    let context: CookieContext
    let now: CookieTime
    /// The user's own condition.
    let filter: CookieMatchFilter?
    /// Whether Secure cookies go with the request.
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

    /// Whether the filter lets the store send any cookie.
    var widens: Bool { filter?.widens == true }

    /// Whether a cookie goes with the request, by all but its path. `isHost` says that its domain is the request's host, not one
    /// above it.
    func matches(_ cookie: StoredCookie, isHost: Bool) -> Bool {
        guard !cookie.isExpired(at: now) else { return false }
        return widens
            || (isHost || !cookie.isHostOnly) && (!cookie.isSecure || isSecure)
                && (!cookie.isHTTPOnly || context.api == .http) && context.sends(cookie.sameSite)
    }
}
