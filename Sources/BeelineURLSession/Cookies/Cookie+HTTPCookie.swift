// SPDX-License-Identifier: Apache-2.0

public import CookieJar
import Names

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Conversion from Foundation's cookies. <doc:CookiesBridge> describes each attribute.
extension Cookie {
    /// Creates a cookie from an `HTTPCookie`; `nil` if its domain is not a valid host.
    ///
    /// A domain with a leading dot also covers subdomains; without it, the cookie is host-only. `created` is when Foundation
    /// created the cookie. Foundation on Linux parses `Max-Age` without applying it; it then counts from `created`.
    public init?(_ cookie: HTTPCookie) {
        let isWide = cookie.domain.hasPrefix(".")
        guard let host = try? Host(isWide ? String(cookie.domain.dropFirst()) : cookie.domain) else { return nil }
        self.init(
            nameOctets: Array(cookie.name.utf8),
            valueOctets: Array(cookie.value.utf8),
            domain: host.urlForm,
            // Foundation treats a cookie of an address as host-only, even with a leading dot.
            isHostOnly: !isWide || host.address != nil,
            path: cookie.path.hasPrefix("/") ? cookie.path : "/",
            expires: cookie.expiry,
            created: cookie.created ?? .distantPast,
            isSecure: cookie.isSecure,
            isHTTPOnly: cookie.isHTTPOnly,
            sameSite: cookie.sameSite
        )
    }
}

extension HTTPCookie {
    /// When the cookie was created; on Linux, when this object was created. Only the properties have this date.
    var created: CookieTime? {
        (properties?[.created] as? NSNumber)
            .map { CookieTime(secondsSince1970: $0.doubleValue + Date.timeIntervalBetween1970AndReferenceDate) }
    }

    /// When the cookie expires; `nil` for a session cookie.
    var expiry: CookieTime? {
        if isSessionOnly { return nil }
        if let expiresDate { return CookieTime(secondsSince1970: expiresDate.timeIntervalSince1970) }
        guard let age = (properties?[.maximumAge] as? String).flatMap(Double.init), let created else { return nil }
        return CookieTime(secondsSince1970: created.secondsSince1970 + age)
    }

    fileprivate var sameSite: Cookie.SameSite {
        #if canImport(Darwin)
        switch sameSitePolicy {
        case .sameSiteLax: return .lax
        case .sameSiteStrict: return .strict
        default: return .unspecified
        }
        #else
        return .unspecified
        #endif
    }
}

extension HTTPCookiePropertyKey {
    static let created = HTTPCookiePropertyKey(rawValue: "Created")
    static let httpOnly = HTTPCookiePropertyKey(rawValue: "HttpOnly")
}

extension Cookie {
    /// The cookie with only the attributes that an `HTTPCookie` keeps; `nil` if `HTTPCookie` cannot represent it.
    package var inFoundation: Cookie? {
        guard hasPlaceInFoundation, String(validUTF8: valueOctets) != nil else { return nil }
        var cookie = self
        #if canImport(Darwin)
        if sameSite == .none { cookie.sameSite = .unspecified }
        #else
        cookie.sameSite = .unspecified
        #endif
        return cookie
    }

    /// Whether Foundation can store a cookie with this name and partition, whatever its value.
    var hasPlaceInFoundation: Bool {
        partition == nil && !nameOctets.isEmpty && String(validUTF8: nameOctets) != nil
    }
}
