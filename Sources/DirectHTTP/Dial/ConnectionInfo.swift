// SPDX-License-Identifier: Apache-2.0

public import Names

/// How a connection was established. All exchanges on the connection share it.
public struct ConnectionInfo: Sendable {
    private struct Facts: Sendable {
        let endpoint: Endpoint
        let localEndpoint: Endpoint?
        let attempts: [Attempt]
        let context: (any Sendable)?
        let applicationProtocol: String
        let resolveTime: Duration
        let connectTime: Duration
        let handshakeTime: Duration?
    }

    /// The values, in one object for all copies, because every response has a copy.
    private let facts: Shared<Facts>

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
        facts = Shared(
            Facts(
                endpoint: endpoint,
                localEndpoint: localEndpoint,
                attempts: attempts,
                context: context,
                applicationProtocol: applicationProtocol,
                resolveTime: resolveTime,
                connectTime: connectTime,
                handshakeTime: handshakeTime
            )
        )
    }

    /// The endpoint that the socket is connected to: the origin's or the proxy's.
    public var endpoint: Endpoint { facts.value.endpoint }
    /// The local endpoint of the socket; nil for a Unix domain socket.
    public var localEndpoint: Endpoint? { facts.value.localEndpoint }
    /// All attempts, in the order of their starts.
    public var attempts: [Attempt] { facts.value.attempts }
    /// The context that the ``EndpointSource`` returned with the endpoints.
    public var context: (any Sendable)? { facts.value.context }
    /// The protocol that ALPN chose, or `http/1.1`.
    public var applicationProtocol: String { facts.value.applicationProtocol }
    /// How long the source took to return the endpoints.
    package var resolveTime: Duration { facts.value.resolveTime }
    /// The time from the start of the race until the winner's TCP connection was established. It includes the time of slower
    /// endpoints.
    package var connectTime: Duration { facts.value.connectTime }
    /// How long TLS (and a proxy's CONNECT) took; nil if there was neither.
    package var handshakeTime: Duration? { facts.value.handshakeTime }
}
