// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Names

extension Engine {
    /// Opens a WebSocket. It has a connection of its own, dialled as for any exchange: race, TLS for the origin's name, proxy.
    ///
    /// - Parameters:
    ///   - request: the handshake.
    ///   - source: asked for endpoints.
    ///   - route: the way; through an HTTP proxy by CONNECT, for `ws` too.
    ///   - tls: how TLS is done; HTTP/2 is never offered.
    ///   - settings: the socket's bounds.
    ///   - limits: `connect` (and `whole`) bound the opening, its handshake included. An open socket has no limits but its own.
    /// - Throws: ``DirectHTTPError``; with code `upgradeRefused` and the response where the server answers something else.
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

    /// The same for those to whom the handshake is an exchange like any other: what the server answers instead is a response, whose
    /// body nobody reads.
    ///
    /// - Returns: the response, with the socket where it opened one.
    package func upgrade(
        _ request: WebSocketRequest,
        from source: some EndpointSource,
        route: Route,
        tls: TLSSettings,
        settings: WebSocketSettings,
        limits: TimeLimits
    ) async throws(DirectHTTPError) -> ExchangeResponse {
        let clock = ExchangeClock(limits: limits)
        do {
            return try await upgrade(request, from: source, route, tls, settings, clock)
        } catch {
            throw clock.explaining(error)
        }
    }

    private func upgrade(
        _ request: WebSocketRequest,
        from source: some EndpointSource,
        _ route: Route,
        _ tls: TLSSettings,
        _ settings: WebSocketSettings,
        _ clock: ExchangeClock
    ) async throws(DirectHTTPError) -> ExchangeResponse {
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
        let dialer = try await dialer(key, source, clock: clock)
        let (channel, info) = try await dial(by: dialer, clock: clock) {
            [webSockets] won, info -> Result<(any Channel, ConnectionInfo), DirectHTTPError> in
            guard webSockets.add(won.channel) else {
                won.channel.closeTransport()
                return .failure(.shutDown)
            }
            opening.open(won.channel, info, opened: opened)
            return .success((won.channel, info))
        }
        let sent = NIODeadline.now()
        func answer(_ head: HTTPResponse, _ socket: WebSocket?) -> ExchangeResponse {
            let firstByte = Duration(NIODeadline.now() - sent)
            return ExchangeResponse(
                head: head,
                webSocket: socket,
                connection: info,
                timings: ExchangeTimings(info: info, isReused: false, firstByte: firstByte, begin: clock.begin)
            )
        }
        do {
            let socket = try await opened.value(orCancelled: "opening the WebSocket to \(request.origin) was cancelled")
            return answer(socket.response, socket)
        } catch {
            channel.eventLoop.execute { channel.closeTransport() }
            guard error.code == .upgradeRefused, let response = error.response else { throw error }
            return answer(response, nil)
        }
    }
}

/// The channels that left HTTP: they are in no pool, and end with their engine all the same.
final class UpgradedChannels: Sendable {
    private struct State {
        var open: [ObjectIdentifier: any Channel] = [:]
        var isShutDown = false
    }

    /// Guards which are open.
    private let state = NIOLockedValueBox(State())

    var count: Int { state.withLockedValue { $0.open.count } }

    /// Returns false where the engine was shut down.
    func add(_ channel: any Channel) -> Bool {
        let id = ObjectIdentifier(channel)
        let isOpen = state.withLockedValue { state in
            if !state.isShutDown { state.open[id] = channel }
            return !state.isShutDown
        }
        if isOpen {
            channel.closeFuture.whenComplete { [self] _ in state.withLockedValue { $0.open[id] = nil } }
        }
        return isOpen
    }

    /// Closes all of them, refuses what comes after, and returns when none is left.
    func shutDown() async {
        let open = state.withLockedValue { state in
            state.isShutDown = true
            return Array(state.open.values)
        }
        for channel in open {
            channel.pipeline.fireUserInboundEventTriggered(ShutDownEvent())
            try? await channel.closeFuture.get()
        }
    }

    /// Tells the last handler of a channel to close its socket now.
    struct ShutDownEvent: Sendable {}
}
