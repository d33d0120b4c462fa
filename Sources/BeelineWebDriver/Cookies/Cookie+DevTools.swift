// SPDX-License-Identifier: Apache-2.0

import CookieJar
import HTTPDNS
import Names

/// Conversion from and to Chromium's DevTools protocol (`Network.Cookie`, `Network.CookieParam`).
extension Cookie {
    /// Parses a cookie; nil if it is malformed or has an opaque partition.
    init?(devTools shown: DriverCookie) {
        guard let name = shown.name, let text = shown.text, let domain = shown.domain, let path = shown.path,
            !shown.hasOpaquePartition
        else { return nil }
        self.init(name, text, domain: domain, path: path)
        setScopeAndFlags(of: shown)
        if let expires = shown.expires, expires > 0 {
            self.expires = CookieTime(secondsSince1970: expires.rounded(.down))
        }
        partition = shown.topLevelSite.flatMap { Site($0) }
    }

    /// The parameter of `Storage.setCookies`; nil if the cookie is not UTF-8, which JSON cannot represent.
    var devTools: JSONValue? {
        guard let name = String(validUTF8: nameOctets),
            let value = String(validUTF8: valueOctets)
        else { return nil }
        var members: [String: JSONValue] = [
            "name": .string(name), "value": .string(value), "path": .string(path),
            "domain": .string(driverDomain),
            "secure": .bool(isSecure), "httpOnly": .bool(isHTTPOnly),
        ]
        if let name = sameSite.name { members["sameSite"] = .string(name) }
        if let expires { members["expires"] = .number(expires.wholeSeconds) }
        if let partition {
            // Chromium's key includes whether the page that set the cookie had an ancestor of another site.
            let own = (try? Host(domain)).map { Site(isSecure: partition.isSecure, host: $0) }
            members["partitionKey"] = [
                "topLevelSite": .string("\(partition)"), "hasCrossSiteAncestor": .bool(own != partition),
            ]
        }
        return .object(members)
    }
}

extension DriverCookie {
    /// Whether the partition ends with its page and cannot be named elsewhere.
    var hasOpaquePartition: Bool { topLevelSite.map { Site($0) == nil } ?? false }
}
