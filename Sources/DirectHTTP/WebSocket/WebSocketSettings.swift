// SPDX-License-Identifier: Apache-2.0

/// The limits and options of a ``WebSocket``.
public struct WebSocketSettings: Sendable, Hashable {
    /// The maximum size of a received message in bytes, all fragments together and decompressed. Default 16 MiB, at most 1 GiB. A
    /// larger message closes the socket with code 1009 and fails with `responseTooLarge`.
    public var maxMessageBytes = 16 << 20
    /// The bytes of received messages that may wait for a slow reader before reading from the socket pauses. Default 256 KiB.
    public var bufferedBytes = 256 * 1024
    /// The maximum payload of a sent frame in bytes; longer messages are sent in fragments. Control frames are sent between
    /// frames, so on a slow line a large frame delays the answer to a PING. Default 64 KiB.
    package var frameBytes = 64 * 1024
    /// Whether permessage-deflate (RFC 7692) is offered. Default true.
    public var offersCompression = true
    /// The smallest message, in bytes, that is compressed if compression was agreed. Default 64.
    package var minCompressedBytes = 64
    /// The maximum time of the close handshake; the socket is then closed without it. It starts again, up to 15 times, while
    /// messages before the close frame still reach the server. Default 5 s.
    public var closeTimeout = Duration.seconds(5)
    /// The time without incoming data after which a PING is sent. If the silence lasts as long again, the socket fails with
    /// `idleTimeout`. Default nil: no PING is sent and there is no limit.
    public var pingInterval: Duration?

    /// Creates the default settings.
    public init() {}

    /// The message limit that is enforced: never negative, and at most 1 GiB so that sums of lengths cannot overflow.
    var messageBound: Int { min(max(0, maxMessageBytes), 1 << 30) }
}
