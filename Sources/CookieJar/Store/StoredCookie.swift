// SPDX-License-Identifier: Apache-2.0

/// The domain field of a cookie, and the partition that it is kept in.
struct DomainKey: Hashable {
    let domain: String
    let partition: Site?
}

/// A cookie in a store, without its texts and its ``DomainKey``.
struct StoredCookie {
    /// When the first cookie with this name, domain and path was stored.
    let created: CookieTime
    /// The order of storing, for cookies created in the same microsecond.
    let sequence: UInt64
    /// When the cookie was last sent or stored, to the second.
    var accessed: CookieTime
    /// When the cookie expires; nil: with the session.
    let expires: CookieTime?
    let isSecure: Bool
    let isHTTPOnly: Bool
    let isHostOnly: Bool
    /// Whether this session stored it (``CookieJar/clearSession()``).
    let isOfThisSession: Bool
    let sameSite: Cookie.SameSite
    /// Octets of the name.
    let nameCount: UInt16
    /// Octets of `name=value; `.
    let pairCount: UInt16
    /// Octets of the path.
    let pathCount: UInt16

    init(_ cookie: ReceivedCookie, created: CookieTime, sequence: UInt64, now: CookieTime) {
        self.created = created
        self.sequence = sequence
        accessed = (cookie.accessed ?? now).wholeSeconds
        expires = cookie.expires
        isSecure = cookie.isSecure
        isHTTPOnly = cookie.isHTTPOnly
        isHostOnly = cookie.isHostOnly
        isOfThisSession = cookie.isOfThisSession
        sameSite = cookie.sameSite
        nameCount = UInt16(cookie.nameCount)
        pairCount = UInt16(cookie.pair.count)
        pathCount = UInt16(cookie.path.count)
    }

    /// Where the cookie stands in the Cookie header field.
    var order: SendOrder { SendOrder(pathCount: pathCount, created: created, sequence: sequence) }

    /// Whether the cookie has expired at a time.
    func isExpired(at now: CookieTime) -> Bool {
        expires.map { $0 <= now } ?? false
    }
}

/// The order of the Cookie header field (RFC 6265bis §5.8.3 step 4): longer paths first, then earlier cookies.
struct SendOrder: Comparable {
    let pathCount: UInt16
    let created: CookieTime
    let sequence: UInt64

    static func < (left: SendOrder, right: SendOrder) -> Bool {
        if left.pathCount != right.pathCount { return left.pathCount > right.pathCount }
        return left.created == right.created ? left.sequence < right.sequence : left.created < right.created
    }
}

extension CookieTime {
    /// The time without a fraction of a second.
    var wholeSeconds: CookieTime { CookieTime(microseconds: microseconds - microseconds % 1_000_000) }
}
