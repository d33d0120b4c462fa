// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Names

/// The handshake of a WebSocket (RFC 6455 §4.1), checked once.
public struct WebSocketRequest: Sendable {
    /// What is asked: the URL's own Host, and the caller's fields.
    let request: PreparedRequest
    /// The subprotocols that are offered, best first.
    public let subprotocols: [String]

    /// Checks a handshake.
    ///
    /// - Parameters:
    ///   - url: where to; `ws` and `wss`, or `http` and `https` which mean the same.
    ///   - fields: header fields, such as cookies and `Origin`; those that make the handshake are not the caller's.
    ///   - subprotocols: offered in this order (RFC 6455 §1.9).
    ///   - authority: what the Host header says instead of the URL's own.
    /// - Throws: ``DirectHTTPError`` with code `invalidRequest`.
    public init(
        _ url: HTTPURL,
        fields: HTTPFields = [:],
        subprotocols: [String] = [],
        authority: String? = nil
    ) throws(DirectHTTPError) {
        try self.init(PreparedRequest(.get, url, fields: fields, authority: authority), subprotocols: subprotocols)
    }

    /// Checks the handshake of a request that was checked as one.
    ///
    /// - Throws: ``DirectHTTPError`` with code `invalidRequest`.
    package init(_ request: PreparedRequest, subprotocols: [String]) throws(DirectHTTPError) {
        guard request.method == .get, request.body.isNone else {
            throw DirectHTTPError(.invalidRequest, "what opens a WebSocket is a GET without a body")
        }
        for field in request.fields where field.name.canonicalName.hasPrefix("sec-websocket-") {
            throw DirectHTTPError(.invalidRequest, "the field \(field.name) belongs to the handshake: leave it out")
        }
        // A token (RFC 9110 §5.6.2) is what a field's name is, too.
        guard Set(subprotocols).count == subprotocols.count, subprotocols.allSatisfy({ HTTPField.Name($0) != nil })
        else {
            throw DirectHTTPError(.invalidRequest, "subprotocols are tokens, each once: \(subprotocols)")
        }
        self.subprotocols = subprotocols
        self.request = request
    }

    /// Where to.
    public var origin: Origin { request.origin }
}
