// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import HTTPTypes
public import Names

extension BeelineClient {
    /// Opens a WebSocket to a URL string.
    ///
    /// ```swift
    /// let socket = try await client.webSocket("wss://www.example.com/live", subprotocols: ["chat"])
    /// try await socket.send("hello")
    /// ```
    ///
    /// - Throws: ``BeelineError``.
    public func webSocket(
        _ url: String,
        fields: HTTPFields = [:],
        subprotocols: [String] = [],
        settings: WebSocketSettings = WebSocketSettings(),
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> WebSocket {
        try await webSocket(
            try Self.parse(url),
            fields: fields,
            subprotocols: subprotocols,
            settings: settings,
            options: options
        )
    }

    /// Opens a WebSocket.
    ///
    /// The handshake is an ordinary request: interceptors see it, before the client adds a missing `Origin`, and logs,
    /// metrics and traces record it. HTTPDNS resolves the host. Host, SNI, certificate, `Origin` and cookies use the
    /// host name of the URL. `Origin` has the scheme that is used, which HSTS or an HTTPS record may have changed. The
    /// client keeps the cookies of the response, whatever its status, and answers an authentication challenge. It does
    /// not follow a redirect: RFC 6455 §4.1 leaves that open, and browsers do not follow one either.
    ///
    /// - Parameters:
    ///   - url: The URL. `ws` and `wss` mean the same as `http` and `https`.
    ///   - fields: Header fields. An `Origin` field replaces the origin of the URL.
    ///   - subprotocols: The subprotocols to offer, in this order.
    ///   - settings: The limits of the socket.
    ///   - options: Limits, retries, cookies and credentials. `limits.connect` and `limits.total` limit the handshake. The
    ///     handshake is never hedged. The configured credentials of the equivalent `http` or `https` origin also apply.
    /// - Throws: ``BeelineError``; `upgradeRefused` if the response does not open a WebSocket. Its `underlyingError` is then a
    ///   `DirectHTTPError` whose `response` is that response.
    public func webSocket(
        _ url: HTTPURL,
        fields: HTTPFields = [:],
        subprotocols: [String] = [],
        settings: WebSocketSettings = WebSocketSettings(),
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> WebSocket {
        let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil, headerFields: fields)
        var options = options
        options.redirects = .off
        let call = Call(self, upgrade: Call.Upgrade(subprotocols: subprotocols, settings: settings))
        let response = try await call.run(ClientRequest(head, to: url, options: options))
        guard let socket = response.webSocket else {
            var refusal = DirectHTTPError.upgradeRefused(by: url.origin, response.head)
            refusal.attempts = response.hop.attempts
            throw BeelineError(refusal, hops: Array(response.hops.dropLast()))
        }
        return socket
    }
}
