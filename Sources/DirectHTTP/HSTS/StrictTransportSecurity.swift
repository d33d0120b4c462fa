// SPDX-License-Identifier: Apache-2.0

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
        var reader = DirectiveReader(fieldValue.utf8)
        var names: Set<String> = []
        var maxAge: Int64?
        includesSubdomains = false
        while !reader.isAtEnd {
            guard !reader.takeSeparator() else { continue }
            guard let (name, value) = reader.directive(), names.count < Self.maxDirectives,
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

    private static func seconds(_ digits: [UInt8]) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        // The text has digits only, so `Int64` fails only if the number is too large.
        return Int64(String(decoding: digits, as: UTF8.self)) ?? .max
    }
}

/// Reads directives: a token, and after `=` a token or a quoted string (RFC 9110 §5.6).
private struct DirectiveReader {
    private var rest: ArraySlice<UInt8>

    init(_ octets: some Sequence<UInt8>) {
        rest = Array(octets)[...]
        skipBlanks()
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// Takes a semicolon; false if there is none. Directives may be empty.
    mutating func takeSeparator() -> Bool {
        guard rest.first == UInt8(ascii: ";") else { return false }
        rest.removeFirst()
        skipBlanks()
        return true
    }

    /// The next directive, with its name in lower case; nil if it is malformed.
    mutating func directive() -> (name: String, value: [UInt8]?)? {
        guard let name = token() else { return nil }
        var value: [UInt8]?
        if rest.first == UInt8(ascii: "=") {
            rest.removeFirst()
            skipBlanks()
            value = rest.first == UInt8(ascii: "\"") ? quoted() : token()
            guard value != nil else { return nil }
        }
        guard rest.isEmpty || rest.first == UInt8(ascii: ";") else { return nil }
        return (String(decoding: name, as: UTF8.self).lowercased(), value)
    }

    private mutating func token() -> [UInt8]? {
        let token = rest.prefix { octet in
            switch octet {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
            default: "!#$%&'*+-.^_`|~".utf8.contains(octet)
            }
        }
        rest = rest.dropFirst(token.count)
        skipBlanks()
        return token.isEmpty ? nil : Array(token)
    }

    private mutating func quoted() -> [UInt8]? {
        rest.removeFirst()
        var value: [UInt8] = []
        while let octet = rest.popFirst() {
            switch octet {
            case UInt8(ascii: "\""):
                skipBlanks()
                return value
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { return nil }
                value.append(escaped)
            default: value.append(octet)
            }
        }
        return nil
    }

    private mutating func skipBlanks() {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }
}
