// SPDX-License-Identifier: Apache-2.0

import CookieJar
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

    /// Opens a WebSocket. The handshake is a request like any other: HTTPDNS names the address, and Host, SNI, certificate,
    /// `Origin` and cookies are those of the URL's name. Cookies of the answer are kept, whatever it says. A redirect is not
    /// followed (RFC 6455 §4.1 leaves that open, and browsers do not).
    ///
    /// - Parameters:
    ///   - url: where to: `ws` and `wss`, or `http` and `https` which mean the same.
    ///   - fields: header fields; an `Origin` among them replaces the URL's own.
    ///   - subprotocols: offered in this order.
    ///   - settings: the socket's bounds.
    ///   - options: limits, cookies and credentials; `limits.connect` and `limits.whole` bound the opening. Credentials of Basic
    ///     and Bearer are sent, those of the configuration for the `https` origin too; a challenge is not answered.
    /// - Throws: ``BeelineError``; with code `upgradeRefused` for an answer that opens no WebSocket, and `response` in the
    ///   `DirectHTTPError` that is its cause.
    public func webSocket(
        _ url: HTTPURL,
        fields: HTTPFields = [:],
        subprotocols: [String] = [],
        settings: WebSocketSettings = WebSocketSettings(),
        options: RequestOptions = RequestOptions()
    ) async throws(BeelineError) -> WebSocket {
        let jar = options.jar ?? configuration.jar
        let context = options.cookieContext(of: url, .get)
        let cookies = CookieStep.outgoing(
            options.sendsCookies ? jar : nil,
            url: url,
            explicit: fields[.cookie],
            context: context
        )
        let route = try configuration.route(to: url.origin)
        let keeps = options.keepsCookies ? jar : nil
        do {
            let request = try WebSocketRequest(
                url,
                fields: handshakeFields(fields, cookie: cookies.field, url, options.credentials),
                subprotocols: subprotocols
            )
            let socket = try await open(request, route, settings, options.limits ?? configuration.limits)
            _ = CookieStep.incoming(keeps, url: url, fields: socket.response.headerFields, context: context)
            return socket
        } catch {
            if let response = error.response {
                _ = CookieStep.incoming(keeps, url: url, fields: response.headerFields, context: context)
            }
            throw BeelineError(error, route: route)
        }
    }

    private func handshakeFields(
        _ fields: HTTPFields,
        cookie: HTTPField?,
        _ url: HTTPURL,
        _ credentials: Credentials?
    ) -> HTTPFields {
        var fields = fields
        fields[.cookie] = nil
        if let cookie { fields.append(cookie) }
        if fields[.userAgent] == nil { fields[.userAgent] = configuration.userAgent }
        if fields[.origin] == nil { fields[.origin] = url.origin.httpEquivalent.serialized }
        if fields[.authorization] == nil {
            let credentials =
                credentials ?? url.credentials ?? configuration.credentials[url.origin]
                ?? configuration.credentials[url.origin.httpEquivalent]
            fields[.authorization] = credentials?.unaskedField
        }
        return fields
    }

    private func open(
        _ request: WebSocketRequest,
        _ route: Route,
        _ settings: WebSocketSettings,
        _ limits: TimeLimits
    ) async throws(DirectHTTPError) -> WebSocket {
        let tls = configuration.tls
        guard case .direct = route else {
            let source = ProxyEndpoints(system: resolver.configuration.system)
            return try await engine.webSocket(
                request,
                from: source,
                route: route,
                tls: tls,
                settings: settings,
                limits: limits
            )
        }
        let source = OriginEndpoints(resolver: resolver, pinned: configuration.pinned)
        do {
            let socket = try await engine.webSocket(request, from: source, tls: tls, settings: settings, limits: limits)
            learn(from: socket.connection.attempts, of: request.origin.host)
            return socket
        } catch {
            learn(from: error.attempts, of: request.origin.host)
            throw error
        }
    }
}
