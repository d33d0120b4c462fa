// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import HTTPTypes
public import Names

extension BeelineClient {
    /// Opens a WebSocket by its URL.
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
        let parsed: HTTPURL
        do {
            parsed = try HTTPURL(url)
        } catch {
            throw BeelineError(error)
        }
        return try await webSocket(
            parsed,
            fields: fields,
            subprotocols: subprotocols,
            settings: settings,
            options: options
        )
    }

    /// Opens a WebSocket. The handshake is a request like any other: interceptors see it, and logs, metrics and traces tell it;
    /// HTTPDNS names the address; and Host, SNI, certificate, `Origin` and cookies are those of the URL's name. Cookies of the
    /// answer are kept, whatever it says, and a challenge is answered. A redirect is not followed (RFC 6455 §4.1 leaves that
    /// open, and browsers do not).
    ///
    /// - Parameters:
    ///   - url: where to: `ws` and `wss`, or `http` and `https` which mean the same.
    ///   - fields: header fields; an `Origin` among them replaces the URL's own.
    ///   - subprotocols: offered in this order.
    ///   - settings: the socket's bounds.
    ///   - options: limits, retries, cookies and credentials; `limits.connect` and `limits.whole` bound the opening. It is not
    ///     hedged. Of the configuration's credentials those for the `https` origin hold too.
    /// - Throws: ``BeelineError``; with code `upgradeRefused` for an answer that opens no WebSocket, and `response` in the
    ///   `DirectHTTPError` that is its cause.
    public func webSocket(
        _ url: HTTPURL,
        fields: HTTPFields = [:],
        subprotocols: [String] = [],
        settings: WebSocketSettings = WebSocketSettings(),
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> WebSocket {
        var head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil, headerFields: fields)
        if fields[.origin] == nil { head.headerFields[.origin] = url.origin.httpEquivalent.serialized }
        var options = options
        options.redirects = RedirectPolicy.none
        let call = Call(
            self,
            limits: options.limits ?? configuration.limits,
            upgrade: Call.Upgrade(subprotocols: subprotocols, settings: settings)
        )
        let response = try await call.run(ClientRequest(head, to: url, options: options))
        guard let socket = response.webSocket else {
            var refusal = DirectHTTPError.upgradeRefused(by: url.origin, response.head)
            refusal.attempts = response.hop.attempts
            throw BeelineError(refusal, hops: Array(response.hops.dropLast()))
        }
        return socket
    }
}
