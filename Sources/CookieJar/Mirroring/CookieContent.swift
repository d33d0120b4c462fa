// SPDX-License-Identifier: Apache-2.0

import Names

/// The parts of a cookie that must be equal for two stores to hold the same cookie in one place.
package struct CookieContent: Hashable, Sendable {
    package var value: [UInt8]
    package var expires: CookieTime?
    package var isSecure: Bool
    package var isHTTPOnly: Bool
    /// Never unspecified. Unspecified is stored as Lax, because it is enforced as Lax (RFC 6265bis §5.6.7) and some stores report
    /// it as Lax.
    package var sameSite: Cookie.SameSite

    package init(_ cookie: Cookie) {
        value = cookie.valueOctets
        expires = cookie.expires
        isSecure = cookie.isSecure
        isHTTPOnly = cookie.isHTTPOnly
        sameSite = cookie.sameSite == .unspecified ? .lax : cookie.sameSite
    }
}

/// The place of a cookie. Each store has at most one cookie in each place.
package struct CookiePlace: Hashable, Sendable {
    package let name: [UInt8]
    package let domain: String
    package let isHostOnly: Bool
    package let path: String
    package let partition: Site?

    /// The place of a cookie. For an address it is always host-only, because other stores have no wide cookies for addresses.
    package init(_ cookie: Cookie) {
        name = cookie.nameOctets
        domain = cookie.domain
        isHostOnly = cookie.isHostOnly || (try? Host(cookie.domain))?.address != nil
        path = cookie.path
        partition = cookie.partition
    }
}
