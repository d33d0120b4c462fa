// SPDX-License-Identifier: Apache-2.0

public import CookieJar
import Names

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Cookies from Foundation. `docs/COOKIES-BRIDGE.md` says what becomes of each attribute.
extension Cookie {
    /// The cookie that an `HTTPCookie` is; nil where its domain is no host.
    ///
    /// A domain with a leading dot is for the hosts below it too, one without is for the host alone. `created` is when
    /// Foundation made the cookie. A `Max-Age` that Foundation on Linux read and did not obey counts from then on.
    public init?(_ cookie: HTTPCookie) {
        let isWide = cookie.domain.hasPrefix(".")
        guard let host = try? Host(isWide ? String(cookie.domain.dropFirst()) : cookie.domain) else { return nil }
        self.init(
            nameOctets: Array(cookie.name.utf8),
            valueOctets: Array(cookie.value.utf8),
            domain: host.urlForm,
            // Foundation has no wide cookies for addresses, whatever the dot says.
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
    /// When this object came to be, or, on Apple's platforms, the cookie. It stands only among the properties.
    var created: CookieTime? {
        (properties?[.created] as? NSNumber)
            .map { CookieTime(secondsSince1970: $0.doubleValue + Date.timeIntervalBetween1970AndReferenceDate) }
    }

    /// When it expires; nil: with the session.
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
    /// What is left of it in an `HTTPCookie`; nil where there is none for it.
    package var inFoundation: Cookie? {
        guard hasPlaceInFoundation, String(validating: valueOctets, as: UTF8.self) != nil else { return nil }
        var cookie = self
        #if canImport(Darwin)
        if sameSite == .none { cookie.sameSite = .unspecified }
        #else
        cookie.sameSite = .unspecified
        #endif
        return cookie
    }

    /// Whether Foundation has a place for a cookie of this name and partition, whatever its value.
    var hasPlaceInFoundation: Bool {
        partition == nil && !nameOctets.isEmpty && String(validating: nameOctets, as: UTF8.self) != nil
    }
}
