// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Names

/// The validated handshake request of a WebSocket (RFC 6455 §4.1).
public struct WebSocketRequest: Sendable {
    /// The GET request of the handshake, with the caller's fields.
    let request: PreparedRequest
    /// The offered subprotocols, in order of preference.
    package let subprotocols: [String]

    /// Validates a handshake request.
    ///
    /// - Parameters:
    ///   - url: the target; `http` and `https` mean the same as `ws` and `wss`.
    ///   - fields: header fields, such as cookies and `Origin`; the fields of the handshake itself are not allowed.
    ///   - subprotocols: the offered subprotocols, in order of preference (RFC 6455 §1.9).
    ///   - authority: the value of the Host header, instead of the URL's own.
    /// - Throws: ``DirectHTTPError`` with code `invalidRequest`.
    public init(
        _ url: HTTPURL,
        fields: HTTPFields = [:],
        subprotocols: [String] = [],
        authority: String? = nil
    ) throws(DirectHTTPError) {
        try self.init(PreparedRequest(.get, url, fields: fields, authority: authority), subprotocols: subprotocols)
    }

    /// Makes a handshake request from a validated request.
    ///
    /// - Throws: ``DirectHTTPError`` with code `invalidRequest`.
    package init(_ request: PreparedRequest, subprotocols: [String]) throws(DirectHTTPError) {
        guard request.method == .get, request.body.isNone else {
            throw DirectHTTPError(.invalidRequest, "a WebSocket is opened by a GET without a body")
        }
        for field in request.fields where field.name.canonicalName.hasPrefix("sec-websocket-") {
            throw DirectHTTPError(.invalidRequest, "the field \(field.name) belongs to the handshake: leave it out")
        }
        // A subprotocol is a token (RFC 9110 §5.6.2), as a field name is.
        guard Set(subprotocols).count == subprotocols.count, subprotocols.allSatisfy({ HTTPField.Name($0) != nil })
        else { throw DirectHTTPError(.invalidRequest, "subprotocols must be distinct tokens: \(subprotocols)") }
        self.subprotocols = subprotocols
        self.request = request
    }

    package var origin: Origin { request.origin }
}
