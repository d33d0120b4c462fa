// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// A frame (RFC 6455 §5.2).
struct WebSocketFrame: Equatable {
    enum Opcode: UInt8 {
        case continuation = 0
        case text = 1
        case binary = 2
        case close = 8
        case ping = 9
        case pong = 10

        var isControl: Bool { rawValue >= 8 }
    }

    var opcode: Opcode
    /// Whether it is the last frame of its message.
    var isFinal = true
    /// RSV1: the message is compressed (RFC 7692 §6).
    var isCompressed = false
    /// The payload, unmasked.
    var payload = ByteBuffer()

    /// Encodes the frame.
    ///
    /// - Parameter mask: the masking key of a client's frame (RFC 6455 §5.3); nil for an unmasked frame, as a server sends it.
    func encoded(mask: UInt32?) -> ByteBuffer {
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
struct WebSocketViolation: Error, Equatable {
    var code = WebSocketCloseCode.protocolError
    var what: String

    init(_ what: String, code: WebSocketCloseCode = .protocolError) {
        self.what = what
        self.code = code
    }
}
