// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import LibC
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOTLS
import Names

/// Accepts connections, performs the TLS handshake and adds HTTP/1.1 or HTTP/2 handlers.
final class ServerListener: Sendable {
    private let configuration: ServerConfiguration
    private let service: ServerService
    /// The certificate of new connections.
    let certificate: ServerCertificate
    private let listening = NIOLockedValueBox<(any Channel)?>(nil)

    init(_ configuration: ServerConfiguration, _ service: ServerService) throws(ServerError) {
        self.configuration = configuration
        self.service = service
        certificate = try ServerCertificate(configuration.tls, protocols: ["h2", "http/1.1"])
    }

    // MARK: Listening

    func start() async throws(ServerError) -> Endpoint {
        let bootstrap = service.connections.bootstrap(backlog: 1_024) { [self] in try addHandlers(to: $0, ends: $1) }
        do {
            let channel = try await bind(bootstrap)
            listening.withLockedValue { $0 = channel }
            // `stop` may have run before the channel was stored.
            guard !service.isDraining else {
                channel.close(promise: nil)
                throw ServerError(.cannotListen, "the server was stopped")
            }
            guard let endpoint = ConnectionEnds(channel, trusting: []).local else {
                channel.close(promise: nil)
                throw ServerError(.cannotListen, "the socket has no IP address")
            }
            service.started()
            return endpoint
        } catch {
            let place = configuration.listeningSocket.map { "descriptor \($0)" } ?? "\(configuration.listen)"
            throw error as? ServerError ?? ServerError(.cannotListen, ListenFailure.explain(error, at: place))
        }
    }

    /// Binds a socket, or takes over the one of the configuration.
    private func bind(_ bootstrap: ServerBootstrap) async throws -> any Channel {
        guard let socket = configuration.listeningSocket else {
            return try await bootstrap.bind(to: SocketAddress(configuration.listen)).get()
        }
        // NIO traps if it cannot listen on a descriptor.
        guard Self.isListening(socket) else {
            throw ServerError(.cannotListen, "descriptor \(socket) is not a socket that listens")
        }
        return try await bootstrap.withBoundSocket(socket).get()
    }

    private static func isListening(_ socket: CInt) -> Bool {
        var value: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0
    }

    /// Answers `/ready` with 503 from now on. Returns whether it did not before.
    func retire() -> Bool { service.retire() }

    /// Stops accepting, sends GOAWAY to HTTP/2 clients, waits until the pending answers have left and closes the connections.
    func stop() async {
        service.drain()
        if let channel = listening.withLockedValue({ $0.take() }) { try? await channel.close().get() }
        let channels = service.connections.channels
        for channel in channels {
            channel.eventLoop.execute {
                // HTTP/1.1 connections do not have this handler. They close after their replies.
                try? channel.pipeline.syncOperations.handler(type: HTTP2ServerHandler.self).sendGoAway()
            }
        }
        let end = ContinuousClock.now + configuration.drainTime
        await waitUncancelled(until: end) { [service] in service.underWay == 0 }
        for channel in channels { channel.eventLoop.execute { Self.finish(channel) } }
        await waitUncancelled(until: end) { [service] in service.connections.counts.open == 0 }
        for channel in service.connections.channels {
            channel.eventLoop.execute {
                try? channel.pipeline.syncOperations.handler(type: HTTP2ServerHandler.self).abandon()
            }
        }
        await service.connections.closeAll()
    }

    /// Closes a connection when its replies have left.
    private static func finish(_ channel: any Channel) {
        let pipeline = channel.pipeline.syncOperations
        if let handler = try? pipeline.handler(type: HTTP2ServerHandler.self) {
            handler.finish()
        } else if let handler = try? pipeline.handler(type: RequestHandler.self) {
            handler.finish(channel)
        } else {
            // Still before the end of its TLS handshake or PROXY header.
            channel.close(promise: nil)
        }
    }

    // MARK: Connections

    private func addHandlers(to channel: any Channel, ends: ConnectionEnds) throws {
        let timer = ConnectionTimer(channel, configuration)
        guard let context = certificate.context else {
            return try addHTTP1(to: channel, ends: ends, timer: timer)
        }
        timer.beginHandshake(TimeAmount(limit: configuration.handshakeTimeout))
        let bound = NIOLoopBound(timer, eventLoop: channel.eventLoop)
        try channel.pipeline.syncOperations.addHandlers(
            NIOSSLServerHandler(context: context),
            ApplicationProtocolNegotiationHandler { [self] result, channel in
                channel.eventLoop.makeCompletedFuture {
                    if case .negotiated("h2") = result {
                        bound.value.end()
                        try addHTTP2(to: channel, ends: ends)
                    } else {
                        try addHTTP1(to: channel, ends: ends, timer: bound.value)
                    }
                }
            },
            FaultCloser()
        )
    }

    private func addHTTP1(to channel: any Channel, ends: ConnectionEnds, timer: ConnectionTimer) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(OctetWatch(timer))
        try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
        try pipeline.addHandler(RequestHandler(service, ends: ends, timer: timer, isOverTLS: configuration.tls != nil))
        timer.waitForRequest()
    }

    private func addHTTP2(to channel: any Channel, ends: ConnectionEnds) throws {
        let (service, loop) = (service, channel.eventLoop)
        let handler = HTTP2ServerHandler(configuration, ends: ends) { request, handler in
            // Without the request, whose body would be kept until the reply.
            let (id, hasContent) = (request.stream, request.hasContent)
            return service.answer(request.question, isTooLarge: request.isTooLarge, trace: request.trace, on: loop) {
                [weak handler] reply in
                let body = hasContent ? reply.body : []
                handler?.reply(reply.status, fields: reply.fields(date: service.date), body: body, to: id)
            }
        }
        try channel.pipeline.syncOperations.addHandler(handler)
    }
}

/// Closes a connection when its TLS handshake or its HTTP/2 fails.
private final class FaultCloser: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
