// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// The engine's connections: a ``PoolState`` behind a lock, with the tasks that wait for their turn.
final class ConnectionPool: Sendable {
    typealias State = PoolState<PoolKey, Connection>

    enum Lease {
        case reuse(Connection)
        case open
    }

    private typealias Turn = Result<Lease, DirectHTTPError>

    private struct Waiter {
        let continuation: UnsafeContinuation<Turn, Never>
        let timer: Scheduled<Void>?
    }

    private struct Shared {
        var pool: State
        var waiters: [State.WaiterID: Waiter] = [:]
        /// Turns that came between a waiter's joining the queue and its falling asleep.
        var early: [State.WaiterID: Turn] = [:]
        var isShutDown = false
        /// Connections opened in an earlier epoch serve no further exchange.
        var epoch = 0
        /// Who waits for the last connection to close.
        var drained: [UnsafeContinuation<Void, Never>] = []
        /// Every open connection, so that shutting down can close them all.
        var open: [ObjectIdentifier: Connection] = [:]

        /// Finds the task behind a wake.
        mutating func take(_ wake: State.Wake?) -> WokenTurn? {
            let (id, turn): (State.WaiterID, Turn)
            switch wake {
            case .reuse(let waiter, let connection): (id, turn) = (waiter, .success(.reuse(connection)))
            case .open(let waiter): (id, turn) = (waiter, .success(.open))
            case nil: return nil
            }
            guard let waiter = waiters.removeValue(forKey: id) else {
                early[id] = turn
                return nil
            }
            return WokenTurn(waiter: waiter, turn: turn)
        }
    }

    private let group: any EventLoopGroup
    /// Guards who has what; continuations are resumed and sockets closed outside of it.
    private let shared: NIOLockedValueBox<Shared>

    init(configuration: EngineConfiguration, group: any EventLoopGroup) {
        self.group = group
        shared = NIOLockedValueBox(
            Shared(
                pool: State(
                    connectionsPerOrigin: max(1, configuration.connectionsPerOrigin),
                    waitersPerOrigin: max(0, configuration.waitersPerOrigin),
                    maximumIdle: max(0, configuration.maximumIdleConnections)
                )
            )
        )
    }

    var openCount: Int { shared.withLockedValue { $0.open.count } }

    /// A connection of this key, or the duty to open one.
    func lease(_ key: PoolKey, fresh: Bool, deadline: NIODeadline?) async throws(DirectHTTPError) -> Lease {
        let loop = MultiThreadedEventLoopGroup.currentEventLoop
        let decision = shared.withLockedValue { shared -> State.Lease? in
            guard !shared.isShutDown else { return nil }
            return shared.pool.lease(key, fresh: fresh) { connection in
                loop.map { $0 === connection.eventLoop } ?? true
            }
        }
        switch decision {
        case .reuse(let connection): return .reuse(connection)
        case .open: return .open
        case .wait(let waiter): return try await wait(waiter, key, deadline: deadline)
        case .full:
            throw DirectHTTPError(
                .poolExhausted,
                "too many requests wait for a connection to \(key.origin): raise waitersPerOrigin or send fewer"
            )
        case nil: throw .shutDown
        }
    }

    /// The lent connection can serve somebody else.
    func release(_ connection: Connection) {
        let (wake, keep) = shared.withLockedValue { shared -> (WokenTurn?, Bool) in
            guard connection.epoch == shared.epoch, !shared.isShutDown else { return (nil, false) }
            let (wake, keep) = shared.pool.release(connection, connection.key)
            return (shared.take(wake), keep)
        }
        wake?.resume()
        if !keep { connection.close() }
    }

    /// A connection was opened: it is lent to its opener.
    func opened(_ connection: Connection) {
        let isShutDown = shared.withLockedValue { shared in
            shared.open[ObjectIdentifier(connection)] = connection
            return shared.isShutDown
        }
        if isShutDown { connection.close() }
    }

