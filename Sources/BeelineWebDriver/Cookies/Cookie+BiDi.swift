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
        // Firefox replaces octets that are not UTF-8, so the octets of this cookie are unknown.
        case .typed("string", let text): text.unicodeScalars.contains("\u{FFFD}") ? nil : Array(text.utf8)
        case .typed("base64", let text): Base64.decode(text)
        case .typed, .text: nil
        }
    }

    /// Returns the octets of a name. Firefox writes one character per octet; other text is converted to UTF-8.
    private static func octets(byteString text: String) -> [UInt8] {
        let octets = text.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
        return octets.count == text.unicodeScalars.count ? octets : Array(text.utf8)
    }

    /// The name with one character per octet, as Firefox reads and writes names.
    private var byteString: String { String(String.UnicodeScalarView(nameOctets.map { Unicode.Scalar($0) })) }

    /// The parameter of `storage.setCookie`; nil if Firefox cannot get the value this way.
    ///
    /// Firefox stores each octet of a value that it gets as the UTF-8 of the character with this number. So it can get text
    /// with characters up to U+00FF.
    var biDi: JSONValue? {
        guard let text = String(validUTF8: valueOctets) else { return nil }
        let octets = text.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
        guard octets.count == text.unicodeScalars.count else { return nil }
        let value: JSONValue =
            if octets.allSatisfy({ $0 < 0x80 }) {
                ["type": "string", "value": .string(text)]
            } else {
                ["type": "base64", "value": .string(Base64.encode(octets))]
            }
        var members: [String: JSONValue] = [
            "name": .string(byteString), "value": value, "path": .string(path),
            "domain": .string(driverDomain),
            "secure": .bool(isSecure), "httpOnly": .bool(isHTTPOnly),
            "sameSite": .string(sameSite.name?.lowercased() ?? "default"),
        ]
        if let expires { members["expiry"] = .number(expires.wholeSeconds) }
        return .object(members)
    }

    /// A filter that matches only this cookie.
    var biDiFilter: JSONValue {
        ["name": .string(byteString), "path": .string(path), "domain": .string(driverDomain)]
    }
}
