// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Puts frames together to messages (RFC 6455 §5.4, §5.6), as a value that checks what the frames must be like.
struct WebSocketAssembler {
    enum Event: Equatable {
        /// A message, still compressed where the flag says so.
        case message(isText: Bool, ByteBuffer, isCompressed: Bool)
        case ping(ByteBuffer)
        case pong(ByteBuffer)
        case close(WebSocketClosure)
    }

    private struct Partial {
        var isText: Bool
        var isCompressed: Bool
        var bytes: ByteBuffer
        var fragments = 1
    }

    /// Fragments of one message: empty ones cost no memory, but without a bound they would never end.
    static let maximumFragments = 65_536

    private let maximumBytes: Int
    private var partial: Partial?

    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// Takes a frame; nil where its message goes on.
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
                throw WebSocketViolation("it went on with a message that it had not begun")
            }
            guard whole.bytes.readableBytes + frame.payload.readableBytes <= maximumBytes,
                whole.fragments < Self.maximumFragments
            else {
                throw WebSocketViolation("it sent a message of more than \(maximumBytes) bytes", code: .messageTooBig)
            }
            partial = nil
            whole.bytes.writeImmutableBuffer(frame.payload)
            whole.fragments += 1
            guard frame.isFinal else {
                partial = whole
                return nil
            }
            return .message(isText: whole.isText, whole.bytes, isCompressed: whole.isCompressed)
        }
    }

    /// RFC 6455 §5.5.1: nothing, or a code that may be sent and a reason in UTF-8.
    private static func closure(_ payload: ByteBuffer) throws(WebSocketViolation) -> WebSocketClosure {
        guard payload.readableBytes > 0 else { return WebSocketClosure(code: .none) }
        var payload = payload
        guard let code = payload.readInteger(as: UInt16.self).map(WebSocketCloseCode.init), code.isSendable else {
            throw WebSocketViolation("it closed with a code that must not be sent")
        }
        return WebSocketClosure(code: code, reason: try text(payload))
    }

    /// The bytes as text.
    static func text(_ bytes: ByteBuffer) throws(WebSocketViolation) -> String {
        // Decoding replaces what is not UTF-8, which shows.
        let text = String(buffer: bytes)
        guard text.utf8.elementsEqual(bytes.readableBytesView) else {
            throw WebSocketViolation("it sent a text that is not UTF-8", code: .invalidData)
        }
        return text
    }
}
