// SPDX-License-Identifier: Apache-2.0

/// The bytes of a line of a head, or of a part of it.
package typealias Bytes = UnsafeRawBufferPointer

/// Character classes of HTTP (RFC 9110 §5.5, §5.6.2) and comparisons of bytes.
package enum HTTPCharacters {
    package static func isToken(_ byte: UInt8) -> Bool {
        // One bit for each ASCII character.
        let bits: UInt64 = byte < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return byte < 128 && bits >> UInt64(byte & 63) & 1 == 1
    }

    /// Whether a field value may contain the byte: visible characters, space, tab, and non-ASCII.
    package static func isFieldValue(_ byte: UInt8) -> Bool { byte >= 0x20 ? byte != 0x7f : byte == 0x09 }

    /// Whether a request target may contain the byte: visible characters and non-ASCII.
    package static func isTarget(_ byte: UInt8) -> Bool { byte > 0x20 && byte != 0x7f }

    package static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    package static func isLetterOrDigit(_ byte: UInt8) -> Bool { isDigit(byte) || (0x61...0x7a).contains(byte | 0x20) }

    /// Whether the byte is white space inside of a line.
    package static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    package static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes without leading and trailing white space, which is not part of a field's value (RFC 9110 §5.5).
    package var trimmed: Bytes {
        var (start, end) = (0, count)
        while start < end, HTTPCharacters.isBlank(self[start]) { start += 1 }
        while start < end, HTTPCharacters.isBlank(self[end - 1]) { end -= 1 }
        return Bytes(rebasing: self[start..<end])
    }

    /// Whether the bytes equal an ASCII text, ignoring case.
    ///
    /// - Parameter text: the text in lower case.
    package func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return elementsEqual(wanted) { HTTPCharacters.lowercased($0) == $1 }
    }

    /// The elements of a comma-separated list, without white space around them. Empty elements are left out.
    package var listElements: [Bytes] {
        split(separator: UInt8(ascii: ",")).map { Bytes(rebasing: $0).trimmed }.filter { !$0.isEmpty }
    }

    /// The text of the bytes. Bytes that are not UTF-8 are replaced.
    package var text: String { String(decoding: self, as: UTF8.self) }
}

extension StringProtocol {
    /// The text without leading and trailing white space, which is not part of a field's value (RFC 9110 §5.5).
    package func trimmingBlanks() -> Substring {
        var text = Substring(self)
        while let first = text.utf8.first, HTTPCharacters.isBlank(first) { text = text.dropFirst() }
        while let last = text.utf8.last, HTTPCharacters.isBlank(last) { text = text.dropLast() }
        return text
    }

    /// The elements of a comma-separated list without white space and without empty ones (RFC 9110 §5.6.1).
    package var listElements: [Substring] {
        split(separator: ",").map { $0.trimmingBlanks() }.filter { !$0.isEmpty }
    }
}
