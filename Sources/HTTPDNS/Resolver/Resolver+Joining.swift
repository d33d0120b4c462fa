// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// Work that follows from a change of state, and is done when its lock is free again.
    private struct Effects {
        var flight: UInt64 = 0
        /// The first actions of the flights that were started.
        var started: [(flight: UInt64, actions: [Inquiry.Action])] = []
        /// When one of them must look at the clock.
        var nextTick = Moment.never
        /// What the caller is given at once, where it joins no flight.
        var result: Result<Landing, ResolutionError>?
    }

    /// Waits for the look-up of a name, which is started where none is under way.
    ///
    /// - Parameter isFresh: Whether the upstreams themselves are wanted, and not what they said to others.
    func join(_ wanted: Wanted, isFresh: Bool) async throws(ResolutionError) -> Landing {
        let waiterID = state.withLockedValue { $0.flights.makeID() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: Waiter) in
                let effects = state.withLockedValue { state in
                    let effects = joined(wanted, isFresh, &state)
                    if effects.result == nil { state.flights.join(effects.flight, waiterID, waiter) }
                    return effects
                }
                if let result = effects.result { return waiter.resume(returning: result) }
                perform(effects)
                // The handler below may have run before there was anybody to find.
                if Task.isCancelled { leave(waiterID) }
            }
        } onCancel: {
            leave(waiterID)
        }
        return try result.get()
    }

    /// Looks a name up for the cache alone; see ``join(_:isFresh:)``.
    func refresh(_ wanted: Wanted, isFresh: Bool = false) {
        let effects = state.withLockedValue { state in
            let effects = found(wanted, &state) ?? started(wanted, isStaleAtHand: false, isFresh, &state)
            if effects.result == nil { state.flights.own(effects.flight) }
            return effects
        }
        perform(effects)
    }

    /// Finds the look-up of a name, or what it has just ended with, or starts it.
    ///
    /// The caller missed the cache before it took the lock. A look-up may have ended since: what it brought is in the
    /// cache before it is out of the table, so that one of the two is found.
    private func joined(_ wanted: Wanted, _ isFresh: Bool, _ state: inout State) -> Effects {
        if let effects = found(wanted, &state) { return effects }
        let atHand = atHand(wanted)
        if !isFresh, let result = atHand.result { return Effects(result: result) }
        return started(wanted, isStaleAtHand: atHand.isUsable, isFresh, &state)
    }

    /// The look-up of a name that is under way; nil where there is none.
    private func found(_ wanted: Wanted, _ state: inout State) -> Effects? {
        guard !state.isClosed else {
            let error = ResolutionError(.shutDown, "\(wanted.host): the resolver was shut down")
            return Effects(result: .failure(error))
        }
        return state.flights.flight(for: FlightKey(wanted, state.realm)).map { Effects(flight: $0) }
    }

    /// Starts the look-up of a name.
    private func started(_ wanted: Wanted, isStaleAtHand: Bool, _ isFresh: Bool, _ state: inout State) -> Effects {
        guard !state.flights.isFull else {
            let error = ResolutionError(
                .tooManyFlights,
                "\(wanted.host): \(configuration.maxFlights) names are being looked up already"
            )
            return Effects(result: .failure(error))
        }
        var effects = Effects()
        let now = time.now()
        let route = route(wanted.host, &state, now)
        let key = FlightKey(wanted, state.realm)
        effects.flight = start(key, wanted, route, isStaleAtHand, isFresh, now, &state, &effects)
        if let probe = route.probe {
            let route = Route(candidates: [probe], realm: .probe(probe))
            let key = FlightKey(wanted, route.realm)
            state.flights.own(start(key, wanted, route, false, true, now, &state, &effects))
        }
        return effects
    }

    private func start(
        _ key: FlightKey,
        _ wanted: Wanted,
        _ route: Route,
        _ isStaleAtHand: Bool,
        _ isFresh: Bool,
        _ now: Moment,
        _ state: inout State,
        _ effects: inout Effects
    ) -> UInt64 {
        var plan = plan(route, state.health)
        if isStaleAtHand { plan.staleAfter = configuration.staleAnswerDelay }
        var inquiry = Inquiry(plan, families: key.families, now: now)
        let actions = inquiry.start(now: now)
        let errand = Errand(
            wanted: wanted,
            realm: route.realm,
            network: state.network.id,
            trustsSystem: route.trustsSystem,
            isFresh: isFresh
        )
        let id = state.flights.start(key, Flight(errand: errand, inquiry: inquiry))
        effects.started.append((id, actions))
        effects.nextTick = min(effects.nextTick, inquiry.nextTick)
        return id
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

    private func perform(_ effects: Effects) {
        guard !effects.started.isEmpty else { return }
        for (flight, actions) in effects.started { perform(actions, flight) }
        wake(at: effects.nextTick)
    }

    /// Takes a caller who was cancelled out; the look-up ends with its last caller.
    private func leave(_ waiterID: UInt64) {
        let (waiter, abandoned) = state.withLockedValue { $0.flights.leave(waiterID) }
        for (_, task) in abandoned?.tasks ?? [] { task.cancel() }
        waiter?.resume(returning: .failure(ResolutionError(.cancelled, "the resolution was cancelled")))
    }

    /// Ends everything, for ``shutdown()``.
    func close() {
        let (flights, ticker, watchers) = state.withLockedValue { state in
            state.isClosed = true
            defer { (state.ticker, state.onClose) = (nil, []) }
            return (state.flights.landAll(), state.ticker?.task, state.onClose)
        }
        ticker?.cancel()
        for watcher in watchers { watcher.finish() }
        for flight in flights {
            for (_, task) in flight.cargo.tasks { task.cancel() }
            for waiter in flight.allWaiters {
                let error = ResolutionError(.shutDown, "\(flight.cargo.errand.wanted.host): the resolver was shut down")
                waiter.resume(returning: .failure(error))
            }
        }
    }
}
