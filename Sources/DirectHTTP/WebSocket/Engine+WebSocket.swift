// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOPosix
import Names

extension Engine {
    /// Opens a WebSocket on a new connection, dialled like that of any exchange: address race, TLS with the origin's name, proxy.
    ///
    /// - Parameters:
    ///   - request: the handshake.
    ///   - source: provides the endpoints to dial.
    ///   - route: direct or by proxy; an HTTP proxy is used with CONNECT, for `ws` too.
    ///   - tls: the TLS settings; HTTP/2 is never offered.
    ///   - settings: the limits of the socket.
    ///   - limits: `connect` and `total` bound the opening, including its handshake. They do not apply to an open socket.
    /// - Throws: ``DirectHTTPError``; its code is `upgradeRefused` if the server answers with another response, which the error
    ///   carries.
    public func webSocket(
        _ request: WebSocketRequest,
        from source: some EndpointSource,
        route: Route = .direct,
        tls: TLSSettings = TLSSettings(),
        settings: WebSocketSettings = WebSocketSettings(),
        limits: TimeLimits = TimeLimits()
    ) async throws(DirectHTTPError) -> WebSocket {
        let answer = try await upgrade(
            request,
            from: source,
            route: route,
            tls: tls,
            settings: settings,
            limits: limits
        )
        guard let socket = answer.webSocket else {
            throw .upgradeRefused(by: request.origin, answer.head).with(attempts: answer.connection.attempts)
        }
        return socket
    }

    /// Opens a WebSocket for callers that treat the handshake as an ordinary exchange: if the server does not open a socket, its
    /// response is returned. The body of that response is not read.
    ///
    /// - Returns: the response, with the socket if it was opened.
    package func upgrade(
        _ request: WebSocketRequest,
        from source: some EndpointSource,
        route: Route,
        tls: TLSSettings,
        settings: WebSocketSettings,
        limits: TimeLimits
    ) async throws(DirectHTTPError) -> ExchangeResponse {
        let clock = ExchangeClock(limits: limits)
        var tls = tls
        tls.offersHTTP2 = false
        let key = PoolKey(origin: request.origin, tls: tls, route: route)
        let opening = WebSocketOpening(
            request: request,
            settings: settings,
            limits: configuration.headLimits,
            deadline: clock.connectDeadline
        )
        let opened = OneShot<WebSocket>()
        do throws(DirectHTTPError) {
            let dialer = try await dialer(for: key, from: source, clock: clock)
            let (channel, info) = try await dial(by: dialer, from: source, clock: clock) {
                [webSockets] won, info -> Result<(any Channel, ConnectionInfo), DirectHTTPError> in
                guard let id = webSockets.add(won.channel) else {
                    won.channel.closeTransport()
                    return .failure(.shutDown)
                }
                won.channel.closeFuture.whenComplete { _ in webSockets.remove(id) }
                opening.open(won.channel, info, opened: opened)
                return .success((won.channel, info))
            }
            return try await answer(to: request, by: opened, on: channel, info, begin: clock.begin)
        } catch {
            throw clock.explaining(error)
        }
    }

    private func answer(
        to request: WebSocketRequest,
        by opened: OneShot<WebSocket>,
        on channel: any Channel,
        _ info: ConnectionInfo,
        begin: NIODeadline
    ) async throws(DirectHTTPError) -> ExchangeResponse {
        let sent = NIODeadline.now()
        var socket: WebSocket?
        let head: HTTPResponse
        do throws(DirectHTTPError) {
            let open = try await opened.value(orCancelled: "opening the WebSocket to \(request.origin) was cancelled")
            (socket, head) = (open, open.response)
        } catch {
            channel.eventLoop.execute { channel.closeTransport() }
            guard error.code == .upgradeRefused, let response = error.response else { throw error }
            head = response
        }
        let firstByte = Duration(NIODeadline.now() - sent)
        let timings = ExchangeTimings(info: info, isReused: false, firstByte: firstByte, begin: begin)
        return ExchangeResponse(head: head, webSocket: socket, connection: info, timings: timings)
    }
}

/// Asks the last handler of a channel to close its socket now.
struct ShutDownEvent: Sendable {}
