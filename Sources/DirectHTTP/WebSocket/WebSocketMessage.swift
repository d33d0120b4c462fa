// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// A complete WebSocket message (RFC 6455 §5.6).
public enum WebSocketMessage: Hashable, Sendable {
    /// Text.
    case text(String)
    /// Bytes.
    case binary(ByteBuffer)

    /// The number of bytes.
    var count: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let bytes): bytes.readableBytes
        }
    }

    /// The same message in its own memory, if its buffer holds much more than its bytes.
    func compacted() -> WebSocketMessage {
        if case .binary(let bytes) = self { .binary(bytes.compacted()) } else { self }
    }
}

/// A WebSocket close code (RFC 6455 §7.4).
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable {
    /// The number.
    public let rawValue: UInt16

    /// Creates a code from its number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 1000: the purpose of the connection is fulfilled.
    public static let normal = WebSocketCloseCode(rawValue: 1000)
    /// 1001: an endpoint is going away.
    public static let goingAway = WebSocketCloseCode(rawValue: 1001)
    /// 1002: a protocol error.
    public static let protocolError = WebSocketCloseCode(rawValue: 1002)
    /// 1003: a type of message that the endpoint cannot accept.
    public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    /// 1005: the close frame had no code. Never sent.
    public static let noStatusReceived = WebSocketCloseCode(rawValue: 1005)
    // Swift reads `socket.closure?.code == .none` as a comparison with nil. Because of this name, the compiler warns of it.
    /// The earlier name of ``noStatusReceived``.
    @available(*, deprecated, message: "`.none` of an optional code means nil", renamed: "noStatusReceived")
    public static var none: WebSocketCloseCode { .noStatusReceived }
    /// 1007: text that is not UTF-8, or data that cannot be decompressed.
    public static let invalidData = WebSocketCloseCode(rawValue: 1007)
    /// 1008: a message that violates the endpoint's policy.
    public static let policyViolation = WebSocketCloseCode(rawValue: 1008)
    /// 1009: a message that is too large.
    public static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
    /// 1011: an unexpected condition at the server.
    public static let internalError = WebSocketCloseCode(rawValue: 1011)

    /// Whether a close frame may carry the code (RFC 6455 §7.4.1, §7.4.2).
    package var isSendable: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

/// The close frame that ended a WebSocket.
public struct WebSocketClosure: Hashable, Sendable {
    /// The code; ``WebSocketCloseCode/noStatusReceived`` if the peer sent none.
    public var code: WebSocketCloseCode
    /// The reason, for debugging; at most 123 bytes are sent.
    public var reason: String

    package init(code: WebSocketCloseCode = .normal, reason: String = "") {
        self.code = code
        self.reason = reason
    }

    /// The payload of the close frame: the code, and as much of the reason as fits (RFC 6455 §5.5.1).
    var payload: ByteBuffer {
        var payload = ByteBuffer()
        if code.isSendable {
            payload.writeInteger(code.rawValue)
            // A scalar has at least one byte, so the first 123 are enough of a long reason.
            var text = Substring(reason.unicodeScalars.prefix(123))
            while text.utf8.count > 123 { text = Substring(text.unicodeScalars.dropLast()) }
            payload.writeSubstring(text)
        }
        return payload
    }
}
