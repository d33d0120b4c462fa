// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
public import Names

/// How a connection was established. A class, because every response on the connection has it.
public final class ConnectionInfo: Sendable {
    /// The endpoint that the socket is connected to: the origin's or the proxy's.
    public let endpoint: Endpoint
    /// The local endpoint of the socket; nil for a Unix domain socket.
    public let localEndpoint: Endpoint?
    /// All attempts, in the order of their starts.
    public let attempts: [Attempt]
    /// The context that the ``EndpointSource`` returned with the endpoints.
    public let context: (any Sendable)?
    /// The protocol that ALPN chose, or `http/1.1`.
    public let applicationProtocol: String
    /// The outcome of Encrypted Client Hello in the TLS handshake with the origin.
    public let ech: ECHOutcome
    /// How long the source took to return the endpoints.
    package let resolveTime: Duration
    /// From the start of the race, slower endpoints included, until the winner's TCP connection was established.
    package let connectTime: Duration
    /// How long TLS (and a proxy's CONNECT) took; nil if there was neither.
    package let handshakeTime: Duration?
    /// The certificate that the peer of the last TLS handshake showed; nil without TLS.
    private let certificate: NIOSSLCertificate?
    /// The certificate of the origin in DER form, or of a proxy over TLS that forwards the request; nil without TLS.
    package var certificateDER: [UInt8]? { try? certificate?.toDERBytes() }

    init(_ won: DialRace.RaceResult, context: (any Sendable)?, resolveTime: Duration) {
        endpoint = won.winner.endpoint
        localEndpoint = won.channel.localAddress.flatMap(Endpoint.init)
        attempts = won.attempts
        self.context = context
        applicationProtocol = won.secured.applicationProtocol
        self.resolveTime = resolveTime
        connectTime = won.winner.start + (won.winner.connect ?? .zero)
        handshakeTime = won.winner.handshake
        ech = won.secured.ech
        certificate = won.secured.certificate
    }
}
