// SPDX-License-Identifier: Apache-2.0

public import Names

/// How a connection came to be: shared by all exchanges that it carries.
public struct ConnectionInfo: Sendable {
    /// Where the socket goes: to the origin, or to the proxy that leads there.
    public let endpoint: Endpoint
    /// Every endpoint that was tried, in the order of their starts.
    public let attempts: [Attempt]
    /// What the ``EndpointSource`` gave along with the endpoints.
    public let context: (any Sendable)?
    /// The protocol that ALPN chose, or `http/1.1`.
    public let applicationProtocol: String
    /// How long the source took to name the endpoints.
    public let resolveTime: Duration
    /// How long the winning endpoint's TCP took, counted from the start of the race: losers' time included.
    public let connectTime: Duration
    /// How long TLS (and a proxy's CONNECT) took.
    public let handshakeTime: Duration?
}
