// SPDX-License-Identifier: Apache-2.0

/// A JSON text (RFC 8259) as upstreams send them: small, and in shapes that differ from the documented ones, so that it
/// is read without a schema and asked for what is there.
package enum JSONValue: Hashable {
    case null
    case bool(Bool)
    /// The number as it was written.
    case number(String)
    case string(String)
    case array([JSONValue])
    /// Of repeated names the last counts.
    case object([String: JSONValue])

    /// How deep arrays and objects may lie in one another.
    static let maxDepth = 32

    /// Reads a whole text; nil where it is not JSON.
    package init?(_ octets: [UInt8]) {
        var reader = JSONReader(octets: octets)
        guard let value = reader.value(depth: 0), reader.isAtEnd() else { return nil }
        self = value
    }

    /// The value of a name in an object.
    package subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    /// The text of a string.
    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The elements of an array.
    package var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The members of an object.
    package var object: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// A whole number, also one that was sent as text.
    package var integer: Int64? {
        switch self {
        case .number(let digits), .string(let digits): Int64(digits)
        default: nil
        }
    }

    /// The elements of an array, or this value alone.
    var elements: [JSONValue] { array ?? [self] }
}

/// Reads JSON octet by octet.
private struct JSONReader {
    let octets: [UInt8]
    var offset = 0

    init(octets: [UInt8]) {
        self.octets = octets
    }

    private var next: UInt8? { offset < octets.count ? octets[offset] : nil }

    private mutating func skipSpace() {
        while let octet = next, [0x20, 0x09, 0x0a, 0x0d].contains(octet) { offset += 1 }
    }

    mutating func isAtEnd() -> Bool {
        skipSpace()
        return next == nil
    }

    private mutating func take(_ octet: UInt8) -> Bool {
        guard next == octet else { return false }
        offset += 1
        return true
    }

    private mutating func take(_ word: StaticString) -> Bool {
        let word = word.description.utf8
        guard octets[offset...].starts(with: word) else { return false }
        offset += word.count
        return true
    }

    mutating func value(depth: Int) -> JSONValue? {
        guard depth < JSONValue.maxDepth else { return nil }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return object(depth)
        case UInt8(ascii: "["): return array(depth)
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "t"): return take("true") ? .bool(true) : nil
        case UInt8(ascii: "f"): return take("false") ? .bool(false) : nil
        case UInt8(ascii: "n"): return take("null") ? .null : nil
        default: return number()
        }
    }

    private mutating func object(_ depth: Int) -> JSONValue? {
        offset += 1
        var members: [String: JSONValue] = [:]
        skipSpace()
        if take(UInt8(ascii: "}")) { return .object(members) }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\""), let name = string() else { return nil }
            skipSpace()
            guard take(UInt8(ascii: ":")), let value = value(depth: depth + 1) else { return nil }
            members[name] = value
            skipSpace()
            if take(UInt8(ascii: "}")) { return .object(members) }
            guard take(UInt8(ascii: ",")) else { return nil }
        }
    }

    private mutating func array(_ depth: Int) -> JSONValue? {
        offset += 1
        var elements: [JSONValue] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            guard let value = value(depth: depth + 1) else { return nil }
            elements.append(value)
            skipSpace()
            if take(UInt8(ascii: "]")) { return .array(elements) }
            guard take(UInt8(ascii: ",")) else { return nil }
        }
    }

    private mutating func number() -> JSONValue? {
        let start = offset
        _ = take(UInt8(ascii: "-"))
        let first = next
        let whole = digits()
        guard whole > 0, whole == 1 || first != UInt8(ascii: "0") else { return nil }
        if take(UInt8(ascii: ".")), digits() == 0 { return nil }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard digits() > 0 else { return nil }
        }
        return .number(String(decoding: octets[start..<offset], as: UTF8.self))
    }

    private mutating func digits() -> Int {
        let start = offset
        while let octet = next, (0x30...0x39).contains(octet) { offset += 1 }
        return offset - start
    }

    private mutating func string() -> String? {
        offset += 1
        var text: [UInt8] = []
        while let octet = next {
            offset += 1
            switch octet {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return nil }
                text.append(contentsOf: String(scalar).utf8)
            case 0..<0x20: return nil
            default: text.append(octet)
            }
        }
        return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
        guard let octet = next else { return nil }
        offset += 1
        switch octet {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(octet)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            guard let unit = hexadecimal() else { return nil }
            guard (0xd800..<0xdc00).contains(unit) else { return Unicode.Scalar(unit) }
            // The first half of a pair (RFC 8259 §7).
            guard take("\\u"), let low = hexadecimal(), (0xdc00..<0xe000).contains(low) else { return nil }
            return Unicode.Scalar(0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00))
        default: return nil
        }
    }

    private mutating func hexadecimal() -> UInt32? {
        guard offset + 4 <= octets.count else { return nil }
        var value: UInt32 = 0
        for octet in octets[offset..<offset + 4] {
            guard let digit = Character(Unicode.Scalar(octet)).hexDigitValue else { return nil }
            value = value << 4 | UInt32(digit)
        }
        offset += 4
        return value
    }
}
