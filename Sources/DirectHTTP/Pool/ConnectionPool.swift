// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Names

/// The engine's connections: a ``PoolState`` behind a lock, with the tasks that wait for a connection.
///
/// The key is origin, TLS settings and route, never an address. HTTP/2 connections are not coalesced (RFC 9113 §9.1.1): each
/// origin has its own. A new answer of the resolver closes no live connection.
final class ConnectionPool: Sendable {
    typealias State = PoolState<PoolKey, Connection>
    /// Wait with ``turn(of:key:deadline:)`` if no connection is free.
    typealias Lease = State.Lease

    private typealias Turn = Result<Lease, DirectHTTPError>

    private struct Waiter {
        let continuation: UnsafeContinuation<Turn, Never>
        let timer: Scheduled<Void>?

        /// Not under the lock.
        func resume(_ turn: Turn) {
            timer?.cancel()
            continuation.resume(returning: turn)
        }
    }

    private struct LockedState {
        var pool: State
        var waiters: [State.WaiterID: Waiter] = [:]
        /// Results that arrived after a waiter joined the queue and before its task was suspended.
        var early: [State.WaiterID: Turn] = [:]
        var isShutDown = false
        /// Connections of an earlier epoch accept no further exchange.
        var epoch = 0
        var sleep: SleepWatch
        /// The tasks that wait for the last connection to close.
        var drained: [UnsafeContinuation<Void, Never>] = []
        /// Every open connection, so that a shutdown can close them all.
        var open: [ObjectIdentifier: Connection] = [:]

        /// Begins a new epoch. Returns the connections of the earlier ones, which the caller drains.
        mutating func retire() -> [Connection] {
            epoch += 1
            return pool.takeAll()
        }

        /// Removes the woken waiters and returns them with their results.
        mutating func take(_ wakes: [State.Wake]) -> [(Waiter, Turn)] {
            wakes.compactMap { wake in
                guard let waiter = waiters.removeValue(forKey: wake.waiter) else {
                    early[wake.waiter] = .success(wake.lease)
                    return nil
                }
                return (waiter, .success(wake.lease))
            }
        }
    }

    private let configuration: EngineConfiguration
    private let group: any EventLoopGroup
    private let maxAge: TimeAmount?
    /// Guards the pool's state. Continuations are resumed and sockets closed outside the lock.
    private let shared: NIOLockedValueBox<LockedState>
    private let clock: @Sendable () -> SleepWatch.Moment

    /// - Parameter clock: the time. Tests replace it.
    init(
        configuration: EngineConfiguration,
        group: any EventLoopGroup,
        clock: @escaping @Sendable () -> SleepWatch.Moment = { SleepWatch.now }
    ) {
        self.configuration = configuration
        self.group = group
        self.clock = clock
        maxAge = configuration.maxConnectionAge.map { TimeAmount(limit: $0) }
        shared = NIOLockedValueBox(
            LockedState(
                pool: State(
                    connectionsPerOrigin: max(1, configuration.connectionsPerOrigin),
                    waitersPerOrigin: max(0, configuration.waitersPerOrigin),
                    maxIdle: max(0, configuration.maxIdleConnections)
                ),
                sleep: SleepWatch(now: clock())
            )
        )
    }

    var openCount: Int { shared.withLockedValue { $0.open.count } }
    var waitingCount: Int { shared.withLockedValue { $0.waiters.count } }

    /// The loop of the connection that would be lent next; nil if one would have to be opened.
    func nextLoop(_ key: PoolKey) -> (any EventLoop)? {
        shared.withLockedValue { $0.pool.next(key)?.eventLoop }
    }

    func isOpeningFirst(_ key: PoolKey) -> Bool { shared.withLockedValue { $0.pool.isOpeningFirst(key) } }

    /// Returns a connection for the key, or whether the caller must open one or wait.
    func lease(_ key: PoolKey, fresh: Bool, avoiding endpoints: Set<Endpoint> = []) throws(DirectHTTPError) -> Lease {
        let loop = MultiThreadedEventLoopGroup.currentEventLoop
        let now = clock()
        var retired: [Connection] = []
        defer { for connection in retired { connection.drain() } }
        let lease = shared.withLockedValue { shared -> Lease? in
            guard !shared.isShutDown else { return nil }
            if shared.sleep.hasSlept(now: now) { retired = shared.retire() }
            let mayAgreeOnHTTP2 = key.origin.scheme.isSecure && key.tls.offersHTTP2
            let mayShare = mayAgreeOnHTTP2 || configuration.usesHTTP2PriorKnowledge(for: key)
            return shared.pool.lease(
                key,
                fresh: fresh,
                mayShare: mayShare,
                isPreferred: { connection in loop.map { $0 === connection.eventLoop } ?? true },
                isAvoided: endpoints.isEmpty ? nil : { endpoints.contains($0.info.endpoint) }
            )
        }
        guard let lease else { throw .shutDown }
        guard case .full = lease else { return lease }
        throw DirectHTTPError(
            .poolExhausted,
            "too many requests wait for a connection to \(key.origin): raise waitersPerOrigin or send fewer"
        )
    }

    /// Returns a lent connection to the pool after an exchange.
    func release(_ connection: Connection, now: NIODeadline) {
        let isTooOld = maxAge.map { connection.born + $0 <= now } ?? false
        let (turns, isKept) = shared.withLockedValue { shared -> ([(Waiter, Turn)], Bool) in
            guard !isTooOld, connection.epoch == shared.epoch else { return ([], false) }
            // A graceful shutdown has already told shared connections to drain.
            guard !shared.isShutDown else { return ([], connection.isShared) }
            let (wakes, isKept) = shared.pool.release(connection, key: connection.key, isShared: connection.isShared)
            return (shared.take(wakes), isKept)
        }
        for (waiter, turn) in turns { waiter.resume(turn) }
        guard !isKept else { return }
        // A shared connection may carry other exchanges. It leaves the pool at once and closes when they have ended.
        if connection.isShared { connection.drain() } else { connection.close() }
    }

