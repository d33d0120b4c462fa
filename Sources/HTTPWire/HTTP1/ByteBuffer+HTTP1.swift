// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import NIOCore

/// Writes the parts of an HTTP/1.1 message (RFC 9112 §3 to §7).
extension ByteBuffer {
    /// Writes a field line.
    ///
    /// - Parameter value: a value without CR and LF.
    package mutating func writeField(_ name: StaticString, value: String) {
        writeStaticString(name)
        writeStaticString(": ")
        writeString(value)
        writeStaticString("\r\n")
    }

    package mutating func writeField(_ field: HTTPField) {
        writeString(field.name.rawName)
        writeStaticString(": ")
        field.withUnsafeBytesOfValue { _ = writeBytes($0) }
        writeStaticString("\r\n")
    }

    /// One chunk with this content; nil if it is empty, because an empty chunk ends the body.
    package static func chunk(of content: ByteBuffer) -> ByteBuffer? {
        guard content.readableBytes > 0 else { return nil }
        var chunk = ByteBuffer()
        chunk.reserveCapacity(content.readableBytes + 16)
        chunk.writeString(String(content.readableBytes, radix: 16))
        chunk.writeStaticString("\r\n")
        chunk.writeImmutableBuffer(content)
        chunk.writeStaticString("\r\n")
        return chunk
    }

    /// The end of a chunked body without trailers.
    package static let lastChunk = ByteBuffer(staticString: "0\r\n\r\n")
}
