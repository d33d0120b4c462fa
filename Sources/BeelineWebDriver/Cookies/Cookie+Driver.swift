// SPDX-License-Identifier: Apache-2.0

import CookieJar
import HTTPDNS

// What all three protocols have in common.

extension Cookie {
    /// The domain as drivers write it: a dot before it stands for the hosts below.
    var driverDomain: String { isHostOnly ? domain : "." + domain }

    /// Takes the domain's dot for what it says, and the attributes that have one name everywhere.
    mutating func takeFlags(ofDriver value: JSONValue) {
        isHostOnly = !domain.hasPrefix(".")
        if !isHostOnly { domain = String(domain.dropFirst()) }
        isSecure = value["secure"]?.bool ?? false
        isHTTPOnly = value["httpOnly"]?.bool ?? false
        sameSite = SameSite(driver: value["sameSite"]?.string)
    }
}

extension CookieTime {
    /// Seconds since 1970, of which drivers take whole ones.
    var wholeSeconds: Int64 { Int64(secondsSince1970.rounded(.down)) }
}

extension Cookie.SameSite {
    /// As WebDriver and DevTools name it; what is not named is unspecified.
    init(driver name: String?) {
        self =
            switch name?.lowercased() {
            case "lax": .lax
            case "strict": .strict
            case "none": .none
            default: .unspecified
            }
    }

    /// The name; nil where there is no attribute.
    var driverName: String? {
        switch self {
        case .unspecified: nil
        case .lax: "Lax"
        case .strict: "Strict"
        case .none: "None"
        }
    }
}
