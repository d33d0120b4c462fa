// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Names

/// Carries one HTTP request to an upstream. The one in use dials the literal addresses it is given and asks no
/// resolver, so that a resolver never waits for itself.
public protocol UpstreamTransport: Sendable {
    /// Sends the request and collects its reply. Returns soon after its task is cancelled.
    ///
    /// - Throws: ``UpstreamError`` with code `unreachable`, `untrusted`, `timeLimit`, `answerTooLarge`,
    ///   `malformedAnswer` or `cancelled`.
    func exchange(_ request: UpstreamRequest) async throws(UpstreamError) -> UpstreamReply
}

/// An HTTP request to an upstream.
public struct UpstreamRequest: Hashable, Sendable {
    /// Scheme, host and port. The host is the Host header, the TLS server name and the name in the certificate.
    public var origin: Origin
    /// Where to dial, in the order to try; at least one.
    public var endpoints: [Endpoint]
    /// The method.
    public var method: HTTPRequest.Method = .get
    /// Path and query, percent-encoded.
    public var target: String
    /// Header fields besides Host and Content-Length.
    public var fields: HTTPFields = [:]
    /// The body; empty for none.
    public var body: [UInt8] = []
    /// The largest body of a reply that is taken, in octets; a larger one is `answerTooLarge`.
    public var maxReplySize = 65_536
    /// How long the exchange may take; nil: until its task is cancelled. Running out is `timeLimit`.
    public var timeLimit: Duration?

    /// A request of parts.
    public init(origin: Origin, endpoints: [Endpoint], target: String) {
        self.origin = origin
        self.endpoints = endpoints
        self.target = target
    }
}

/// The reply of an upstream, whatever its status.
public struct UpstreamReply: Hashable, Sendable {
    /// The status code.
    public var status: Int
    /// The header fields.
    public var fields: HTTPFields
    /// The whole body, content coding removed.
    public var body: [UInt8]
    /// The endpoint that answered; nil where the transport cannot tell.
    public var endpoint: Endpoint?

    /// A reply of parts.
    public init(status: Int, fields: HTTPFields = [:], body: [UInt8], endpoint: Endpoint? = nil) {
        self.status = status
        self.fields = fields
        self.body = body
        self.endpoint = endpoint
    }
}
