// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Names

extension Engine {
    /// A request that was sent on a connection, with its result.
    struct SendResult: Sendable {
        let connection: Connection
        let isReused: Bool
        let time: NIODeadline
        let head: Exchange.HeadResult
    }

    /// Leases a connection, sends the request and waits for the head of the response.
    func send(
        _ exchange: Exchange,
        for key: PoolKey,
        from source: some EndpointSource,
        fresh: Bool,
        clock: inout ExchangeClock
    ) async throws(DirectHTTPError) -> SendResult {
        let avoided =
            if let side = exchange.request.hedgeSide {
                await avoided(by: side, for: key, from: source, clock: clock)
            } else {
                Set<Endpoint>()
            }
        var lease = try pool.lease(key, fresh: fresh, avoiding: avoided)
        var hasWaitedLong = false
        if case .wait(let waiter) = lease {
            (lease, hasWaitedLong) = try await waitForLease(
                waiter,
                for: key,
                fresh: fresh,
                avoiding: avoided,
                clock: &clock
            )
        }
        if case .reuse(let connection) = lease { return await send(exchange, on: connection, isReused: true) }
        return try await sendOnNewConnection(
            exchange,
            for: key,
            from: source,
            avoiding: avoided,
            hasWaitedLong: hasWaitedLong,
            clock: clock
        )
    }

    /// Waits for a connection of the pool, or for permission to open one. Kept out of `send` so that the async frame of a
    /// request that does not wait stays small.
    ///
    /// - Returns: also whether the wait took longer than the time that is left for connecting.
    private func waitForLease(
        _ first: ConnectionPool.State.WaiterID,
        for key: PoolKey,
        fresh: Bool,
        avoiding avoided: Set<Endpoint>,
        clock: inout ExchangeClock
    ) async throws(DirectHTTPError) -> (lease: ConnectionPool.Lease, hasWaitedLong: Bool) {
        var waiter = first
        while true {
            let begin = NIODeadline.now()
            // The wait for the first connection is part of connecting.
            let isExcluded = !configuration.limitsTurns && !pool.isOpeningFirst(key)
            do {
                let lease = try await pool.turn(of: waiter, key: key, deadline: clock.connectDeadline)
                let now = NIODeadline.now()
                if isExcluded { clock.excludeWait(since: begin, now: now) }
                return (lease, clock.connectDeadline.map { $0 - now < now - begin } ?? false)
            } catch {
                let now = NIODeadline.now()
                guard error.code == .poolExhausted, !configuration.limitsTurns, clock.deadline.map({ now < $0 }) ?? true
                else { throw error }
                clock.excludeWait(since: begin, now: now)
            }
            // Without `limitsTurns`, only the time limit of the whole exchange ends the wait: join the queue again.
            let lease = try pool.lease(key, fresh: fresh, avoiding: avoided)
            guard case .wait(let next) = lease else { return (lease, false) }
            waiter = next
        }
    }

    private func sendOnNewConnection(
        _ exchange: Exchange,
        for key: PoolKey,
        from source: some EndpointSource,
        avoiding avoided: Set<Endpoint>,
        hasWaitedLong: Bool,
        clock: ExchangeClock
    ) async throws(DirectHTTPError) -> SendResult {
        do {
            let epoch = pool.epoch
            var dialer = try await dialer(for: key, from: source, avoiding: avoided, clock: clock)
            dialer.target.onTunnelHead = exchange.request.options.onTunnelHead
            dialer.target.assumesHTTP2 = configuration.usesHTTP2PriorKnowledge(for: key)
            return try await onLoop { [dialer] () async throws(DirectHTTPError) in
                let connection = try await dial(by: dialer, from: source, clock: clock) { [self] won, info in
                    self.connection(from: won, info, to: dialer.target, epoch: epoch)
                }
                return await send(exchange, on: connection, isReused: false)
            }
        } catch {
            let error = hasWaitedLong ? pool.blaming(error, key: key) : error
            pool.openingFailed(key)
            throw error
        }
    }

    /// The endpoints that the second request of a hedge, or one after a failure, avoids; empty for every other request.
    private func avoided(
        by side: HedgeSide,
        for key: PoolKey,
        from source: some EndpointSource,
        clock: ExchangeClock
    ) async -> Set<Endpoint> {
        guard side.avoids, let list = try? await resolve(key, from: source, deadline: clock.connectDeadline)
        else { return [] }
        return side.avoided(of: list.endpoints)
    }

    private func send(_ exchange: Exchange, on connection: Connection, isReused: Bool) async -> SendResult {
        exchange.request.hedgeSide?.record(connection.info.endpoint)
        let time = NIODeadline.now()
        let head = await exchange.head(on: connection, now: time)
        return SendResult(connection: connection, isReused: isReused, time: time, head: head)
    }

