// SPDX-License-Identifier: Apache-2.0

/// The bounds and habits of an ``Engine``.
public struct EngineConfiguration: Sendable {
    /// Connections to one origin, lent and idle together. Default 64.
    public var connectionsPerOrigin = 64
    /// Requests that may wait for a connection to one origin. Default 10,000; one more fails with `poolExhausted`.
    public var waitersPerOrigin = 10_000
    /// Idle connections in all. Default 1,024; one more is closed instead of kept.
    public var maximumIdleConnections = 1_024
    /// How long an idle connection is kept. Default 60 s.
    public var keepIdle = Duration.seconds(60)
    /// How long a connection is lent, counted from when it was dialled: an older one serves what it carries and is closed, so
    /// that a change of addresses is followed in the end. Default one hour; nil: for ever.
    public var maximumAge: Duration? = .seconds(3600)
    /// Bytes of a response's head (and of its trailers). Default 64 KiB.
    public var maximumHeadBytes = 64 * 1024
    /// Fields of a response's head. Default 1,000, at most 65,000.
    public var maximumHeadFields = 1_000
    /// Response bytes that wait for a slow reader before the socket is no longer read. Default 512 KiB; with less, a body
    /// that comes at more than 100 MB a second costs more wakes. Over HTTP/2 it is also the window of a stream, which grows
    /// to four times that while its reader keeps up.
    public var bufferedBodyBytes = 512 * 1024
    /// How long a connection of HTTP/2 that carries something may be silent before it is asked by PING whether it still
    /// lives; one that rested that long is asked beside its next request. Default 15 s; nil: never.
    public var pingAfter: Duration? = .seconds(15)
    /// How long the answer to a PING may take before the connection counts as lost. Default 5 s.
    public var pingPatience = Duration.seconds(5)
    /// How connections are opened.
    public var dial = DialSettings()

    /// The defaults.
    public init() {}
}

extension EngineConfiguration {
    var headLimits: HTTP1ResponseParser.Limits {
        // What is larger than that means: no limit. Sums of these must hold where an Int has 32 bits.
        HTTP1ResponseParser.Limits(
            headBytes: min(max(0, maximumHeadBytes), 1 << 28),
            // HTTPFields has room for 65,534, and one more traps.
            fieldCount: min(max(0, maximumHeadFields), 65_000)
        )
    }
}

/// How long an exchange may take. Nil means: for ever.
public struct TimeLimits: Sendable, Hashable {
    /// From asking for a connection to having one: waiting for the pool, TCP and TLS of all attempts. Default 10 s.
    public var connect: Duration? = .seconds(10)
    /// How long the peer may be silent once the request is on its way; the time in which the request's body has no next piece
    /// does not count. Default 60 s.
    public var idle: Duration? = .seconds(60)
    /// The whole exchange, the body's last byte included. Default nil.
    public var whole: Duration?

    /// The defaults.
    public init() {}
}
