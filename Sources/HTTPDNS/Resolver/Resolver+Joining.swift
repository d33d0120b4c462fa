// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// A look-up that has begun, and what it does first.
    private typealias Started = (flight: Flight, actions: [Inquiry.Action])

    /// Work that follows from a change of state, and is done when its lock is free again.
    private struct Effects {
        /// The flight to wait for; nil where there is a result.
        var flight: Flight?
        var started: Started?
        /// The flight that only looks whether an upstream is back.
        var probe: Started?
        /// When one of them must look at the clock.
        var nextTick = Moment.never
        /// What the caller is given at once, where it joins no flight.
        var result: Result<Landing, ResolutionError>?
        /// Whether there is an address that could be handed out where the upstreams take too long.
        var isStaleAtHand = false
    }

    /// Waits for the look-up of a name, which is started where none is under way.
    ///
    /// - Parameter isFresh: Whether the upstreams themselves are wanted, and not what they said to others.
    func join(_ wanted: Wanted, isFresh: Bool, _ now: Moment) async throws(ResolutionError) -> Landing {
        let caller = Caller()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { begin(wanted, isFresh, now, caller, $0) }
        } onCancel: {
            leave(caller)
        }
        return try result.get()
    }

    /// Has a caller wait for the look-up of a name.
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
        // Who was cancelled meanwhile was looked for before there was anybody to find.
        if Task.isCancelled { leave(caller) }
    }

    /// Looks a name up for the cache alone; see ``join(_:isFresh:_:)``.
    func refresh(_ wanted: Wanted, isFresh: Bool = false) {
        refresh { state, now in found(wanted, &state) ?? started(wanted, isFresh, now, &state) }
    }

    /// The same for a name of which the caller found nothing within its TTL: there may be something by now.
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

    /// Finds the look-up of a name, or what it has just ended with, or starts it.
    ///
    /// The caller missed the cache before it took the lock. A look-up may have ended since: what it brought is in the
    /// cache before it is out of the table, so that one of the two is found.
    private func joined(_ wanted: Wanted, _ isFresh: Bool, _ now: Moment, _ state: inout State) -> Effects {
        let found = found(wanted, &state)
        if let found, found.flight == nil { return found }
        let atHand = atHand(wanted, now)
        if found == nil, !isFresh, let result = atHand.result { return Effects(result: result) }
        var effects = found ?? started(wanted, isFresh, now, &state)
        effects.isStaleAtHand = atHand.isUsable
        return effects
    }

    /// The look-up of a name that is under way; nil where there is none.
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
            // The last one may still be waiting.
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

    /// Takes a caller who was cancelled out; the look-up ends with its last caller.
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

    /// Ends everything, for ``shutdown()``.
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
