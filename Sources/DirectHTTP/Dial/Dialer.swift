// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import Names

/// Opens one connection: runs a ``DialRace`` on an event loop for a task that waits and may be cancelled.
struct Dialer: Sendable {
    let target: DialTarget
    let list: EndpointList
    let resolveTime: Duration
    let configuration: EngineConfiguration
    let pool: ConnectionPool
    /// The pool's epoch before the endpoints were asked for: what is retired meanwhile is not kept.
    let epoch: Int

    private typealias Outcome = Result<Connection, DirectHTTPError>

    func dial(on loop: any EventLoop, deadline: NIODeadline?) async throws(DirectHTTPError) -> Connection {
        let cancellation = RaceCancellation(loop: loop)
        let outcome = await withTaskCancellationHandler {
            await withUnsafeContinuation { (waiter: UnsafeContinuation<Outcome, Never>) in
                loop.execute {
                    let race = DialRace(
                        on: loop,
                        to: list.endpoints,
                        of: target,
                        settings: configuration.dial
                    ) { result in
                        cancellation.race = nil
                        waiter.resume(returning: finish(result, on: loop))
                    }
                    guard !cancellation.isCancelled else { return race.cancel() }
                    cancellation.race = NIOLoopBound(race, eventLoop: loop)
                    race.start(deadline: deadline)
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
        return try outcome.get()
    }

    /// Makes the winner's channel a connection; on the loop.
    private func finish(_ result: Result<DialRace.Won, DirectHTTPError>, on loop: any EventLoop) -> Outcome {
        result.flatMap { won in
            let info = ConnectionInfo(
                endpoint: won.winner.endpoint,
                attempts: won.attempts,
                context: list.context,
                applicationProtocol: won.applicationProtocol,
                resolveTime: resolveTime,
                connectTime: won.winner.start + (won.winner.connect ?? .zero),
                handshakeTime: target.tls == nil && target.key.route == .direct ? nil : won.winner.handshake
            )
            // The handler tells the pool, and the pool keeps the connection: the box breaks the circle of their making.
            let box = NIOLoopBoundBox<Connection?>(nil, eventLoop: loop)
            let notify: (ConnectionNotice) -> Void = { [pool] notice in
                guard let connection = box.value else { return }
                switch notice {
                case .free: pool.release(connection)
                case .capacity(let capacity): pool.resize(connection, capacity: capacity)
                case .draining: pool.withdraw(connection)
                case .closed:
                    box.value = nil
                    pool.closed(connection)
                }
            }
            let handler: any ConnectionHandler
            do {
                // A channel that has died tells nobody any more, and its connection would stay in the pool for ever.
                guard won.channel.isActive else { throw ChannelError.ioOnClosedChannel }
                handler = try install(on: won.channel, info.applicationProtocol, notify: notify)
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
    }

    /// Puts what speaks the agreed version of HTTP at the end of the pipeline.
    private func install(
        on channel: any Channel,
        _ applicationProtocol: String,
        notify: @escaping (ConnectionNotice) -> Void
    ) throws -> any ConnectionHandler {
        let keepIdle = TimeAmount(configuration.keepIdle)
        let limits = HTTP1ResponseParser.Limits(
            headBytes: configuration.maximumHeadBytes,
            fieldCount: configuration.maximumHeadFields
        )
        guard applicationProtocol == "h2" else {
            let handler = HTTP1Handler(
                targetForm: targetForm,
                limits: limits,
                keepIdle: keepIdle,
                notify: notify
            )
            try channel.pipeline.syncOperations.addHandler(handler)
            return handler
        }
        let handler = HTTP2Handler(
            streamWindow: max(HTTP2Frame.defaultWindow, configuration.bufferedBodyBytes),
            limits: limits,
            keepIdle: keepIdle,
            silence: configuration.pingAfter.map { TimeAmount($0) },
            patience: TimeAmount(configuration.pingPatience),
            now: channel.eventLoop.now,
            notify: notify
        )
        try channel.pipeline.syncOperations.addHandler(handler)
        return handler
    }

    private var targetForm: HTTP1RequestWriter.TargetForm {
        if case .proxy(let proxy) = target.key.route, !target.key.origin.scheme.isSecure {
            return .absolute(credentials: proxy.authorization)
        }
        return .origin
    }
}

/// Lets a task that is cancelled reach the race that it waits for.
private final class RaceCancellation: Sendable {
    private struct State {
        var isCancelled = false
        var race: NIOLoopBound<DialRace>?
    }

    private let loop: any EventLoop
    /// Guards the hand-over between the task and the loop.
    private let state = NIOLockedValueBox(State())

    init(loop: any EventLoop) { self.loop = loop }

    var isCancelled: Bool { state.withLockedValue(\.isCancelled) }

    var race: NIOLoopBound<DialRace>? {
        get { state.withLockedValue(\.race) }
        set { state.withLockedValue { $0.race = newValue } }
    }

    func cancel() {
        state.withLockedValue { $0.isCancelled = true }
        loop.execute { [self] in race?.value.cancel() }
    }
}
