// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Names

/// The engine's connections: a ``PoolState`` behind a lock, with the tasks that wait for their turn.
final class ConnectionPool: Sendable {
    typealias State = PoolState<PoolKey, Connection>

    enum Lease {
        case reuse(Connection)
        case open
        /// All are busy: it is another's turn, and ``turn(of:_:deadline:)`` says when it is this one's.
        case wait(State.WaiterID)
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

        /// Finds the tasks behind wakes.
        mutating func take(_ wakes: [State.Wake]) -> [WokenTurn] {
            wakes.compactMap { wake in
                let (id, turn): (State.WaiterID, Turn) =
                    switch wake {
                    case .reuse(let waiter, let connection): (waiter, .success(.reuse(connection)))
                    case .open(let waiter): (waiter, .success(.open))
                    }
                guard let waiter = waiters.removeValue(forKey: id) else {
                    early[id] = turn
                    return nil
                }
                return WokenTurn(waiter: waiter, turn: turn)
            }
        }
    }

    private let group: any EventLoopGroup
    private let maximumAge: TimeAmount?
    /// Guards who has what; continuations are resumed and sockets closed outside of it.
    private let shared: NIOLockedValueBox<Shared>

    init(configuration: EngineConfiguration, group: any EventLoopGroup) {
        self.group = group
        maximumAge = configuration.maximumAge.map { TimeAmount($0) }
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
    var waitingCount: Int { shared.withLockedValue { $0.waiters.count } }

    /// The loop of the connection that would be lent next; nil where it would have to be opened.
    func nextLoop(_ key: PoolKey) -> (any EventLoop)? {
        shared.withLockedValue { $0.pool.next(key)?.eventLoop }
    }

    /// A connection of this key, or the duty to open one, or to wait.
    func lease(
        _ key: PoolKey,
        fresh: Bool,
        avoiding endpoints: Set<Endpoint> = []
    ) throws(DirectHTTPError) -> Lease {
        let loop = MultiThreadedEventLoopGroup.currentEventLoop
        let decision = shared.withLockedValue { shared -> State.Lease? in
            guard !shared.isShutDown else { return nil }
            let mayShare = key.origin.scheme.isSecure && key.tls.offersHTTP2
            return shared.pool.lease(
                key,
                fresh: fresh,
                mayShare: mayShare,
                isPreferred: { connection in loop.map { $0 === connection.eventLoop } ?? true },
                isAvoided: endpoints.isEmpty ? nil : { endpoints.contains($0.info.endpoint) }
            )
        }
        switch decision {
        case .reuse(let connection): return .reuse(connection)
        case .open: return .open
        case .wait(let waiter): return .wait(waiter)
        case .full:
            throw DirectHTTPError(
                .poolExhausted,
                "too many requests wait for a connection to \(key.origin): raise waitersPerOrigin or send fewer"
            )
        case nil: throw .shutDown
        }
    }

    /// The lent connection can serve another request.
    func release(_ connection: Connection, now: NIODeadline) {
        let isTooOld = maximumAge.map { connection.born + $0 <= now } ?? false
        let (turns, isKept) = shared.withLockedValue { shared -> ([WokenTurn], Bool) in
            guard !isTooOld, connection.epoch == shared.epoch else { return ([], false) }
            // A graceful shutdown has told every shared one to drain.
            guard !shared.isShutDown else { return ([], connection.isShared) }
            let (wakes, isKept) = shared.pool.release(connection, connection.key, isShared: connection.isShared)
            return (shared.take(wakes), isKept)
        }
        for turn in turns { turn.resume() }
        guard !isKept else { return }
        // A shared one may carry others. It leaves the pool at once, and closes when it carries none.
        if connection.isShared { connection.drain() } else { connection.close() }
    }

    /// A connection was opened: it is lent to its opener, and to others where it can be shared.
    func opened(_ connection: Connection) {
        let turns = shared.withLockedValue { shared -> [WokenTurn]? in
            shared.open[ObjectIdentifier(connection)] = connection
            guard !shared.isShutDown else { return nil }
            let capacity = connection.isShared ? HTTP2Handler.presumedCapacity : nil
            // Connections were retired while this one was dialled: it was dialled by what was known before.
            let isRetired = connection.epoch != shared.epoch
            return shared.take(
                shared.pool.opened(connection, connection.key, capacity: capacity, isRetired: isRetired)
            )
        }
        guard let turns else { return connection.close() }
        for turn in turns { turn.resume() }
    }

    /// A shared connection can be lent to another number of callers at a time.
    func resize(_ connection: Connection, capacity: Int) {
        change { $0.resize(connection, connection.key, capacity: capacity) }
    }

    /// A shared connection goes away: it serves those that it serves.
    func withdraw(_ connection: Connection) {
        change { $0.withdraw(connection, connection.key) }
    }

    func closed(_ connection: Connection) {
        change { $0.closed(connection, connection.key, isShared: connection.isShared) }
        let drained = shared.withLockedValue { shared -> [UnsafeContinuation<Void, Never>] in
            shared.open[ObjectIdentifier(connection)] = nil
            guard shared.open.isEmpty else { return [] }
            defer { shared.drained = [] }
            return shared.drained
        }
        for waiter in drained { waiter.resume() }
    }

    func openingFailed(_ key: PoolKey) {
        change { $0.openingFailed(key) }
    }

    private func change(_ body: (inout State) -> [State.Wake]) {
        let turns = shared.withLockedValue { shared in shared.take(body(&shared.pool)) }
        for turn in turns { turn.resume() }
    }

    /// Closes every connection that serves nobody.
    func closeIdle() {
        for connection in shared.withLockedValue({ $0.pool.takeIdle() }) { connection.close() }
    }

    /// Lets no open connection serve another exchange.
    func retire() {
        let retired = shared.withLockedValue { shared in
            shared.epoch += 1
            return shared.pool.takeAll()
        }
        for connection in retired { connection.drain() }
    }

    var epoch: Int { shared.withLockedValue(\.epoch) }

    /// Refuses what comes after, and closes every connection: at once, or when it serves nobody any more.
    func shutDown(isGraceful: Bool) {
        let (open, waiters) = shared.withLockedValue { shared -> ([Connection], [Waiter]) in
            shared.isShutDown = true
            defer { shared.waiters = [:] }
            return (Array(shared.open.values), Array(shared.waiters.values))
        }
        for waiter in waiters {
            waiter.timer?.cancel()
            waiter.continuation.resume(returning: .failure(.shutDown))
        }
        for connection in open {
            if isGraceful { connection.drain() } else { connection.close() }
        }
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

    /// Waits for a connection, or the duty to open one.
    func turn(
        of waiter: State.WaiterID,
        _ key: PoolKey,
        deadline: NIODeadline?
    ) async throws(DirectHTTPError) -> Lease {
        let turn = await waitCancellably { (continuation: UnsafeContinuation<Turn, Never>) in
            let timer = deadline.map { deadline in
                group.next().scheduleTask(deadline: deadline) { [self] in expire(waiter, key) }
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
            } else if let deadline, deadline <= .now() {
                // The timer may have fired before the waiter was registered, and found none.
                expire(waiter, key)
            }
        } onCancel: {
            leave(waiter, key, .cancelled, "the request to \(key.origin) was cancelled")
        }
        return try turn.get()
    }

    /// The time of a waiter is over.
    private func expire(_ waiter: State.WaiterID, _ key: PoolKey) {
        // Where none has stood yet it is the endpoints that do not answer, and no others that keep connections busy.
        if shared.withLockedValue({ $0.pool.isOpeningFirst(key) }) {
            leave(waiter, key, .connectTimeout, "no connection to \(key.origin) in time")
        } else {
            leave(waiter, key, .poolExhausted, "every connection to \(key.origin) stayed busy")
        }
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
