// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Makes a dialled channel a ``Connection`` of the pool, on its event loop.
struct ConnectionMaker: Sendable {
    let target: DialTarget
    let configuration: EngineConfiguration
    let pool: ConnectionPool
    /// Of the loop that the channel lives on.
    let wakes: WakeQueue
    /// The pool's epoch before the endpoints were asked for: what is retired meanwhile is not kept.
    let epoch: Int

    func make(_ won: DialRace.Won, _ info: ConnectionInfo) -> Result<Connection, DirectHTTPError> {
        let loop = won.channel.eventLoop
        // The handler tells the pool, and the pool keeps the connection: the box breaks the circle of their making.
        let box = NIOLoopBoundBox<Connection?>(nil, eventLoop: loop)
        let notify: (ConnectionNotice) -> Void = { [pool] notice in
            guard let connection = box.value else { return }
            switch notice {
            case .free(let now): pool.release(connection, now: now)
            case .capacity(let capacity): pool.resize(connection, capacity: capacity)
            case .draining: pool.withdraw(connection)
            case .closed:
                box.value = nil
                pool.closed(connection)
            }
        }
        let handler: any ConnectionHandler
        do {
            // A channel that has closed sends no `.closed` any more, and its connection would stay in the pool for ever. It may
            // also close while the handler is added: HTTP/2 writes its preface then, and that write may fail.
            guard won.channel.isActive else { throw ChannelError.ioOnClosedChannel }
            handler = try install(on: won.channel, info.applicationProtocol, notify: notify)
            guard won.channel.isActive else { throw ChannelError.ioOnClosedChannel }
        } catch {
            return .failure(
                DirectHTTPError(
                    .connectFailed,
                    "\(won.winner.endpoint) closed the connection at once",
                    attempts: won.attempts,
                    underlyingError: error
                )
            )
        }
        let connection = Connection(info: info, key: target.key, epoch: epoch, eventLoop: loop, handler: handler)
        box.value = connection
        pool.opened(connection)
        return .success(connection)
    }

    /// Puts what speaks the agreed version of HTTP at the end of the pipeline.
    private func install(
        on channel: any Channel,
        _ applicationProtocol: String,
        notify: @escaping (ConnectionNotice) -> Void
    ) throws -> any ConnectionHandler {
        let keepIdle = TimeAmount(configuration.keepIdle)
        guard applicationProtocol == "h2" else {
            let handler = HTTP1Handler(
                isForwarded: target.key.forwarder != nil,
                limits: configuration.headLimits,
                keepIdle: keepIdle,
                isSecured: target.isSecured,
                wakes: wakes,
                notify: notify
            )
            try channel.pipeline.syncOperations.addHandler(handler)
            return handler
        }
        let handler = HTTP2Handler(
            streamWindow: max(HTTP2Frame.defaultWindow, configuration.bufferedBodyBytes),
            limits: configuration.headLimits,
            keepIdle: keepIdle,
            silence: configuration.pingAfter.map { TimeAmount($0) },
            patience: TimeAmount(configuration.pingPatience),
            now: channel.eventLoop.now,
            wakes: wakes,
            notify: notify
        )
        try channel.pipeline.syncOperations.addHandler(handler)
        return handler
    }
}
