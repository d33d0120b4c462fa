// SPDX-License-Identifier: Apache-2.0

/// The domain field and the partition of a cookie.
struct DomainKey: Hashable {
    let domain: String
    let partition: Site?

    /// Whether a jar keeps cookies of such a domain and partition.
    var fitsJar: Bool {
        max(domain.utf8.count, partition?.domain.utf8.count ?? 0) <= Cookie.maxDomainOctets
    }
}

/// A cookie in a store, without its texts and its ``DomainKey``.
struct StoredCookie {
    /// When the first cookie with this name, domain and path was stored.
    let created: CookieTime
    /// The storage order, for cookies created in the same microsecond.
    let sequence: UInt64
    /// When the cookie was last sent or stored, in whole seconds.
    var accessed: CookieTime
    /// When the cookie expires. Nil for a session cookie.
    let expires: CookieTime?
    let isSecure: Bool
    let isHTTPOnly: Bool
    let isHostOnly: Bool
    /// Whether this session stored it (``CookieJar/clearSession()``).
    let isOfThisSession: Bool
    let sameSite: Cookie.SameSite
    /// The length of the name in octets.
    let nameCount: UInt16
    /// The length of `name=value; ` in octets.
    let pairCount: UInt16
    /// The length of the path in octets.
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

    /// The position of the cookie in the Cookie header field.
    var order: SendOrder { SendOrder(pathCount: pathCount, created: created, sequence: sequence) }

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
