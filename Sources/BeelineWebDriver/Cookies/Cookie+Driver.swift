// SPDX-License-Identifier: Apache-2.0

import CookieJar

// Conversions that all three protocols share.

extension Cookie {
    /// The domain in the form of the drivers: a leading dot includes subdomains.
    var driverDomain: String { isHostOnly ? domain : "." + domain }

    /// Sets the domain and the host-only flag: a leading dot includes subdomains.
    mutating func setScope(ofDriver domain: String) {
        isHostOnly = !domain.hasPrefix(".")
        self.domain = isHostOnly ? domain : String(domain.dropFirst())
    }

    /// Sets the scope, and the attributes with common names.
    mutating func setScopeAndFlags(of shown: DriverCookie) {
        setScope(ofDriver: domain)
        isSecure = shown.isSecure
        isHTTPOnly = shown.isHTTPOnly
        sameSite = SameSite(driver: shown.sameSite)
    }
}

extension CookieTime {
    /// Seconds since 1970, rounded down. Drivers accept only integers.
    var wholeSeconds: Int64 { Int64(secondsSince1970.rounded(.down)) }
}

extension Cookie.SameSite {
    /// Parses the name in WebDriver and DevTools; other names are unspecified.
    init(driver name: String?) {
        self =
            switch name?.lowercased() {
            case "lax": .lax
            case "strict": .strict
            case "none": .none
            default: .unspecified
            }
    }
}
