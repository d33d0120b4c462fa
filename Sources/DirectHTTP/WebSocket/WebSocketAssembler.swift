// SPDX-License-Identifier: Apache-2.0

import HTTPWire
import NIOCore
import Names

/// Assembles frames into messages (RFC 6455 §5.4, §5.6) and checks the order of frames.
struct WebSocketAssembler {
    enum Event: Equatable {
        /// A message; its payload is still compressed if `isCompressed` is set.
        case message(isText: Bool, ByteBuffer, isCompressed: Bool)
        case ping(ByteBuffer)
        case pong(ByteBuffer)
        case close(WebSocketClosure)
    }

    private struct Partial {
        var isText: Bool
        var isCompressed: Bool
        var bytes: ByteBuffer
        var emptyFragments = 0
    }

    /// The maximum number of empty fragments of a message. They have no bytes, so `maxBytes` does not bound their
    /// number.
    static let maxEmptyFragments = 65_536

    private let maxBytes: Int
    private var partial: Partial?

    init(maxBytes: Int) {
        self.maxBytes = maxBytes
    }

    /// Takes a frame; nil if its message continues.
    mutating func take(_ frame: WebSocketFrame) throws(WebSocketViolation) -> Event? {
        switch frame.opcode {
        case .ping: return .ping(frame.payload)
        case .pong: return .pong(frame.payload)
        case .close: return .close(try Self.closure(frame.payload))
        case .text, .binary:
            guard partial == nil else { throw WebSocketViolation("it began a message in the middle of another") }
            let isText = frame.opcode == .text
            guard frame.isFinal else {
                partial = Partial(isText: isText, isCompressed: frame.isCompressed, bytes: frame.payload)
                return nil
            }
            return .message(isText: isText, frame.payload, isCompressed: frame.isCompressed)
        case .continuation:
            guard var whole = partial, !frame.isCompressed else {
                throw WebSocketViolation("it continued a message that it had not begun")
            }
            let limit = whole.isCompressed ? max(maxBytes, 125) : maxBytes
            if frame.payload.readableBytes == 0 { whole.emptyFragments += 1 }
            guard whole.bytes.readableBytes + frame.payload.readableBytes <= limit,
                whole.emptyFragments <= Self.maxEmptyFragments
            else { throw WebSocketViolation("it sent a message of more than \(limit) bytes", code: .messageTooBig) }
            partial = nil
            whole.bytes.writeImmutableBuffer(frame.payload)
            guard frame.isFinal else {
                partial = whole
                return nil
            }
            return .message(isText: whole.isText, whole.bytes, isCompressed: whole.isCompressed)
        }
    }

    /// Parses a close frame: an empty payload, or a sendable code and a reason in UTF-8 (RFC 6455 §5.5.1).
    private static func closure(_ payload: ByteBuffer) throws(WebSocketViolation) -> WebSocketClosure {
        guard payload.readableBytes > 0 else { return WebSocketClosure(code: .noStatusReceived) }
        var payload = payload
        guard let code = payload.readInteger(as: UInt16.self).map(WebSocketCloseCode.init), code.isSendable else {
            throw WebSocketViolation("it closed with a code that must not be sent")
        }
        return WebSocketClosure(code: code, reason: try text(payload))
    }

    static func text(_ bytes: ByteBuffer) throws(WebSocketViolation) -> String {
        guard let text = String(validUTF8: bytes.readableBytesView) else {
            throw WebSocketViolation("it sent a text that is not UTF-8", code: .invalidData)
        }
        return text
    }
}
