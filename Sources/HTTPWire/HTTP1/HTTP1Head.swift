// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// The head of a message, as received: start line, field lines and the empty line (RFC 9112 §2.1).
package struct HTTP1Head {
    /// The bytes of the head as the peer sent them.
    package let raw: ByteBuffer
    /// Whether a field line is continued on the next line.
    let isFolded: Bool

    /// The lines that are not part of the message, as offsets in ``raw``; nil without such lines.
    let skipped: Range<Int>?

    package init(raw: ByteBuffer, isFolded: Bool = false, skipped: Range<Int>? = nil) {
        self.raw = raw
        self.isFolded = isFolded
        self.skipped = skipped
    }

    package func withLines<Value>(_ body: (inout HTTP1Lines) throws(HTTP1Error) -> Value) throws(HTTP1Error) -> Value {
        var text = raw
        if let skipped { text = Self.text(raw, without: skipped) }
        if isFolded { text = Self.unfolded(text) }
        return try text.withUnsafeReadableBytes { bytes throws(HTTP1Error) in
            var lines = HTTP1Lines(bytes)
            return try body(&lines)
        }
    }

    private static func text(_ raw: ByteBuffer, without skipped: Range<Int>) -> ByteBuffer {
        let bytes = raw.readableBytesView
        let lower = bytes.index(bytes.startIndex, offsetBy: skipped.lowerBound)
        let upper = bytes.index(bytes.startIndex, offsetBy: skipped.upperBound)
        return ByteBuffer(bytes: bytes[..<lower] + bytes[upper...])
    }

    /// The head with spaces in place of the line ends inside of field values (RFC 9112 §5.2).
    private static func unfolded(_ raw: ByteBuffer) -> ByteBuffer {
        var text = raw
        text.withUnsafeMutableReadableBytes { bytes in
            for index in bytes.indices.dropLast() where bytes[index] == UInt8(ascii: "\n") {
                guard HTTPCharacters.isBlank(bytes[index + 1]) else { continue }
                bytes[index] = UInt8(ascii: " ")
                if index > 0, bytes[index - 1] == UInt8(ascii: "\r") { bytes[index - 1] = UInt8(ascii: " ") }
            }
        }
        return text
    }
}
