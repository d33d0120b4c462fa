// SPDX-License-Identifier: Apache-2.0

/// Reads the parts of a field's value: tokens, quoted strings and the characters between them (RFC 9110 §5.6).
package struct FieldReader {
    /// The octets that were not read yet.
    package var rest: ArraySlice<UInt8>

    package init(_ value: some StringProtocol) { rest = Array(value.utf8)[...] }

    /// Skips all octets of a set. Returns whether there were any.
    @discardableResult
    package mutating func skip(_ set: StaticString) -> Bool {
        let before = rest.count
        set.withUTF8Buffer { octets in rest = rest.drop { octets.contains($0) } }
        return rest.count < before
    }

    /// Takes one octet. Returns false if it is not next.
    package mutating func take(_ octet: UInt8) -> Bool {
        guard rest.first == octet else { return false }
        rest.removeFirst()
        return true
    }

    /// Takes a token; nil if none is next.
    package mutating func token() -> String? {
        let token = rest.prefix(while: HTTPCharacters.isToken)
        guard !token.isEmpty else { return nil }
        rest = rest.dropFirst(token.count)
        return String(decoding: token, as: UTF8.self)
    }

    /// Takes a token, or a quoted string without its quotes and escapes; nil if neither is next.
    package mutating func tokenOrQuotedString() -> String? {
        guard take(UInt8(ascii: "\"")) else { return token() }
        var text: [UInt8] = []
        while let octet = rest.popFirst() {
            switch octet {
            case UInt8(ascii: "\""):
                return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { return nil }
                text.append(escaped)
            default:
                text.append(octet)
            }
        }
        return nil
    }
}
