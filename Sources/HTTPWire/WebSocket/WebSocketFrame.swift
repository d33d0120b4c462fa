// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// A frame (RFC 6455 §5.2).
package struct WebSocketFrame: Equatable {
    package enum Opcode: UInt8 {
        case continuation = 0
        case text = 1
        case binary = 2
        case close = 8
        case ping = 9
        case pong = 10

        var isControl: Bool { rawValue >= 8 }
    }

    package var opcode: Opcode
    /// Whether it is the last frame of its message.
    package var isFinal: Bool
    /// RSV1: the message is compressed (RFC 7692 §6).
    package var isCompressed: Bool
    /// The payload, unmasked.
    package var payload: ByteBuffer

    package init(opcode: Opcode, isFinal: Bool = true, isCompressed: Bool = false, payload: ByteBuffer = ByteBuffer()) {
        self.opcode = opcode
        self.isFinal = isFinal
        self.isCompressed = isCompressed
        self.payload = payload
    }

    /// Encodes the frame.
    ///
    /// - Parameter mask: the masking key of a client's frame (RFC 6455 §5.3); nil for an unmasked frame, as a server sends it.
    package func encoded(mask: UInt32?) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.reserveCapacity(payload.readableBytes + 14)
        bytes.writeInteger((isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode.rawValue)
        let masked: UInt8 = mask == nil ? 0 : 0x80
        switch payload.readableBytes {
        case ..<126:
            bytes.writeInteger(masked | UInt8(payload.readableBytes))
        case ..<65_536:
            bytes.writeInteger(masked | 126)
            bytes.writeInteger(UInt16(payload.readableBytes))
        default:
            bytes.writeInteger(masked | 127)
            bytes.writeInteger(UInt64(payload.readableBytes))
        }
        if let mask { bytes.writeInteger(mask) }
        let start = bytes.writerIndex
        bytes.writeImmutableBuffer(payload)
        if let mask { bytes.applyMask(mask, from: start) }
        return bytes
    }
}

extension ByteBuffer {
    /// Masks the bytes from `index` on, eight bytes at a time.
    fileprivate mutating func applyMask(_ mask: UInt32, from index: Int) {
        let offset = index - readerIndex
        withUnsafeMutableReadableBytes { all in
            let bytes = UnsafeMutableRawBufferPointer(rebasing: all[offset...])
            let wide = (UInt64(mask) << 32 | UInt64(mask)).bigEndian
            var at = 0
            while at + 8 <= bytes.count {
                let word = bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                bytes.storeBytes(of: word ^ wide, toByteOffset: at, as: UInt64.self)
                at += 8
            }
            while at < bytes.count {
                bytes[at] ^= UInt8(truncatingIfNeeded: mask >> UInt32(24 - 8 * (at & 3)))
                at += 1
            }
        }
    }
}

/// A violation of RFC 6455 by the peer, with the close code to send.
package struct WebSocketViolation: Error, Equatable {
    /// The close codes of violations (RFC 6455 §7.4.1).
    package enum Code: UInt16 {
        case protocolError = 1002
        case invalidData = 1007
        case messageTooBig = 1009
        case internalError = 1011
    }

    package let code: Code
    package let what: String

    package init(_ what: String, code: Code = .protocolError) {
        self.what = what
        self.code = code
    }
}
