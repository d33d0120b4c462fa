// SPDX-License-Identifier: Apache-2.0

public import CookieJar
import Names

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Conversion to Foundation's cookies. <doc:CookiesBridge> describes each attribute.
extension HTTPCookie {
    /// Creates an `HTTPCookie` from a cookie. `nil` for a cookie that Foundation would change: a name or value that is not
    /// UTF-8, an empty name, or a Partitioned cookie, which Foundation would send to every page.
    public convenience init?(_ cookie: Cookie) {
        guard cookie.hasPlaceInFoundation,
            let name = String(validUTF8: cookie.nameOctets),
            let value = String(validUTF8: cookie.valueOctets),
            let host = try? Host(cookie.domain)
        else { return nil }
        let isWide = !cookie.isHostOnly && host.address == nil
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: name,
            .value: value,
            // Without brackets, because Foundation compares it with `URL.host`, which has none.
            .domain: (isWide ? "." : "") + host.text,
            .path: cookie.path,
        ]
        if let expires = cookie.expires {
            properties[.expires] = Date(timeIntervalSince1970: expires.secondsSince1970)
        } else {
            properties[.discard] = "TRUE"
        }
        // Set only if true, and as text: Foundation on Linux reads `true` as false and "FALSE" as true.
        if cookie.isSecure { properties[.secure] = "TRUE" }
        if cookie.isHTTPOnly { properties[.httpOnly] = "TRUE" }
        #if canImport(Darwin)
        switch cookie.sameSite {
        case .lax: properties[.sameSitePolicy] = HTTPCookieStringPolicy.sameSiteLax.rawValue
        case .strict: properties[.sameSitePolicy] = HTTPCookieStringPolicy.sameSiteStrict.rawValue
        case .none, .unspecified: break
        }
        if cookie.created != .distantPast {
            properties[.created] = cookie.created.secondsSince1970 - Date.timeIntervalBetween1970AndReferenceDate
        }
        #endif
        self.init(properties: properties)
    }

    /// Returns the same cookie with another domain and all other attributes.
    func moved(to domain: String) -> HTTPCookie? {
        var properties = properties ?? [:]
        properties[.domain] = domain
        properties[.originURL] = nil
        // Foundation on Linux returns these as numbers or not at all, but accepts only text.
        properties[.secure] = isSecure ? "TRUE" : nil
        properties[.httpOnly] = isHTTPOnly ? "TRUE" : nil
        properties[.discard] = isSessionOnly ? "TRUE" : "FALSE"
        properties[.version] = "\(version)"
        properties[.port] = portList?.map(\.stringValue).joined(separator: ",")
        // `Max-Age` counts from the creation of the object, and this is a new object; use the date instead.
        properties[.maximumAge] = nil
        properties[.expires] = expiresDate ?? expiry.map { Date(timeIntervalSince1970: $0.secondsSince1970) }
        return HTTPCookie(properties: properties)
    }
}
