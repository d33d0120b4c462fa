// SPDX-License-Identifier: Apache-2.0

import CookieJar
import HTTPDNS
import Names

/// Conversion from and to W3C WebDriver (§14), as implemented by WebKitGTK.
extension Cookie {
    /// Parses a cookie; nil if it is malformed.
    init?(webKit shown: DriverCookie) {
        guard let name = shown.name, let text = shown.text, let domain = shown.domain, let path = shown.path else {
            return nil
        }
        self.init(name, text, domain: domain, path: path)
        setScopeAndFlags(of: shown)
        sameSite = sameSite.inWebKit
        expires = shown.expiry.map { CookieTime(secondsSince1970: $0.rounded(.down)) }
    }

    /// The parameter of the command Add Cookie (§14.3); nil if the cookie is not UTF-8 or is Partitioned, which WebKitGTK does
    /// not support.
    var webKit: JSONValue? {
        guard partition == nil, let name = String(validUTF8: nameOctets),
            let value = String(validUTF8: valueOctets)
        else { return nil }
        var members: [String: JSONValue] = [
            "name": .string(name), "value": .string(value), "path": .string(path), "secure": .bool(isSecure),
            "httpOnly": .bool(isHTTPOnly),
        ]
        // WebKitGTK adds a dot to a given domain. A host-only cookie has none, so that the page's host applies.
        if !isHostOnly { members["domain"] = .string(driverDomain) }
        if let name = sameSite.name { members["sameSite"] = .string(name) }
        if let expires { members["expiry"] = .number(expires.wholeSeconds) }
        return .object(members)
    }
}

extension Cookie.SameSite {
    /// The value in WebKit, which does not distinguish None from an absent attribute and reports None for both.
    var inWebKit: Self { self == .none ? .unspecified : self }
}
