// SPDX-License-Identifier: Apache-2.0

package import DirectHTTP
package import HTTPTypes
package import Names

/// Sends HTTP requests to upstreams. A transport must connect to the literal addresses in the request and use no
/// resolver, so that a resolver never waits for itself.
package protocol UpstreamTransport: Sendable {
    /// Whether it connects over TLS only to servers whose certificates it has verified. Default true.
    var verifiesCertificates: Bool { get }

    /// Sends the request and collects its reply. Must return soon after its task is cancelled.
    ///
    /// - Throws: ``UpstreamError`` with code `unreachable`, `untrusted`, `timeLimit`, `answerTooLarge`,
    ///   `malformedAnswer` or `cancelled`.
    func exchange(_ request: UpstreamRequest) async throws(UpstreamError) -> UpstreamReply
}

extension UpstreamTransport {
    /// True.
    package var verifiesCertificates: Bool { true }
}

/// An HTTP request to an upstream.
package struct UpstreamRequest: Sendable {
    /// Scheme, host and port. The host is the Host header, the TLS server name and the name in the certificate.
    package var origin: Origin
    /// The endpoints to connect to, in the order to try them; at least one.
    package var endpoints: [Endpoint]
    /// The method.
    package var method: HTTPRequest.Method = .get
    /// Path and query, percent-encoded.
    package var target: String
    /// Header fields in addition to Host and Content-Length.
    package var fields: HTTPFields = [:]
    /// The body; empty for none.
    package var body: [UInt8] = []
    /// The maximum size of the reply's body, in octets; a larger one fails with `answerTooLarge`.
    package var maxReplySize = 65_536
    /// The time limit of the exchange, after which it fails with `timeLimit`; nil: none.
    package var timeLimit: Duration?
    /// The endpoints to avoid, because requests to them failed; nil: none.
    package var side: HedgeSide?

    /// A GET request without fields or body.
    package init(origin: Origin, endpoints: [Endpoint], target: String) {
        self.origin = origin
        self.endpoints = endpoints
        self.target = target
    }
}

/// The reply of an upstream, with any status.
package struct UpstreamReply: Hashable, Sendable {
    /// The status code.
    package var status: Int
    /// The header fields.
    package var fields: HTTPFields
    /// The whole body, with any content coding decoded.
    package var body: [UInt8]

    /// A reply with a status, fields and a body.
    package init(status: Int, fields: HTTPFields = [:], body: [UInt8]) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}
