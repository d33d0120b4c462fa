// SPDX-License-Identifier: Apache-2.0

/// The bytes of a head's line or of a part of it.
typealias Bytes = Slice<UnsafeRawBufferPointer>

/// The lines of a head, read as RFC 9112 §5 has them and not otherwise.
struct HeadLines {
    private var rest: Bytes

    /// - Parameter head: a head up to and with its empty line, as ``HeadScanner`` found it.
    init(_ head: UnsafeRawBufferPointer) { rest = head[...] }

    /// The next line without its end; nil at the empty one.
    mutating func next() -> Bytes? {
        guard let feed = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        var line = rest[..<feed]
        rest = rest[(feed + 1)...]
        if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
        return line.isEmpty ? nil : line
    }

    /// A field line's name and value; nil where it is none: folded, without a name, a blank before the colon, control
    /// characters.
    ///
    /// - Parameter allowsBlankBeforeColon: leaves blanks before the colon out, as a proxy must in responses (RFC 9112 §5.1).
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

    /// Without blanks on both sides.
    static func trimmed(_ bytes: Bytes) -> Bytes {
        var bytes = bytes
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes = bytes.dropFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes = bytes.dropLast() }
        return bytes
    }

    /// Whether a name or an element of a list is this one, which is written in small letters.
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

/// Classes of characters (RFC 9110 §5.5, §5.6.2).
enum Characters {
    static func isToken(_ byte: UInt8) -> Bool {
        // A bit for each character below 128.
        let bits: UInt64 = byte < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return byte < 128 && bits >> UInt64(byte & 63) & 1 == 1
    }

    /// What a value may have: everything that is visible, blanks, and what is not ASCII.
    static func isFieldValue(_ byte: UInt8) -> Bool { byte >= 0x20 ? byte != 0x7f : byte == 0x09 }

    /// What a target may have: everything that is visible, and what is not ASCII.
    static func isTarget(_ byte: UInt8) -> Bool { byte > 0x20 && byte != 0x7f }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
