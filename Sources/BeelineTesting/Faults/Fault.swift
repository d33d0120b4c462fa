// SPDX-License-Identifier: Apache-2.0

/// One way in which a server, or the way to it, can be broken; a row of the table that a ``FaultServer`` serves.
///
/// ```swift
/// @Test(arguments: Fault.http1) func faultIsReported(fault: Fault) async throws {
///     let server = try await FaultServer.start([fault], authority: authority)
///     // … a request to server.endpoint(of: fault) ends as fault.outcome says …
///     await server.stop()
/// }
/// ```
public struct Fault: Sendable, Identifiable, CustomStringConvertible {
    /// The name, the same for good: `head-reset`, `h2-ping-flood`.
    public let id: String
    /// What the server does.
    public let does: String
    /// How a request by a careful client ends.
    public let outcome: Outcome
    /// What a client has to speak to meet the fault.
    public let layer: Layer
    let play: Play

    /// What a client has to speak to meet a fault.
    public enum Layer: String, Hashable, Sendable {
        /// TCP.
        case connection
        /// TLS for the name ``FaultServer/name``, trusting the server's authority.
        case tls
        /// HTTP/1.1 in the clear.
        case http1
        /// HTTP/2 over TLS, by ALPN.
        case http2
        /// A WebSocket in the clear, at any path.
        case webSocket
    }

    /// How a request by a careful client ends.
    public enum Outcome: String, Hashable, Sendable, CaseIterable {
        /// With a response whose body is `ok`.
        case success
        /// With a response of another status, as the server sent it.
        case status
        /// The connection is refused at once.
        case refused
        /// The connection is never made: the connect timeout ends it.
        case connectTimeout
        /// The TLS handshake never ends: a timeout does.
        case handshakeTimeout
        /// The TLS handshake fails, not because of the certificate.
        case handshakeFailure
        /// The certificate is refused.
        case badCertificate
        /// The response never comes, or stops: a timeout ends it.
        case timeout
        /// The connection ends before there is a response. A request that is safe to repeat is repeated, within bounds.
        case closed
        /// The response is not what the protocol allows.
        case malformed
        /// The body ends before it is whole.
        case truncated
        /// A limit of the client's ends it: of header size, of interim responses, of redirects, of decoded bytes.
        case limit
        /// The server has refused the stream and has not looked at it: it is safe to repeat, within bounds.
        case refusedStream
        /// The server has reset the stream.
        case streamReset
    }

    /// How the fault is made.
    enum Play: Sendable {
        case refuse
        case blackHole
        case serve(
            tls: (@Sendable (FaultCertificates) throws -> ServerTLS)? = nil,
            @Sendable (RawConnection, Context) async throws -> Void
        )
    }

    /// What the rows need to know of the server that plays them.
    struct Context: Sendable {
        /// Sleeps by the server's clock.
        let sleep: @Sendable (Duration) async throws -> Void
    }

    /// The fault's ``id``, for the titles of tests.
    public var description: String { id }

    /// Every row.
    public static let all: [Fault] =
        connection + tls + http1 + http1Framing + http1Content + http2 + http2Floods + webSocket

    /// The row of a name.
    public static func named(_ id: String) -> Fault? { all.first { $0.id == id } }
}

/// The certificates of a ``FaultServer``, made once.
struct FaultCertificates: Sendable {
    let authority: TestAuthority
    let good: TestCertificate

    init(authority: TestAuthority) throws {
        self.authority = authority
        good = try authority.certificate(for: FaultServer.name, "*.\(FaultServer.name)")
    }
}
