// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names

/// What a cookie has to be the same in, for two stores to have the same one in one place.
struct CookieContent: Hashable {
    var value: [UInt8]
    var expires: CookieTime?
    var isSecure: Bool
    var isHTTPOnly: Bool
    var sameSite: Cookie.SameSite

    init(_ cookie: Cookie) {
        value = cookie.valueOctets
        expires = cookie.expires
        isSecure = cookie.isSecure
        isHTTPOnly = cookie.isHTTPOnly
        sameSite = cookie.sameSite
    }

    /// What is left of it in a storage of Foundation.
    var inFoundation: CookieContent {
        var content = self
        content.sameSite = sameSite.inFoundation
        return content
    }
}

/// A cookie's place, the same in a jar and in a storage of Foundation.
struct CookiePlace: Hashable {
    let name: String
    let domain: String
    let isHostOnly: Bool
    let path: String

    /// The place of a cookie; nil for one that Foundation has no place for.
    init?(_ cookie: Cookie) {
        guard cookie.partition == nil, !cookie.nameOctets.isEmpty,
            let name = String(validating: cookie.nameOctets, as: UTF8.self)
        else { return nil }
        self.name = name
        domain = cookie.domain
        isHostOnly = cookie.isHostOnly || (try? Host(cookie.domain))?.address != nil
        path = cookie.path
    }

    /// The key under which Foundation on Linux keeps it, the parts joined by nothing: `/b` and `c`, and `/` and `bc`, are
    /// one, so the one that comes last throws the other out.
    var joined: String { (isHostOnly ? "" : ".") + domain + path + name }
}