    func closed(_ connection: Connection) {
        let (wake, drained) = shared.withLockedValue { shared -> (WokenTurn?, [UnsafeContinuation<Void, Never>]) in
            shared.open[ObjectIdentifier(connection)] = nil
            let wake = shared.take(shared.pool.closed(connection, connection.key))
            guard shared.open.isEmpty else { return (wake, []) }
            defer { shared.drained = [] }
            return (wake, shared.drained)
        }
        wake?.resume()
        for waiter in drained { waiter.resume() }
    }

    func openingFailed(_ key: PoolKey) {
        let wake = shared.withLockedValue { shared in shared.take(shared.pool.openingFailed(key)) }
        wake?.resume()
    }

    /// Closes every connection that serves nobody.
    func closeIdle() {
        for connection in shared.withLockedValue({ $0.pool.takeIdle() }) { connection.close() }
    }

    /// Lets no open connection serve another exchange.
    func retire() {
        let idle = shared.withLockedValue { shared in
            shared.epoch += 1
            return shared.pool.takeIdle()
        }
        for connection in idle { connection.close() }
    }

    var epoch: Int { shared.withLockedValue(\.epoch) }

    /// Closes everything and refuses what comes after.
    func shutDown() {
        let (open, waiters) = shared.withLockedValue { shared -> ([Connection], [Waiter]) in
            shared.isShutDown = true
            defer { shared.waiters = [:] }
            return (Array(shared.open.values), Array(shared.waiters.values))
        }
        for waiter in waiters {
            waiter.timer?.cancel()
            waiter.continuation.resume(returning: .failure(.shutDown))
        }
        for connection in open { connection.close() }
    }

    /// Returns when no connection is open.
    func allClosed() async {
        await withUnsafeContinuation { (waiter: UnsafeContinuation<Void, Never>) in
            let isDrained = shared.withLockedValue { shared in
                guard !shared.open.isEmpty else { return true }
                shared.drained.append(waiter)
                return false
            }
            if isDrained { waiter.resume() }
        }
    }

    private func wait(
        _ waiter: State.WaiterID,
        _ key: PoolKey,
        deadline: NIODeadline?
    ) async throws(DirectHTTPError) -> Lease {
        let turn = await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Turn, Never>) in
                let timer = deadline.map { deadline in
                    group.next().scheduleTask(deadline: deadline) { [self] in
                        leave(waiter, key, .poolExhausted, "every connection to \(key.origin) stayed busy")
                    }
                }
                let early = shared.withLockedValue { shared -> Turn? in
                    guard !shared.isShutDown else { return .failure(.shutDown) }
                    if let early = shared.early.removeValue(forKey: waiter) { return early }
                    shared.waiters[waiter] = Waiter(continuation: continuation, timer: timer)
                    return nil
                }
                if let early {
                    timer?.cancel()
                    continuation.resume(returning: early)
                } else if Task.isCancelled {
                    leave(waiter, key, .cancelled, "the request to \(key.origin) was cancelled")
                }
            }
        } onCancel: {
            leave(waiter, key, .cancelled, "the request to \(key.origin) was cancelled")
        }
        return try turn.get()
    }

    private func leave(_ waiter: State.WaiterID, _ key: PoolKey, _ code: DirectHTTPError.Code, _ why: String) {
        let left = shared.withLockedValue { shared -> Waiter? in
            guard shared.waiters[waiter] != nil, shared.pool.leave(waiter, key) else { return nil }
            return shared.waiters.removeValue(forKey: waiter)
        }
        left?.timer?.cancel()
        left?.continuation.resume(returning: .failure(DirectHTTPError(code, why)))
    }

    /// A waiter whose turn has come, resumed outside the lock.
    private struct WokenTurn {
        let waiter: Waiter
        let turn: Turn

        func resume() {
            waiter.timer?.cancel()
            waiter.continuation.resume(returning: turn)
        }
    }
}
