// SPDX-License-Identifier: Apache-2.0

import CookieJar
import HTTPDNS
import Names

/// Conversion from and to WebDriver BiDi (`network.Cookie`, `storage.PartialCookie`).
extension Cookie {
    /// Parses a cookie; nil if it is malformed.
    init?(biDi shown: DriverCookie) {
        guard let name = Self.biDiName(of: shown), let bytes = shown.value.flatMap(Self.octets(biDi:)),
            let domain = shown.domain, let path = shown.path
        else { return nil }
        self.init(nameOctets: name, valueOctets: bytes, domain: domain, isHostOnly: true, path: path)
        setScopeAndFlags(of: shown)
        expires = shown.expiry.map { CookieTime(secondsSince1970: $0.rounded(.down)) }
    }

    /// The octets of a cookie's name.
    static func biDiName(of shown: DriverCookie) -> [UInt8]? { shown.name.map(octets(byteString:)) }

    private static func octets(biDi value: DriverCookie.Value) -> [UInt8]? {
        switch value {
        case .typed("string", let text): octets(byteString: text)
        case .typed("base64", let text): Base64.decode(text)
        case .typed, .text: nil
        }
    }

    /// Returns the octets of a text. Firefox writes one character per octet; other text is converted to UTF-8.
    private static func octets(byteString text: String) -> [UInt8] {
        let octets = text.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
        return octets.count == text.unicodeScalars.count ? octets : Array(text.utf8)
    }

    /// The parameter of `storage.setCookie`; nil if the name is not UTF-8.
    var biDi: JSONValue? {
        guard let name = String(validUTF8: nameOctets) else { return nil }
        let value: JSONValue =
            if valueOctets.allSatisfy({ $0 < 0x80 }) {
                ["type": "string", "value": .string(self.value)]
            } else {
                ["type": "base64", "value": .string(Base64.encode(valueOctets))]
            }
        var members: [String: JSONValue] = [
            "name": .string(name), "value": value, "path": .string(path),
            "domain": .string(driverDomain),
            "secure": .bool(isSecure), "httpOnly": .bool(isHTTPOnly),
            "sameSite": .string(sameSite.name?.lowercased() ?? "default"),
        ]
        if let expires { members["expiry"] = .number(expires.wholeSeconds) }
        return .object(members)
    }

    /// A filter that matches only this cookie.
    var biDiFilter: JSONValue {
        ["name": .string(name), "path": .string(path), "domain": .string(driverDomain)]
    }
}
