// SPDX-License-Identifier: Apache-2.0

public import Names

/// How a connection came to be: shared by all exchanges that it carries.
public struct ConnectionInfo: Sendable {
    /// What is told, in one place for all copies: every response carries one.
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

    /// Where the socket goes: to the origin, or to the proxy that leads there.
    public var endpoint: Endpoint { facts.endpoint }
    /// Where the socket comes from; nil for a Unix domain socket.
    public var localEndpoint: Endpoint? { facts.localEndpoint }
    /// Every endpoint that was tried, in the order of their starts.
    public var attempts: [Attempt] { facts.attempts }
    /// What the ``EndpointSource`` gave along with the endpoints.
    public var context: (any Sendable)? { facts.context }
    /// The protocol that ALPN chose, or `http/1.1`.
    public var applicationProtocol: String { facts.applicationProtocol }
    /// How long the source took to name the endpoints.
    public var resolveTime: Duration { facts.resolveTime }
    /// How long the winning endpoint's TCP took, counted from the start of the race: losers' time included.
    public var connectTime: Duration { facts.connectTime }
    /// How long TLS (and a proxy's CONNECT) took.
    public var handshakeTime: Duration? { facts.handshakeTime }
}
