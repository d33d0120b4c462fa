// SPDX-License-Identifier: Apache-2.0

/// The bounds and habits of a ``WebSocket``.
public struct WebSocketSettings: Sendable, Hashable {
    /// Bytes of a received message, all its fragments together and decompressed. Default 16 MiB, at most 1 GiB; one more closes
    /// the socket with 1009 and `responseTooLarge`.
    public var maximumMessageBytes = 16 << 20
    /// Bytes of received messages that wait for a slow reader before the socket is no longer read. Default 256 KiB.
    public var bufferedBytes = 256 * 1024
    /// Bytes of a frame that is sent; a longer message goes in fragments. Default 1 MiB.
    public var frameBytes = 1 << 20
    /// Whether permessage-deflate (RFC 7692) is offered. Default true.
    public var offersCompression = true
    /// Bytes from which on a message is compressed, where that was agreed. Default 64.
    public var minimumCompressedBytes = 64
    /// How long the close handshake may take before the socket is closed without it. Default 5 s.
    public var closeTimeout = Duration.seconds(5)
    /// How long the peer may be silent before it is sent a PING; silent once more as long, it is given up with `idleTimeout`.
    /// Default nil: it may be silent for ever.
    public var pingInterval: Duration?

    /// The defaults.
    public init() {}

    /// The bound of a message as it is kept: sums of lengths below it hold, and a buffer has room for it.
    var messageBound: Int { min(max(0, maximumMessageBytes), 1 << 30) }
}