    /// Runs `body` on an event loop, if it can, so that the caller changes threads only once to the loop and once back.
    private func onLoop<Value: Sendable>(
        _ body: () async throws(DirectHTTPError) -> Value
    ) async throws(DirectHTTPError) -> Value {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *),
            MultiThreadedEventLoopGroup.currentEventLoop == nil,
            let executor = executors[ObjectIdentifier(group.next())] as? any TaskExecutor
        else { return try await body() }
        return try await withTaskExecutorPreference(executor, operation: body)
    }

    /// Resolves the endpoints and returns a dialer for them.
    func dialer(
        for key: PoolKey,
        from source: some EndpointSource,
        avoiding avoided: Set<Endpoint> = [],
        clock: ExchangeClock
    ) async throws(DirectHTTPError) -> Dialer {
        let start = NIODeadline.now()
        var list = try await resolve(key, from: source, deadline: clock.connectDeadline)
        if !avoided.isEmpty { list.endpoints.removeAll(where: avoided.contains) }
        try list.requireECH(for: key)
        let resolveTime = Duration(NIODeadline.now() - start)
        return Dialer(
            target: try DialTarget(key: key, contexts: contexts, proxies: proxies, ech: ech),
            list: remembering(list, of: key.origin),
            avoided: avoided,
            resolveTime: resolveTime,
            settings: configuration.dial,
            pending: pending,
            attempted: { [self] attempt in
                memory.withLockedValue { $0.record(attempt, of: key.origin, now: .now()) }
                source.attempted(attempt, for: key.origin)
            }
        )
    }

    /// Dials, and calls `make` with the channel. If all endpoints failed, dials the other ones of the source.
    func dial<Made: Sendable>(
        by dialer: Dialer,
        from source: some EndpointSource,
        clock: ExchangeClock,
        make: @escaping @Sendable (DialRace.RaceResult, ConnectionInfo) -> Result<Made, DirectHTTPError>
    ) async throws(DirectHTTPError) -> Made {
        let loop = MultiThreadedEventLoopGroup.currentEventLoop ?? group.next()
        do {
            return try await dialer.dial(on: loop, deadline: clock.connectDeadline, make: make)
        } catch {
            guard let other = try await self.dialer(after: error, of: dialer, from: source, clock: clock) else {
                throw error
            }
            return try await other.dial(on: loop, deadline: clock.connectDeadline, make: make)
        }
    }

    /// A dialer for the other endpoints of a source after all endpoints of a dialer failed; nil if there are none.
    private func dialer(
        after error: DirectHTTPError,
        of dialer: Dialer,
        from source: some EndpointSource,
        clock: ExchangeClock
    ) async throws(DirectHTTPError) -> Dialer? {
        guard error.isOfAllEndpoints else { return nil }
        let key = dialer.target.key
        var failed = dialer.list
        failed.endpoints += dialer.avoided
        var list: EndpointList
        do {
            list = try await resolve(key, deadline: clock.connectDeadline) { [failed] in
                try await source.endpoints(for: $0, insteadOf: failed)
            }
        } catch {
            if error.code == .cancelled || error.code == .shutDown { throw error }
            if error.underlyingError is any EndpointSourceSignal { throw error }
            return nil
        }
        list.endpoints.removeAll(where: dialer.avoided.contains)
        guard !list.endpoints.isEmpty else { return nil }
        do throws(DirectHTTPError) { try list.requireECH(for: key) } catch { return nil }
        // The source compares all of its endpoints, including those without ECH, which were not dialled.
        let isKnown = list.endpoints.allSatisfy {
            failed.endpoints.contains($0) && failed.services[$0] == list.services[$0]
        }
        if key.tls.requiresECH, isKnown { return nil }
        var other = dialer
        other.list = remembering(list, of: key.origin)
        other.earlier = error.attempts
        return other
    }

    /// The list with recently failed endpoints moved to the end.
    private func remembering(_ list: EndpointList, of origin: Origin) -> EndpointList {
        var list = list
        list.endpoints = memory.withLockedValue { $0.ordered(list.endpoints, for: origin, now: .now()) }
        return list
    }

    private func resolve(
        _ key: PoolKey,
        from source: some EndpointSource,
        deadline: NIODeadline?
    ) async throws(DirectHTTPError) -> EndpointList {
        if case .unixSocket = key.route { return .unixSocket }
        if let list = source as? EndpointList, !list.endpoints.isEmpty { return list }
        return try await resolve(key, deadline: deadline) { try await source.endpoints(for: $0) }
    }

    private func resolve(
        _ key: PoolKey,
        deadline: NIODeadline?,
        ask: @escaping @Sendable (Origin) async throws -> EndpointList?
    ) async throws(DirectHTTPError) -> EndpointList {
        let dialled = key.route.proxy?.firstOrigin ?? key.origin
        // A separate task, so that the time limit can cancel the resolution without cancelling the caller.
        let question = Task { try await ask(dialled) }
        guard let id = pending.add({ question.cancel() }) else {
            question.cancel()
            throw .shutDown
        }
        defer { pending.remove(id) }
        let timer = deadline.map { group.next().scheduleTask(deadline: $0) { question.cancel() } }
        let answer = await withTaskCancellationHandler {
            await question.result
        } onCancel: {
            question.cancel()
        }
        timer?.cancel()
        switch answer {
        case .success(let list):
            guard let list, !list.endpoints.isEmpty else {
                throw DirectHTTPError(.unresolved, "no address is known for \(dialled.host)")
            }
            return list
        case .failure(let error as DirectHTTPError):
            throw error
        case .failure where Task.isCancelled:
            throw DirectHTTPError(.cancelled, "the request to \(key.origin) was cancelled")
        case .failure where pending.isShutDown:
            throw .shutDown
        case .failure(let error) where deadline.map({ $0 <= .now() }) ?? false:
            throw DirectHTTPError(.connectTimeout, "\(dialled.host) was not resolved in time", underlyingError: error)
        case .failure(let error):
            let host = "\(dialled.host)"
            var reason = "\(error)"
            // The error of a resolver begins with the name.
            if reason.hasPrefix("\(host): ") { reason.removeFirst(host.count + 2) }
            throw DirectHTTPError(.unresolved, "\(host) was not resolved: \(reason)", underlyingError: error)
        }
    }
}
