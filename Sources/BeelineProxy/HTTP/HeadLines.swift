// SPDX-License-Identifier: Apache-2.0

/// The bytes of a line of a head, or of a part of it.
typealias Bytes = Slice<UnsafeRawBufferPointer>

/// Parses the lines of a head strictly (RFC 9112 §5).
struct HeadLines {
    private var rest: Bytes

    /// - Parameter head: a head including its empty line, as ``HeadScanner`` found it.
    init(_ head: UnsafeRawBufferPointer) { rest = head[...] }

    /// The next line without its line ending; nil at the empty line.
    mutating func next() -> Bytes? {
        guard let feed = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        var line = rest[..<feed]
        rest = rest[(feed + 1)...]
        if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
        return line.isEmpty ? nil : line
    }

    /// The name and value of a field line; nil if it is malformed: folded, without a name, with a space before the colon, or with
    /// control characters.
    ///
    /// - Parameter allowsBlankBeforeColon: whether to remove spaces before the colon, as a proxy must do in responses (RFC 9112
    ///   §5.1).
    static func field(_ line: Bytes, allowsBlankBeforeColon: Bool = false) -> (name: Bytes, value: Bytes)? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        var name = line[..<colon]
        if allowsBlankBeforeColon {
            while let last = name.last, last == 0x20 || last == 0x09 { name = name.dropLast() }
        }
        guard !name.isEmpty, name.allSatisfy(Characters.isToken) else { return nil }
        let value = trimmed(line[(colon + 1)...])
        guard value.allSatisfy(Characters.isFieldValue) else { return nil }
        return (name, value)
    }

    /// The bytes without leading and trailing white space.
    static func trimmed(_ bytes: Bytes) -> Bytes {
        var bytes = bytes
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes = bytes.dropFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes = bytes.dropLast() }
        return bytes
    }

    /// Whether a name or list element equals `name`, ignoring case. `name` must be in lower case.
    static func `is`(_ bytes: Bytes, _ name: StaticString) -> Bool {
        guard bytes.count == name.utf8CodeUnitCount else { return false }
        let wanted = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        return bytes.elementsEqual(wanted) { Characters.lowercased($0) == $1 }
    }

    /// The elements of a comma-separated list.
    static func elements(_ value: Bytes) -> [Bytes] {
        value.split(separator: UInt8(ascii: ",")).map(trimmed)
    }
}

/// Character classes (RFC 9110 §5.5, §5.6.2).
enum Characters {
    static func isToken(_ byte: UInt8) -> Bool {
        // One bit for each ASCII character.
        let bits: UInt64 = byte < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return byte < 128 && bits >> UInt64(byte & 63) & 1 == 1
    }

    /// Whether a field value may contain the byte: visible characters, space, tab, and non-ASCII.
    static func isFieldValue(_ byte: UInt8) -> Bool { byte >= 0x20 ? byte != 0x7f : byte == 0x09 }

    /// Whether a request target may contain the byte: visible characters and non-ASCII.
    static func isTarget(_ byte: UInt8) -> Bool { byte > 0x20 && byte != 0x7f }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
