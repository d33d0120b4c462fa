// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Decodes the bytes of a server into frames (RFC 6455 §5), strictly. Performs no I/O; memory is bounded.
///
/// A frame's length is checked when its header is complete, before its payload arrives.
package struct WebSocketFrameDecoder {
    /// The maximum payload in bytes; longer payloads are refused.
    let maxPayload: Int
    /// Whether RSV1 may be set: the server accepted permessage-deflate.
    let allowsCompression: Bool
    private var buffer = ByteBuffer()

    package init(maxPayload: Int, allowsCompression: Bool) {
        self.maxPayload = maxPayload
        self.allowsCompression = allowsCompression
    }

    package mutating func feed(_ bytes: ByteBuffer) { buffer.feed(bytes) }

    /// The allocated size of the buffer, in bytes.
    package var capacity: Int { buffer.storageCapacity }

    /// The next frame; nil if more bytes are needed.
    package mutating func next() throws(WebSocketViolation) -> WebSocketFrame? {
        guard let first: UInt8 = buffer.getInteger(at: buffer.readerIndex),
            let second: UInt8 = buffer.getInteger(at: buffer.readerIndex + 1)
        else {
            // An idle socket holds no memory.
            if buffer.readableBytes == 0 { buffer = ByteBuffer() }
            return nil
        }
        guard let opcode = WebSocketFrame.Opcode(rawValue: first & 0x0f) else {
            throw WebSocketViolation("it sent the unknown opcode \(first & 0x0f)")
        }
        let isFinal = first & 0x80 != 0
        let isCompressed = first & 0x40 != 0
        guard first & 0x30 == 0, !isCompressed || (allowsCompression && !opcode.isControl) else {
            throw WebSocketViolation("it set a reserved bit")
        }
        guard second & 0x80 == 0 else { throw WebSocketViolation("it masked a frame, which only clients do") }
        if opcode.isControl {
            guard isFinal else { throw WebSocketViolation("it sent a control frame in fragments") }
            guard second & 0x7f < 126 else {
                throw WebSocketViolation("it sent a control frame of more than 125 bytes")
            }
        }
        // A short message may become longer by its compression, which continuations do not tell. Its limit applies again when
        // it is assembled and decompressed.
        let mayExceed = opcode.isControl || opcode == .continuation || isCompressed
        let limit = mayExceed ? max(maxPayload, 125) : maxPayload
        guard let (length, headerLength) = try length(second & 0x7f, limit: limit) else { return nil }
        guard buffer.readableBytes >= headerLength + length else { return nil }
        buffer.moveReaderIndex(forwardBy: headerLength)
        let payload = buffer.readSlice(length: length) ?? ByteBuffer()
        return WebSocketFrame(opcode: opcode, isFinal: isFinal, isCompressed: isCompressed, payload: payload)
    }

    /// The lengths of the payload and the header; nil if the header is incomplete.
    private func length(_ short: UInt8, limit: Int) throws(WebSocketViolation) -> (payload: Int, header: Int)? {
        let at = buffer.readerIndex + 2
        switch short {
        case 126:
            guard let length: UInt16 = buffer.getInteger(at: at) else { return nil }
            guard length >= 126 else { throw WebSocketViolation("it wrote a length longer than needed") }
            return (try bounded(UInt64(length), limit: limit), 4)
        case 127:
            guard let length: UInt64 = buffer.getInteger(at: at) else { return nil }
            guard length > UInt64(UInt16.max) else { throw WebSocketViolation("it wrote a length longer than needed") }
            return (try bounded(length, limit: limit), 10)
        default:
            return (try bounded(UInt64(short), limit: limit), 2)
        }
    }

    private func bounded(_ length: UInt64, limit: Int) throws(WebSocketViolation) -> Int {
        guard let count = Int(exactly: length), count <= limit else {
            throw WebSocketViolation("it sent a frame of \(length) bytes", code: .messageTooBig)
        }
        return count
    }
}
