// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// A message of a WebSocket, whole (RFC 6455 §5.6).
public enum WebSocketMessage: Hashable, Sendable {
    /// Text.
    case text(String)
    /// Bytes.
    case binary(ByteBuffer)

    /// How many bytes it has.
    var count: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let bytes): bytes.readableBytes
        }
    }

    /// The same message in memory of its own, where it would keep much more than its bytes.
    func compacted() -> WebSocketMessage {
        if case .binary(let bytes) = self { .binary(bytes.compacted()) } else { self }
    }
}

/// Why a WebSocket was closed (RFC 6455 §7.4).
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable {
    /// The number.
    public let rawValue: UInt16

    /// A code by its number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 1000: its purpose is fulfilled.
    public static let normal = WebSocketCloseCode(rawValue: 1000)
    /// 1001: a side goes away.
    public static let goingAway = WebSocketCloseCode(rawValue: 1001)
    /// 1002: a side broke the protocol.
    public static let protocolError = WebSocketCloseCode(rawValue: 1002)
    /// 1003: a kind of message that a side does not take.
    public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    /// 1005: the close frame had no code. It is never sent.
    public static let none = WebSocketCloseCode(rawValue: 1005)
    /// 1007: a text that is not UTF-8, or data that cannot be decompressed.
    public static let invalidData = WebSocketCloseCode(rawValue: 1007)
    /// 1008: a side's policy.
    public static let policyViolation = WebSocketCloseCode(rawValue: 1008)
    /// 1009: a message that is too big.
    public static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
    /// 1011: something unforeseen at the server.
    public static let internalError = WebSocketCloseCode(rawValue: 1011)

    /// Whether it may be in a frame (RFC 6455 §7.4.1, §7.4.2).
    public var isSendable: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

/// The close frame that ended a WebSocket.
public struct WebSocketClosure: Hashable, Sendable {
    /// The code; ``WebSocketCloseCode/none`` where the peer gave none.
    public var code: WebSocketCloseCode
    /// The reason; at most 123 bytes, and meant for people who debug.
    public var reason: String

    /// A closure of parts.
    public init(code: WebSocketCloseCode = .normal, reason: String = "") {
        self.code = code
        self.reason = reason
    }
}
