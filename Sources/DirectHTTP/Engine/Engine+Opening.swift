// SPDX-License-Identifier: Apache-2.0

import HTTPWire
import NIOCore

extension Engine {
    /// Turns a dialled channel into a connection of the pool, on its event loop.
    ///
    /// - Parameter epoch: the pool's epoch before the resolution. If the pool retires its connections meanwhile, this one is
    ///   not kept.
    func connection(
        from won: DialRace.RaceResult,
        _ info: ConnectionInfo,
        to target: DialTarget,
        epoch: Int
    ) -> Result<Connection, DirectHTTPError> {
        let loop = won.channel.eventLoop
        // The handler needs the connection for its notices, and the connection needs the handler. The box breaks this cycle.
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
            // A closed channel sends no `.closed` notice, so its connection would stay in the pool for ever. The channel may also
            // close while the handler is added: HTTP/2 writes its preface then, and that write may fail.
            guard won.channel.isActive else { throw ChannelError.ioOnClosedChannel }
            handler = try install(info.applicationProtocol, on: won.channel, to: target, notify: notify)
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

    /// Adds the handler of the negotiated HTTP version to the end of the pipeline.
    private func install(
        _ applicationProtocol: String,
        on channel: any Channel,
        to target: DialTarget,
        notify: @escaping (ConnectionNotice) -> Void
    ) throws -> any ConnectionHandler {
        let loop = channel.eventLoop
        // A caller on a loop outside the engine's group dials on that loop.
        let wakes = wakes[ObjectIdentifier(loop)] ?? WakeQueue(loop)
        guard applicationProtocol == "h2" else {
            let handler = HTTP1Handler(
                configuration,
                isForwarded: target.key.forwarder != nil,
                isSecured: target.isSecured,
                wakes: wakes,
                notify: notify
            )
            try channel.pipeline.syncOperations.addHandler(handler)
            return handler
        }
        let handler = HTTP2Handler(configuration, now: loop.now, wakes: wakes, notify: notify)
        try channel.pipeline.syncOperations.addHandler(handler)
        return handler
    }
}
