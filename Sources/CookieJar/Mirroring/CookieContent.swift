// SPDX-License-Identifier: Apache-2.0

import Names

/// What a cookie has to be the same in, for two stores to have the same one in one place.
package struct CookieContent: Hashable, Sendable {
    package var value: [UInt8]
    package var expires: CookieTime?
    package var isSecure: Bool
    package var isHTTPOnly: Bool
    /// Never unspecified: that is enforced as Lax (RFC 6265bis §5.6.7), and some stores show it so.
    package var sameSite: Cookie.SameSite

    package init(_ cookie: Cookie) {
        value = cookie.valueOctets
        expires = cookie.expires
        isSecure = cookie.isSecure
        isHTTPOnly = cookie.isHTTPOnly
        sameSite = cookie.sameSite == .unspecified ? .lax : cookie.sameSite
    }
}

/// A cookie's place, the same in every store: it has one cookie for each.
package struct CookiePlace: Hashable, Sendable {
    package let name: [UInt8]
    package let domain: String
    package let isHostOnly: Bool
    package let path: String
    package let partition: Site?

    /// The place of a cookie. That of an address is the address's alone: other stores know no wide cookies for
    /// addresses.
    package init(_ cookie: Cookie) {
        name = cookie.nameOctets
        domain = cookie.domain
        isHostOnly = cookie.isHostOnly || (try? Host(cookie.domain))?.address != nil
        path = cookie.path
        partition = cookie.partition
    }
}
