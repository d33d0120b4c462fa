// SPDX-License-Identifier: Apache-2.0

/// A way in which a server, or the route to it, is broken. ``FaultServer`` serves these faults.
///
/// ```swift
/// @Test(arguments: Fault.all.filter { $0.layer == .http1 }) func faultIsReported(fault: Fault) async throws {
///     let server = try await FaultServer.start([fault], authority: authority)
///     // … a request to server.endpoint(of: fault.id) ends with fault.outcome …
///     await server.stop()
/// }
/// ```
package struct Fault: Sendable, Identifiable, CustomStringConvertible {
    /// The stable name, such as `head-reset` or `h2-ping-flood`.
    package let id: String
    /// What the server does.
    package let does: String
    /// The result of a request by a correct client.
    package let outcome: Outcome
    /// The protocol that a client must use to trigger the fault.
    package let layer: Layer
    let play: Play

    init(_ id: String, _ does: String, outcome: Outcome, layer: Layer, play: Play) {
        self.id = id
        self.does = does
        self.outcome = outcome
        self.layer = layer
        self.play = play
    }

    /// Creates a fault of a server that accepts connections, with TLS if `tls` is not nil.
    init(
        _ id: String,
        _ does: String,
        outcome: Outcome,
        layer: Layer,
        tls: (@Sendable (FaultCertificates) throws -> ServerTLS)? = nil,
        serve: @escaping @Sendable (RawConnection, any Clock<Duration>) async throws -> Void
    ) {
        self.init(id, does, outcome: outcome, layer: layer, play: .serve(tls: tls, serve))
    }

    /// The protocol that a client must use to trigger a fault.
    package enum Layer: String, Hashable, Sendable {
        /// TCP.
        case connection
        /// TLS with the server name ``FaultServer/name``, trusting the server's authority.
        case tls
        /// HTTP/1.1 without TLS.
        case http1
        /// HTTP/2 over TLS, negotiated by ALPN.
        case http2
        /// A WebSocket without TLS, at any path.
        case webSocket
    }

    /// The result of a request by a correct client.
    package enum Outcome: String, Hashable, Sendable, CaseIterable {
        /// A response with the body `ok`.
        case success
        /// A response with an unsuccessful status, as the server sent it.
        case status
        /// The connection is refused at once.
        case refused
        /// The connect timeout expires.
        case connectTimeout
        /// The TLS handshake stalls until a timeout.
        case handshakeTimeout
        /// The TLS handshake fails for a reason other than the certificate.
        case handshakeFailure
        /// The client rejects the certificate.
        case badCertificate
        /// The response does not arrive or stalls until a timeout.
        case timeout
        /// The connection closes before a response. The client retries a safe request a limited number of times.
        case closed
        /// The response violates the protocol.
        case malformed
        /// The body ends early.
        case truncated
        /// A client limit is exceeded: header size, interim responses, redirects or decoded bytes.
        case limit
        /// The server refused the stream without processing it. The client may retry a limited number of times.
        case refusedStream
        /// The server reset the stream.
        case streamReset
    }

    /// The implementation of a fault.
    enum Play: Sendable {
        case refuse
        case blackHole
        case serve(
            tls: (@Sendable (FaultCertificates) throws -> ServerTLS)?,
            @Sendable (RawConnection, any Clock<Duration>) async throws -> Void
        )
    }

    /// The ``id``, for test titles.
    package var description: String { id }

    /// All faults.
    package static let all: [Fault] =
        connection + tls + http1 + http1Framing + http1Content + http2 + http2Floods + webSocket

    /// The fault with this name; nil if there is none.
    package static func named(_ id: String) -> Fault? { all.first { $0.id == id } }
}

/// The certificates of a ``FaultServer``, created once.
struct FaultCertificates: Sendable {
    let authority: TestAuthority
    let good: TestCertificate

    init(authority: TestAuthority) throws {
        self.authority = authority
        good = try authority.certificate(for: FaultServer.name, "*.\(FaultServer.name)")
    }
}
