// SPDX-License-Identifier: Apache-2.0

import HTTPWire
import LibC
import NIOCore

/// Turns a dialled channel into a WebSocket, on its event loop.
struct WebSocketOpening: Sendable {
    let request: WebSocketRequest
    let settings: WebSocketSettings
    let limits: HTTP1ResponseReader.Limits
    let deadline: NIODeadline?

    /// Sends the handshake and waits for the response. Closes the channel if the handshake fails.
    func open(_ channel: any Channel, _ info: ConnectionInfo, opened: OneShot<WebSocket>) {
        var random = SystemRandomNumberGenerator()
        let handshake = WebSocketHandshake(
            request,
            offersCompression: settings.offersCompression,
            limits: limits,
            using: &random
        )
        var timer: Scheduled<Void>?
        let handler = HandshakeHandler(handshake) { result in
            timer?.cancel()
            let result = result.flatMap { install($0, on: channel, info) }
            if case .failure = result { channel.closeWithAlert() }
            // If the caller was cancelled, the socket has no reference, and its deinit closes it.
            opened.resolve(result.mapError { $0.with(attempts: info.attempts) })
        }
        do {
            guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
            try channel.pipeline.syncOperations.addHandler(handler)
        } catch {
            opened.resolve(
                .failure(
                    DirectHTTPError(
                        .connectionLost,
                        "\(info.endpoint) closed the connection at once",
                        attempts: info.attempts,
                        underlyingError: error
                    )
                )
            )
            return channel.close(promise: nil)
        }
        if let deadline {
            timer = channel.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
                let late = DirectHTTPError(.connectTimeout, "\(request.origin) did not open the WebSocket in time")
                if let context = try? channel.pipeline.syncOperations.context(handler: handler) {
                    handler.fail(late, context)
                }
            }
        }
    }

    /// Limits the bytes that the kernel queues, because control frames wait behind them.
    private static func keepQueueShort(_ channel: any Channel) {
        let limit = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_NOTSENT_LOWAT))
        // Unix domain sockets do not have this option.
        try? channel.syncOptions?.setOption(limit, value: 64 * 1024)
    }

    private func install(
        _ opened: WebSocketHandshake.Opened,
        on channel: any Channel,
        _ info: ConnectionInfo
    ) -> Result<WebSocket, DirectHTTPError> {
        let loop = channel.eventLoop
        let box = NIOLoopBoundBox<WebSocketHandler?>(nil, eventLoop: loop)
        let inbox = WebSocketInbox(bound: settings.bufferedBytes) {
            loop.execute { box.value?.resumeReading() }
        }
        let handler = WebSocketHandler(settings: settings, deflate: opened.agreement.deflate, inbox: inbox) {
            box.value = nil
        }
        do {
            try channel.pipeline.syncOperations.addHandler(handler)
        } catch {
            return .failure(
                DirectHTTPError(.connectionLost, "the server closed the connection", underlyingError: error)
            )
        }
        box.value = handler
        Self.keepQueueShort(channel)
        let socket = WebSocket(
            response: opened.response,
            agreement: opened.agreement,
            connection: info,
            inbox: inbox,
            handler: handler,
            channel: channel
        )
        if opened.rest.readableBytes > 0, let context = try? channel.pipeline.syncOperations.context(handler: handler) {
            handler.channelRead(context: context, data: NIOAny(opened.rest))
        }
        return .success(socket)
    }
}
