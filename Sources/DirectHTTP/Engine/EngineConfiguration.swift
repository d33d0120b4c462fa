// SPDX-License-Identifier: Apache-2.0

import HTTPWire
import Names

/// The limits and settings of an ``Engine``.
public struct EngineConfiguration: Sendable {
    /// The maximum number of connections to one origin, lent and idle together. A proxy that forwards requests counts
    /// as one origin. Default 64, at least 1.
    public var connectionsPerOrigin = 64
    /// How many requests may wait for a connection to one origin. Default 10,000; further requests fail with `poolExhausted`.
    public var waitersPerOrigin = 10_000
    /// Whether ``TimeLimits/connect`` covers the wait for a connection while all to an origin are busy. If false, only the limit
    /// of the whole exchange ends this wait. Default true.
    package var limitsTurns = true
    /// The maximum number of idle connections in all. Default 1,024; further ones are closed.
    public var maxIdleConnections = 1_024
    /// How long an idle connection is kept. A new connection waits at least 10 s for its first request, because the
    /// task that opened it may run on another thread. Default 60 s.
    public var keepIdle = Duration.seconds(60)
    /// How long a connection is used for new requests after it was dialled. An older one finishes its requests and closes, so
    /// that changes of addresses take effect. Default one hour; nil: no limit.
    public var maxConnectionAge: Duration? = .seconds(3600)
    /// The maximum size of a response's head, and of its trailers, in bytes. Default 64 KiB, at most 256 MiB. A larger
    /// head fails with `responseTooLarge`.
    public var maxHeadBytes = 64 * 1024
    /// The maximum number of fields in a response's head. Default 1,000, at most 65,000.
    package var maxHeadFields = 1_000
    /// How many response bytes may wait for a slow reader before the socket is no longer read. Default 512 KiB. With
    /// less, a body that arrives at more than 100 MB a second wakes the reader more often. Over HTTP/2 it is also the
    /// initial window of a stream, at least 65,535 bytes, which grows to four times that size while its reader keeps
    /// up.
    public var bufferedBodyBytes = 512 * 1024
    /// How long an HTTP/2 connection with requests in progress may receive nothing before it is checked with PING. A connection
    /// that was idle for that long is checked together with its next request. Default 15 s; nil: never.
    public var pingAfter: Duration? = .seconds(15)
    /// How long the answer to a PING may take before the connection counts as lost. Default 5 s.
    public var pingTimeout = Duration.seconds(5)
    /// Whether connections to `http` origins use HTTP/2 at once, without asking the server (RFC 9113 §3.3). It does not
    /// apply to a proxy that forwards requests, to WebSockets, or without ``TLSSettings/offersHTTP2``. Default false.
    public var usesHTTP2PriorKnowledge = false
    /// How connections are opened.
    public var dial = DialSettings()

    /// The defaults.
    public init() {}
}

extension EngineConfiguration {
    /// Whether connections for the key use HTTP/2 without asking the server.
    func usesHTTP2PriorKnowledge(for key: PoolKey) -> Bool {
        usesHTTP2PriorKnowledge && key.tls.offersHTTP2 && key.origin.scheme == .http && key.forwarder == nil
    }

    var headLimits: HTTP1ResponseReader.Limits {
        // Larger values mean no limit. Their sums must fit in an Int of 32 bits.
        HTTP1ResponseReader.Limits(
            headBytes: min(max(0, maxHeadBytes), 1 << 28),
            // HTTPFields holds at most 65,534 fields and traps at the next.
            fieldCount: min(max(0, maxHeadFields), 65_000)
        )
    }
}

/// The time limits of an exchange. Nil means no limit.
public struct TimeLimits: Sendable, Hashable {
    /// From asking for a connection to having one: waiting for the pool, and TCP and TLS of all attempts. Default 10 s.
    public var connect: Duration? = .seconds(10)
    /// How long the peer may send nothing once the request is being sent. Time spent waiting for the source of the request's body
    /// does not count, unless the response is complete. Default 60 s.
    public var idle: Duration? = .seconds(60)
    /// The whole exchange, up to the last byte of the body. Default nil.
    public var total: Duration?

    /// The defaults.
    public init() {}
}