    /// Adds an opened connection. It is lent to its opener, and to others if it can be shared.
    func opened(_ connection: Connection) {
        let turns = shared.withLockedValue { shared -> [(Waiter, Turn)]? in
            shared.open[ObjectIdentifier(connection)] = connection
            guard !shared.isShutDown else { return nil }
            let capacity = connection.isShared ? HTTP2Handler.presumedCapacity : nil
            // Connections were retired while this one was being dialled, so its endpoint may be outdated.
            let isRetired = connection.epoch != shared.epoch
            return shared.take(
                shared.pool.opened(connection, key: connection.key, capacity: capacity, isRetired: isRetired)
            )
        }
        guard let turns else { return connection.close() }
        for (waiter, turn) in turns { waiter.resume(turn) }
    }

    /// Changes how many exchanges a shared connection can carry at a time.
    func resize(_ connection: Connection, capacity: Int) {
        change { $0.resize(connection, key: connection.key, capacity: capacity) }
    }

    /// Stops lending a shared connection. Its exchanges continue.
    func withdraw(_ connection: Connection) { change { $0.withdraw(connection, key: connection.key) } }

    func closed(_ connection: Connection) {
        change { $0.closed(connection, key: connection.key, isShared: connection.isShared) }
        let drained = shared.withLockedValue { shared -> [UnsafeContinuation<Void, Never>] in
            shared.open[ObjectIdentifier(connection)] = nil
            guard shared.open.isEmpty else { return [] }
            defer { shared.drained = [] }
            return shared.drained
        }
        for waiter in drained { waiter.resume() }
    }

    func openingFailed(_ key: PoolKey) { change { $0.openingFailed(key) } }

    private func change(_ body: (inout State) -> [State.Wake]) {
        let turns = shared.withLockedValue { shared in shared.take(body(&shared.pool)) }
        for (waiter, turn) in turns { waiter.resume(turn) }
    }

    /// Closes every connection that carries no exchange.
    func closeIdle() {
        for connection in shared.withLockedValue({ $0.pool.takeIdle() }) { connection.close() }
    }

    /// Stops using all open connections for new exchanges.
    func retire() {
        let retired = shared.withLockedValue { $0.retire() }
        for connection in retired { connection.drain() }
    }

    var epoch: Int { shared.withLockedValue(\.epoch) }

    /// Refuses new requests and closes every connection: at once, or gracefully after its exchanges.
    func shutDown(isGraceful: Bool) {
        let (open, waiters) = shared.withLockedValue { shared -> ([Connection], [Waiter]) in
            shared.isShutDown = true
            defer { shared.waiters = [:] }
            return (Array(shared.open.values), Array(shared.waiters.values))
        }
        for waiter in waiters { waiter.resume(.failure(.shutDown)) }
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

    /// Waits for a connection or for permission to open one.
    func turn(of waiter: State.WaiterID, key: PoolKey, deadline: NIODeadline?) async throws(DirectHTTPError) -> Lease {
        let turn = await waitCancellably { (continuation: UnsafeContinuation<Turn, Never>) in
            let timer = deadline.map { deadline in
                group.next().scheduleTask(deadline: deadline) { [self] in expire(waiter, key: key) }
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
                cancel(waiter, key: key)
            } else if let deadline, deadline <= .now() {
                // The timer may have fired before the waiter was registered.
                expire(waiter, key: key)
            }
        } onCancel: {
            cancel(waiter, key: key)
        }
        return try turn.get()
    }

    private func cancel(_ waiter: State.WaiterID, key: PoolKey) {
        removeWaiter(waiter, key: key, code: .cancelled, message: "the request to \(key.origin) was cancelled")
    }

    /// Fails a waiter after its deadline.
    private func expire(_ waiter: State.WaiterID, key: PoolKey) {
        // If no connection is open and one is being opened, the endpoints do not answer. Otherwise all connections are busy.
        let isUnreachable = isOpeningFirst(key)
        let why =
            isUnreachable
            ? "no connection to \(key.origin) in time"
            : "every connection to \(key.origin) stayed busy until the time limit: raise connectionsPerOrigin or the limit, "
                + "or send fewer requests at once"
        removeWaiter(waiter, key: key, code: isUnreachable ? .connectTimeout : .poolExhausted, message: why)
    }

    /// The error of a caller that spent most of its time in the queue before it opened a connection. If no endpoint failed, the
    /// cause is that all connections were busy.
    func blaming(_ error: DirectHTTPError, key: PoolKey) -> DirectHTTPError {
        guard error.code == .connectTimeout, error.attempts.allSatisfy({ $0.outcome == .abandoned }),
            !isOpeningFirst(key)
        else { return error }
        var error = error
        error.code = .poolExhausted
        error.message = "every connection to \(key.origin) stayed busy until no time was left to open another"
        return error
    }

    private func removeWaiter(_ waiter: State.WaiterID, key: PoolKey, code: DirectHTTPError.Code, message why: String) {
        let left = shared.withLockedValue { shared -> Waiter? in
            guard shared.waiters[waiter] != nil, shared.pool.leave(waiter, key: key) else { return nil }
            return shared.waiters.removeValue(forKey: waiter)
        }
        left?.resume(.failure(DirectHTTPError(code, why)))
    }
}
