// SPDX-License-Identifier: Apache-2.0

import HTTPWire
package import NIOCore

/// Rare settings of how one request is written and its response is read, most of them for tests of servers.
package struct WireOptions: Sendable {
    /// The request target to send in place of the URL's path and query, such as `*` for OPTIONS (RFC 9112 §3.2.4), like curl's
    /// `--request-target`. It has no white space and no control characters, which would end the request line early. Default nil.
    package var target: String?
    /// Whether the request is written in HTTP/1.0 (RFC 1945) instead of HTTP/1.1, for servers that fail at 1.1. A body of
    /// unknown length can then not be sent, and every connection serves one request. Default false. It does not affect HTTP/2.
    package var sendsHTTP10 = false
    /// Whether the request is written in HTTP/1.0 if the last response on its connection was, as curl does. Not for a body of
    /// unknown length and not with `Expect: 100-continue`, which HTTP/1.0 does not have. Default false.
    package var followsHTTP10 = false
    /// Whether the request has a `Host` field over HTTP/1. RFC 9112 §3.2 requires it. Default true.
    package var sendsHost = true
    /// The value of a `Connection` field in HTTP/1: a list of tokens without `upgrade`. Default nil: no field. After `close`,
    /// the connection is not used again; otherwise this depends on the response.
    package var connectionOption: String?
    /// Whether the `Content-Length` of the response is ignored. The body then ends with the connection, like curl's
    /// `--ignore-content-length`. Default false. It does not affect HTTP/2.
    package var ignoresContentLength = false
    /// Whether the body keeps chunk framing and trailers (curl's `--raw`). Default false. It does not affect HTTP/2.
    package var keepsTransferCoding = false
    /// Called with each head of a proxy's answer to a request for a tunnel. As for ``PreparedRequest/onHead``. Default nil.
    package var onTunnelHead: (@Sendable (ReceivedHead) -> Void)?
    /// Called with the readable lines of an incomplete or malformed response head, before the request fails or is
    /// repeated. As for ``PreparedRequest/onHead``. Default nil. It does not affect HTTP/2.
    package var onBrokenHead: (@Sendable (ByteBuffer) -> Void)?

    package init() {}

    /// Whether ``connectionOption`` lists a token, which is in lower case.
    func hasConnectionOption(_ token: String) -> Bool {
        connectionOption?.lowercased().listElements.contains { $0 == token } ?? false
    }

    /// The value of the `Connection` field in HTTP/1; nil: no field.
    ///
    /// - Parameter hasTE: whether the request has a `TE` field, which `Connection` must list (RFC 9110 §10.1.4).
    package func connection(hasTE: Bool) -> String? {
        guard hasTE else { return connectionOption }
        guard let option = connectionOption else { return "TE" }
        return hasConnectionOption("te") ? option : "\(option), TE"
    }
}
