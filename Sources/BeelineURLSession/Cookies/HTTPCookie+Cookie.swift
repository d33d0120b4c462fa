// SPDX-License-Identifier: Apache-2.0

public import CookieJar
import Names

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Cookies for Foundation. `docs/COOKIES-BRIDGE.md` says what becomes of each attribute.
extension HTTPCookie {
    /// The `HTTPCookie` of a cookie; nil for one that Foundation would make into something else: a name or value that is
    /// not UTF-8, a cookie without a name, and a Partitioned one, which Foundation would send to every page.
    public convenience init?(_ cookie: Cookie) {
        guard cookie.hasPlaceInFoundation,
            let name = String(validating: cookie.nameOctets, as: UTF8.self),
            let value = String(validating: cookie.valueOctets, as: UTF8.self),
            let host = try? Host(cookie.domain)
        else { return nil }
        let isWide = !cookie.isHostOnly && host.address == nil
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: name,
            .value: value,
            // Without brackets: this is compared with `URL.host`, which has none.
            .domain: (isWide ? "." : "") + host.text,
            .path: cookie.path,
        ]
        if let expires = cookie.expires {
            properties[.expires] = Date(timeIntervalSince1970: expires.secondsSince1970)
        } else {
            properties[.discard] = "TRUE"
        }
        // Text, and only where it is so: Foundation on Linux takes `true` for no and "FALSE" for yes.
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

    /// The same cookie under another domain, with every other attribute that it has.
    func moved(to domain: String) -> HTTPCookie? {
        var properties = properties ?? [:]
        properties[.domain] = domain
        properties[.originURL] = nil
        // What Foundation on Linux hands out as a number or not at all, and takes back only as text.
        properties[.secure] = isSecure ? "TRUE" : nil
        properties[.httpOnly] = isHTTPOnly ? "TRUE" : nil
        properties[.discard] = isSessionOnly ? "TRUE" : "FALSE"
        properties[.version] = "\(version)"
        properties[.port] = portList?.map(\.stringValue).joined(separator: ",")
        // Seconds from the creation on, and this will be another creation.
        properties[.maximumAge] = nil
        properties[.expires] = expiresDate ?? expiry.map { Date(timeIntervalSince1970: $0.secondsSince1970) }
        return HTTPCookie(properties: properties)
    }
}
