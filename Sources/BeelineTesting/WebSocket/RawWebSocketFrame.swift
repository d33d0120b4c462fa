// SPDX-License-Identifier: Apache-2.0

/// A WebSocket frame as bytes (RFC 6455 §5.2), valid or invalid.
package struct RawWebSocketFrame: Hashable, Sendable {
    /// The opcodes of RFC 6455 §11.8.
    package enum Opcode: UInt8, Hashable, Sendable {
        /// A continuation of a message.
        case continuation = 0
        /// A text message.
        case text = 1
        /// A binary message.
        case binary = 2
        /// Closes the connection.
        case close = 8
        /// Requests a pong.
        case ping = 9
        /// Answers a ping.
        case pong = 10
    }

    /// The opcode.
    package var opcode: Opcode
    /// The payload, unmasked.
    package var payload: [UInt8]
    /// Whether this is the last frame of its message.
    package var isFinal: Bool
    /// RSV1, RSV2 and RSV3 in the low three bits, RSV1 highest. permessage-deflate uses RSV1 (RFC 7692 §6).
    package var reserved: UInt8
    /// The masking key of four bytes, which clients must use; nil: none.
    package var mask: [UInt8]?

    /// Creates a frame.
    package init(
        _ opcode: Opcode,
        _ payload: [UInt8] = [],
        isFinal: Bool = true,
        reserved: UInt8 = 0,
        mask: [UInt8]? = nil
    ) {
        self.opcode = opcode
        self.payload = payload
        self.isFinal = isFinal
        self.reserved = reserved
        self.mask = mask
    }

    /// Creates a close frame with a code (RFC 6455 §7.4) and a reason.
    package static func close(_ code: UInt16, _ reason: String = "") -> RawWebSocketFrame {
        RawWebSocketFrame(.close, [UInt8(code >> 8), UInt8(code & 255)] + Array(reason.utf8))
    }

    /// The payload as text.
    package var text: String { String(decoding: payload, as: UTF8.self) }

    /// Header and payload, masked if there is a mask.
    package var bytes: [UInt8] {
        var bytes = [(isFinal ? 0x80 : 0) | (reserved & 7) << 4 | opcode.rawValue]
        let masked: UInt8 = mask == nil ? 0 : 0x80
        switch payload.count {
        case ..<126: bytes.append(masked | UInt8(payload.count))
        case ..<65_536: bytes += [masked | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        default: bytes += [masked | 127] + (0..<8).map { UInt8(payload.count >> (56 - 8 * $0) & 255) }
        }
        return bytes + (mask ?? []) + Self.apply(mask, to: payload)
    }

    fileprivate static func apply(_ mask: [UInt8]?, to payload: [UInt8]) -> [UInt8] {
        guard let mask, mask.count == 4 else { return payload }
        return payload.enumerated().map { $1 ^ mask[$0 & 3] }
    }
}

extension RawConnection {
    /// Reads one WebSocket frame; nil if the peer closes.
    ///
    /// - Parameter limit: The maximum payload size in bytes. Default 1 MiB.
    /// - Throws: ``TestingError`` with code `badInput` for an unknown opcode or a payload beyond the limit.
    package func receiveWebSocketFrame(limit: Int = 1 << 20) async throws -> RawWebSocketFrame? {
        guard let header = try? await receive(count: 2) else { return nil }
        guard let opcode = RawWebSocketFrame.Opcode(rawValue: header[0] & 15) else {
            throw TestingError(.badInput, "WebSocket opcode \(header[0] & 15)")
        }
        var length = UInt64(header[1] & 0x7f)
        if length >= 126 {
            let bytes = try await receive(count: length == 126 ? 2 : 8)
            length = bytes.reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard length <= UInt64(limit) else { throw TestingError(.badInput, "a WebSocket frame of \(length) bytes") }
        let mask = header[1] & 0x80 == 0 ? nil : try await receive(count: 4)
        let payload = try await receive(count: Int(length))
        return RawWebSocketFrame(
            opcode,
            RawWebSocketFrame.apply(mask, to: payload),
            isFinal: header[0] & 0x80 != 0,
            reserved: header[0] >> 4 & 7,
            mask: mask
        )
    }
}
