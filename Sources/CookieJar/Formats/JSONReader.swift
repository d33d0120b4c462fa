// SPDX-License-Identifier: Apache-2.0

/// Reads a JSON text in time linear to its size.
struct JSONReader {
    /// How deep arrays and objects may be in each other, so that no input overflows the stack.
    static let maximumDepth = 64

    private let octets: Octets
    private var index = 0

    /// Where reading stopped and why.
    struct Failure: Error, CustomStringConvertible {
        let offset: Int
        let reason: String

        var description: String { "octet \(offset): \(reason)" }
    }

    private init(_ octets: Octets) { self.octets = octets }

    /// The value that `octets` are.
    static func read(_ octets: Octets) throws(Failure) -> JSONValue {
        var reader = JSONReader(octets)
        if octets.count >= 3, octets[0] == 0xef, octets[1] == 0xbb, octets[2] == 0xbf { reader.index = 3 }
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.index == octets.count else { throw reader.failure("more than one value") }
        return value
    }

    private func failure(_ reason: String) -> Failure { Failure(offset: index, reason: reason) }

    private mutating func skipSpace() {
        while index < octets.count, [0x20, 0x09, 0x0a, 0x0d].contains(octets[index]) { index += 1 }
    }

    private mutating func take(_ octet: UInt8) -> Bool {
        skipSpace()
        guard index < octets.count, octets[index] == octet else { return false }
        index += 1
        return true
    }

    private mutating func value(depth: Int) throws(Failure) -> JSONValue {
        guard depth < Self.maximumDepth else { throw failure("more than \(Self.maximumDepth) levels") }
        skipSpace()
        guard index < octets.count else { throw failure("a value is missing") }
        switch octets[index] {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(Failure) -> JSONValue {
        let end = index + word.utf8CodeUnitCount
        guard end <= octets.count,
            octets.part(index..<end).isSame(as: Octets(start: word.utf8Start, count: word.utf8CodeUnitCount))
        else {
            throw failure("no JSON value")
        }
        index = end
        return value
    }

    private mutating func object(depth: Int) throws(Failure) -> JSONValue {
        index += 1
        var members: [JSONValue.Member] = []
        if take(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipSpace()
            guard index < octets.count, octets[index] == UInt8(ascii: "\"") else { throw failure("a name is missing") }
            let name = try string()
            guard take(.colon) else { throw failure("a colon is missing") }
            members.append(JSONValue.Member(name: name, value: try value(depth: depth + 1)))
        } while take(.comma)
        guard take(UInt8(ascii: "}")) else { throw failure("an object does not end") }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(Failure) -> JSONValue {
        index += 1
        var values: [JSONValue] = []
        if take(UInt8(ascii: "]")) { return .array(values) }
        repeat { values.append(try value(depth: depth + 1)) } while take(.comma)
        guard take(UInt8(ascii: "]")) else { throw failure("an array does not end") }
        return .array(values)
    }

    private mutating func number() throws(Failure) -> JSONValue {
        let start = index
        while index < octets.count, octets[index].isDigit || "+-.eE".utf8.contains(octets[index]) { index += 1 }
        let text = String(decoding: octets.part(start..<index), as: UTF8.self)
        guard let number = Double(text), number.isFinite else { throw failure("no JSON value") }
        return .number(number)
    }

    private mutating func string() throws(Failure) -> String {
        index += 1
        var text: [UInt8] = []
        while index < octets.count {
            let octet = octets[index]
            index += 1
            switch octet {
            case UInt8(ascii: "\""):
                guard let string = String(validating: text, as: UTF8.self) else { throw failure("text is not UTF-8") }
                return string
            case UInt8(ascii: "\\"): try escape(into: &text)
            case 0..<0x20: throw failure("a control character in a text")
            default: text.append(octet)
            }
        }
        throw failure("a text does not end")
    }

    private mutating func escape(into text: inout [UInt8]) throws(Failure) {
        guard index < octets.count else { throw failure("a text does not end") }
        let octet = octets[index]
        index += 1
        switch octet {
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(octet)
        case UInt8(ascii: "u"): text += Array(String(try scalar()).utf8)
        default: throw failure("an unknown escape")
        }
    }

    /// The scalar of one `\u` escape or of two that are a surrogate pair; a lone surrogate is replaced.
    private mutating func scalar() throws(Failure) -> Unicode.Scalar {
        let first = try unit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        let next = index
        if UTF16.isLeadSurrogate(first), index + 1 < octets.count, octets[index] == UInt8(ascii: "\\"),
            octets[index + 1] == UInt8(ascii: "u")
        {
            index += 2
            let second = try unit()
            if UTF16.isTrailSurrogate(second) {
                return Unicode.Scalar(0x10000 + (UInt32(first) - 0xd800) << 10 + (UInt32(second) - 0xdc00))
                    ?? "\u{fffd}"
            }
            index = next
        }
        return "\u{fffd}"
    }

    private mutating func unit() throws(Failure) -> UInt16 {
        guard index + 4 <= octets.count,
            let unit = UInt16(String(decoding: octets.part(index..<(index + 4)), as: UTF8.self), radix: 16),
            octets[index] != UInt8(ascii: "+")
        else { throw failure("\\u needs four hexadecimal digits") }
        index += 4
        return unit
    }
}
