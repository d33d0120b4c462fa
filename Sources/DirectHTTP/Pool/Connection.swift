// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// An open connection: a Sendable handle to the handler that runs on the event loop.
final class Connection: ExchangeCarrier {
    let info: ConnectionInfo
    let key: PoolKey
    let eventLoop: any EventLoop
    /// The pool's epoch when it was dialled.
    let epoch: Int
    let born = NIODeadline.now()
    /// Whether it carries several exchanges at a time (HTTP/2).
    let isShared: Bool
    private let handler: NIOLoopBound<any ConnectionHandler>

    init(info: ConnectionInfo, key: PoolKey, epoch: Int, eventLoop: any EventLoop, handler: any ConnectionHandler) {
        self.info = info
        self.key = key
        self.epoch = epoch
        isShared = info.applicationProtocol == "h2"
        self.eventLoop = eventLoop
        self.handler = NIOLoopBound(handler, eventLoop: eventLoop)
    }

    var isCallerOnLoop: Bool { eventLoop.inEventLoop }

    func start(_ exchange: Exchange, now: NIODeadline) {
        // Not through ``onLoop(_:)``, which would allocate a closure.
        guard !eventLoop.inEventLoop else { return handler.value.start(exchange, now: now) }
        eventLoop.execute { [handler] in handler.value.start(exchange, now: now) }
    }

    func resumeReading(_ exchange: Exchange) { onLoop { $0.resumeReading(exchange) } }

    func abandon(_ exchange: Exchange) { onLoop { $0.abandon(exchange) } }

    func send(_ piece: ByteBuffer, of exchange: Exchange, done: @escaping @Sendable (Bool) -> Void) {
        onLoop { $0.send(piece, of: exchange, done: done) }
    }

    func finishSending(_ exchange: Exchange) { onLoop { $0.finishSending(exchange) } }

    func close() { onLoop { $0.closeNow() } }

    func drain() { onLoop { $0.drain() } }

    /// Runs the work directly if the caller is already on the loop.
    private func onLoop(_ work: @escaping @Sendable (any ConnectionHandler) -> Void) {
        if eventLoop.inEventLoop {
            work(handler.value)
        } else {
            eventLoop.execute { [handler] in work(handler.value) }
        }
    }
}
