// SPDX-License-Identifier: Apache-2.0

public import Names

/// How a connection was established. All exchanges on the connection share it.
public struct ConnectionInfo: Sendable {
    /// The values, in one object for all copies, because every response has a copy.
    private final class Facts: Sendable {
        let endpoint: Endpoint
        let localEndpoint: Endpoint?
        let attempts: [Attempt]
        let context: (any Sendable)?
        let applicationProtocol: String
        let resolveTime: Duration
        let connectTime: Duration
        let handshakeTime: Duration?

        init(
            _ endpoint: Endpoint,
            _ localEndpoint: Endpoint?,
            _ attempts: [Attempt],
            _ context: (any Sendable)?,
            _ applicationProtocol: String,
            _ resolveTime: Duration,
            _ connectTime: Duration,
            _ handshakeTime: Duration?
        ) {
            self.endpoint = endpoint
            self.localEndpoint = localEndpoint
            self.attempts = attempts
            self.context = context
            self.applicationProtocol = applicationProtocol
            self.resolveTime = resolveTime
            self.connectTime = connectTime
            self.handshakeTime = handshakeTime
        }
    }

    private let facts: Facts

    init(
        endpoint: Endpoint,
        localEndpoint: Endpoint?,
        attempts: [Attempt],
        context: (any Sendable)?,
        applicationProtocol: String,
        resolveTime: Duration,
        connectTime: Duration,
        handshakeTime: Duration?
    ) {
        facts = Facts(
            endpoint,
            localEndpoint,
            attempts,
            context,
            applicationProtocol,
            resolveTime,
            connectTime,
            handshakeTime
        )
    }

    /// The endpoint that the socket is connected to: the origin's or the proxy's.
    public var endpoint: Endpoint { facts.endpoint }
    /// The local endpoint of the socket; nil for a Unix domain socket.
    public var localEndpoint: Endpoint? { facts.localEndpoint }
    /// All attempts, in the order of their starts.
    public var attempts: [Attempt] { facts.attempts }
    /// The context that the ``EndpointSource`` returned with the endpoints.
    package var context: (any Sendable)? { facts.context }
    /// The protocol that ALPN chose, or `http/1.1`.
    public var applicationProtocol: String { facts.applicationProtocol }
    /// How long the source took to return the endpoints.
    public var resolveTime: Duration { facts.resolveTime }
    /// The time from the start of the race until the winner's TCP connection was established. It includes the time of slower
    /// endpoints.
    public var connectTime: Duration { facts.connectTime }
    /// How long TLS (and a proxy's CONNECT) took; nil if there was neither.
    public var handshakeTime: Duration? { facts.handshakeTime }
}
