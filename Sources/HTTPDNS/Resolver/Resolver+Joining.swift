// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// A look-up that has started, and its first actions.
    private typealias Started = (flight: Flight, actions: [Inquiry.Action])

    /// Work that follows a change of state and runs after its lock is released.
    private struct Effects {
        /// The look-up to wait for; nil if there is a result.
        var flight: Flight?
        var started: Started?
        /// A look-up that only checks whether an upstream works again.
        var probe: Started?
        /// The earliest time at which one of the look-ups must be ticked.
        var nextTick = Moment.never
        /// The result for a caller that joins no look-up.
        var result: Result<Landing, ResolutionError>?
        /// Whether there is a stale address to fall back on if the upstreams take too long.
        var isStaleAtHand = false
    }

    /// Waits for the look-up of a name. Starts one if none is under way.
    ///
    /// - Parameter isFresh: Whether to ignore shared answers and ask the upstreams.
    func join(_ wanted: Wanted, isFresh: Bool, _ now: Moment) async throws(ResolutionError) -> Landing {
        let caller = Caller()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { begin(wanted, isFresh, now, caller, $0) }
        } onCancel: {
            leave(caller)
        }
        #if BEELINE_TSAN
        // The thread sanitizer does not see that this code runs after the call that resumed it. The lock shows it.
        state.withLockedValue { _ in }
        #endif
        return try result.get()
    }

    /// Registers a caller with the look-up of a name.
    @inline(never)
    private func begin(_ wanted: Wanted, _ isFresh: Bool, _ now: Moment, _ caller: Caller, _ waiter: Caller.Waiter) {
        let effects = state.withLockedValue { state in
            var effects = joined(wanted, isFresh, now, &state)
            if let flight = effects.flight {
                let staleAt = effects.isStaleAtHand ? now + configuration.staleAnswerDelay : .never
                flight.add(caller, waiter, staleAt: staleAt)
                effects.nextTick = min(effects.nextTick, flight.nextTick)
            }
            return effects
        }
        if let result = effects.result { return waiter.resume(returning: result) }
        perform(effects, now)
        // Cancellation may have arrived before the caller was registered; check again.
        if Task.isCancelled { leave(caller) }
    }

    /// Looks up a name for the cache only; see ``join(_:isFresh:_:)``.
    func refresh(_ wanted: Wanted, isFresh: Bool = false) {
        refresh { state, now in found(wanted, &state) ?? started(wanted, isFresh, now, &state) }
    }

    /// As ``refresh(_:isFresh:)``, for a name that the caller did not find in the cache. Checks the cache again under
    /// the lock.
    func refreshMissed(_ wanted: Wanted) {
        refresh { state, now in joined(wanted, false, now, &state) }
    }

    private func refresh(_ begin: (inout State, Moment) -> Effects) {
        let now = time.now()
        let effects = state.withLockedValue { state in
            let effects = begin(&state, now)
            effects.flight?.isOwn = true
            return effects
        }
        perform(effects, now)
    }

    /// Finds the look-up of a name or its cached result, or starts a look-up.
    ///
    /// The caller missed the cache before it took the lock, and a look-up may have ended since. A result enters the
    /// cache before its look-up leaves the table, so one of the two is found.
    private func joined(_ wanted: Wanted, _ isFresh: Bool, _ now: Moment, _ state: inout State) -> Effects {
        let found = found(wanted, &state)
        if let found, found.flight == nil { return found }
        let atHand = atHand(wanted, now)
        if found == nil, !isFresh, let result = atHand.result { return Effects(result: result) }
        var effects = found ?? started(wanted, isFresh, now, &state)
        effects.isStaleAtHand = atHand.isUsable
        return effects
    }

    /// The look-up of a name that is under way; nil if there is none.
    private func found(_ wanted: Wanted, _ state: inout State) -> Effects? {
        guard !state.isClosed else {
            let error = ResolutionError(.shutDown, "\(wanted.host): the resolver was shut down")
            return Effects(result: .failure(error))
        }
        return state.flights[FlightKey(wanted, state.realm)].map { Effects(flight: $0) }
    }

    /// Starts the look-up of a name.
    private func started(
        _ wanted: Wanted,
        _ isFresh: Bool,
        _ now: Moment,
        _ state: inout State
    ) -> Effects {
        guard state.flights.count < configuration.maxFlights else {
            let error = ResolutionError(
                .tooManyFlights,
                "\(wanted.host): \(configuration.maxFlights) names are being looked up already"
            )
            return Effects(result: .failure(error))
        }
        var effects = Effects()
        let route = route(wanted.host, &state, now)
        let key = FlightKey(wanted, state.realm)
        let started = start(key, wanted, route, isFresh, now, &state, &effects)
        effects.flight = started.flight
        effects.started = started
        if let probe = route.probe {
            let route = Route(candidates: [probe], realm: .probe(probe))
            let key = FlightKey(wanted, route.realm)
            // The last probe may still be waiting.
            if state.flights[key] == nil {
                effects.probe = start(key, wanted, route, true, now, &state, &effects)
                effects.probe?.flight.isOwn = true
            }
        }
        return effects
    }

    private func start(
        _ key: FlightKey,
        _ wanted: Wanted,
        _ route: Route,
        _ isFresh: Bool,
        _ now: Moment,
        _ state: inout State,
        _ effects: inout Effects
    ) -> Started {
        let plan = plan(route, state.health)
        let errand = Errand(
            wanted: wanted,
            realm: route.realm,
            network: state.network.id,
            trustsSystem: route.trustsSystem,
            isFresh: isFresh,
            generation: state.health.generation
        )
        let flight = Flight(key, errand, Inquiry(plan, families: key.families, now: now))
        let step = flight.inquiry.start(now: now)
        effects.nextTick = min(effects.nextTick, step.nextTick)
        state.flights.start(flight)
        return (flight, step.actions)
    }

    private func plan(_ route: Route, _ health: UpstreamHealth) -> Inquiry.Plan {
        let candidates = route.candidates.map { index in
            var candidate = Inquiry.Candidate(
                upstream: index,
                answersOneFamily: upstream(index).answersOneFamily,
                budget: configuration.upstreamBudget
            )
            if configuration.order == .hedge {
                let usual = health.usualTime(index) ?? UpstreamOrder.firstHedge
                candidate.hedgeAfter = max(usual, UpstreamOrder.shortestHedge)
            }
            return candidate
        }
        var plan = Inquiry.Plan(
            candidates: candidates,
            limit: configuration.timeLimit,
            resolutionDelay: configuration.resolutionDelay
        )
        if case .race(let width) = configuration.order.kind { plan.atOnce = width }
        return plan
    }

    private func perform(_ effects: Effects, _ now: Moment) {
        if let started = effects.started { perform(started.actions, started.flight, now) }
        if let probe = effects.probe { perform(probe.actions, probe.flight, now) }
        wake(at: effects.nextTick)
    }

    /// Removes a cancelled caller. The look-up ends with its last caller, unless it also runs for the cache.
    private func leave(_ caller: Caller) {
        let (isWaiting, tasks) = state.withLockedValue { state -> (Bool, [(upstream: Int, task: Task<Void, Never>)]) in
            guard let flight = caller.flight else { return (false, []) }
            flight.remove(caller)
            guard flight.callers.isEmpty, !flight.isOwn else { return (true, []) }
            _ = state.flights.land(flight)
            return (true, flight.tasks)
        }
        guard isWaiting else { return }
        for (_, task) in tasks { task.cancel() }
        caller.resume(returning: .failure(ResolutionError(.cancelled, "the resolution was cancelled")))
    }

    /// Ends all look-ups, for ``shutdown()``.
    func close() {
        let (landed, tasks, ticker, watchers) = state.withLockedValue { state in
            state.isClosed = true
            defer { (state.ticker, state.onClose) = (nil, [:]) }
            let flights = Array(state.flights.all)
            let landed = flights.map { (host: $0.errand.wanted.host, callers: state.flights.land($0)) }
            return (landed, flights.flatMap(\.tasks), state.ticker?.task, state.onClose)
        }
        ticker?.cancel()
        for watcher in watchers.values { watcher.finish() }
        for (_, task) in tasks { task.cancel() }
        for (host, callers) in landed {
            let error = ResolutionError(.shutDown, "\(host): the resolver was shut down")
            for caller in callers { caller.resume(returning: .failure(error)) }
        }
    }
}
