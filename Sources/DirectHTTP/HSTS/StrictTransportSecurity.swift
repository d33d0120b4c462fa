// SPDX-License-Identifier: Apache-2.0

import HTTPWire

/// The value of a `Strict-Transport-Security` field (RFC 6797 §6.1).
struct StrictTransportSecurity: Hashable, Sendable {
    /// The maximum number of directives; a field with more is ignored.
    static let maxDirectives = 64

    /// How long the host requires TLS, in seconds. Zero ends the requirement. Larger numbers than fit are clamped.
    var maxAge: Int64
    /// Whether the requirement extends to the host's subdomains.
    var includesSubdomains: Bool

    /// Reads a field value; nil if it does not follow the grammar, because such a field must be ignored (§8.1).
    ///
    /// A directive occurs once at most, and `max-age` is required. Directives with other names are ignored. Spaces
    /// between tokens are allowed.
    init?(fieldValue: some StringProtocol) {
        var reader = FieldReader(fieldValue)
        reader.skip(" \t")
        var names: Set<String> = []
        var maxAge: Int64?
        includesSubdomains = false
        while !reader.rest.isEmpty {
            // Directives may be empty.
            if reader.take(UInt8(ascii: ";")) {
                reader.skip(" \t")
                continue
            }
            guard let (name, value) = Self.directive(&reader), names.count < Self.maxDirectives,
                names.insert(name).inserted
            else { return nil }
            switch name {
            case "max-age":
                guard let seconds = value.flatMap(Self.seconds) else { return nil }
                maxAge = seconds
            case "includesubdomains":
                guard value == nil else { return nil }
                includesSubdomains = true
            default: break
            }
        }
        guard let maxAge else { return nil }
        self.maxAge = maxAge
    }

    /// The next directive, with its name in lower case; nil if it is malformed.
    private static func directive(_ reader: inout FieldReader) -> (name: String, value: String?)? {
        guard let name = reader.token() else { return nil }
        reader.skip(" \t")
        var value: String?
        if reader.take(UInt8(ascii: "=")) {
            reader.skip(" \t")
            value = reader.tokenOrQuotedString()
            guard value != nil else { return nil }
            reader.skip(" \t")
        }
        guard reader.rest.isEmpty || reader.rest.first == UInt8(ascii: ";") else { return nil }
        return (name.lowercased(), value)
    }

    private static func seconds(_ digits: String) -> Int64? {
        guard !digits.isEmpty, digits.utf8.allSatisfy(HTTPCharacters.isDigit) else { return nil }
        // The text has digits only, so `Int64` fails only if the number is too large.
        return Int64(digits) ?? .max
    }
}
