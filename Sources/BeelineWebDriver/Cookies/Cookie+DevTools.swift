// SPDX-License-Identifier: Apache-2.0

import CookieJar
import HTTPDNS
import Names

/// Conversion from and to Chromium's DevTools protocol (`Network.Cookie`, `Network.CookieParam`).
extension Cookie {
    /// Parses a cookie; nil if it is malformed or has an opaque partition.
    init?(devTools value: JSONValue) {
        guard let name = value["name"]?.string, let text = value["value"]?.string,
            let domain = value["domain"]?.string, let path = value["path"]?.string
        else { return nil }
        self.init(name, text, domain: domain, path: path)
        takeFlags(ofDriver: value)
        if value["session"]?.bool != true, let expires = value["expires"]?.double, expires > 0 {
            self.expires = CookieTime(secondsSince1970: expires.rounded(.down))
        }
        if let site = value["partitionKey"]?["topLevelSite"]?.string {
            // An opaque partition ends with its page and cannot be named elsewhere.
            guard let site = Site(site) else { return nil }
            partition = site
        }
    }

    /// The parameter of `Storage.setCookies`; nil if the cookie is not UTF-8, which JSON cannot represent.
    var devTools: JSONValue? {
        guard let name = String(validating: nameOctets, as: UTF8.self),
            let value = String(validating: valueOctets, as: UTF8.self)
        else { return nil }
        var members: [String: JSONValue] = [
            "name": .string(name), "value": .string(value), "path": .string(path),
            "domain": .string(driverDomain),
            "secure": .bool(isSecure), "httpOnly": .bool(isHTTPOnly),
        ]
        if let name = sameSite.driverName { members["sameSite"] = .string(name) }
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
