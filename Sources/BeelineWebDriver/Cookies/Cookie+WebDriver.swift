// SPDX-License-Identifier: Apache-2.0

import CookieJar
import HTTPDNS

/// Cookies as W3C WebDriver has them (§14), in WebKitGTK's reading of it.
extension Cookie {
    /// Reads one; nil where it is none.
    init?(webKit value: JSONValue) {
        guard let name = value["name"]?.string, let text = value["value"]?.string,
            let domain = value["domain"]?.string, let path = value["path"]?.string
        else { return nil }
        self.init(name, text, domain: domain, path: path)
        takeFlags(ofDriver: value)
        sameSite = sameSite.inWebKit
        expires = value["expiry"]?.double.map { CookieTime(secondsSince1970: $0.rounded(.down)) }
    }

    /// What the command Add Cookie takes (§14.3); nil where the cookie is not UTF-8, or Partitioned, which WebKitGTK knows
    /// nothing of.
    var webKit: JSONValue? {
        guard partition == nil, let name = String(validating: nameOctets, as: UTF8.self),
            let value = String(validating: valueOctets, as: UTF8.self)
        else { return nil }
        var members: [String: JSONValue] = [
            "name": .string(name), "value": .string(value), "path": .string(path), "secure": .bool(isSecure),
            "httpOnly": .bool(isHTTPOnly),
        ]
        // A domain that is named becomes one with a dot: for a host alone there is none, and the page's host counts.
        if !isHostOnly { members["domain"] = .string(driverDomain) }
        if let name = sameSite.driverName { members["sameSite"] = .string(name) }
        if let expires { members["expiry"] = .number(expires.wholeSeconds) }
        return .object(members)
    }
}

extension Cookie.SameSite {
    /// WebKit makes no difference between None and an absent attribute, and says None for both.
    var inWebKit: Self { self == .none ? .unspecified : self }
}
