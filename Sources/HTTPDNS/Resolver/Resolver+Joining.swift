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
        var refusal: ResolutionError?
    }

    /// Waits for the look-up of a name, which is started where none is under way.
    ///
    /// - Parameter isFresh: Whether the upstreams themselves are wanted, and not what they said to others.
    func join(_ wanted: Wanted, isFresh: Bool = false) async throws(ResolutionError) -> Landing {
        let isStaleAtHand = hasStale(wanted)
        let waiterID = state.withLockedValue { $0.flights.makeID() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: Waiter) in
                let effects = state.withLockedValue { state in
                    let effects = start(wanted, isStaleAtHand, isFresh, &state)
                    if effects.refusal == nil { state.flights.join(effects.flight, waiterID, waiter) }
                    return effects
                }
                if let refusal = effects.refusal { return waiter.resume(returning: .failure(refusal)) }
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
            let effects = start(wanted, false, isFresh, &state)
            if effects.refusal == nil { state.flights.own(effects.flight) }
            return effects
        }
        perform(effects)
    }

    /// Finds or starts the look-up of a name.
    private func start(
        _ wanted: Wanted,
        _ isStaleAtHand: Bool,
        _ isFresh: Bool,
        _ state: inout State
    ) -> Effects {
        var effects = Effects()
        guard !state.isClosed else {
            effects.refusal = ResolutionError(.shutDown, "\(wanted.host): the resolver was shut down")
            return effects
        }
        let key = FlightKey(name: wanted.key, families: wanted.families, realm: state.realm)
        if let flight = state.flights.flight(for: key) {
            effects.flight = flight
            return effects
        }
        guard !state.flights.isFull else {
            effects.refusal = ResolutionError(
                .tooManyFlights,
                "\(wanted.host): \(configuration.maxFlights) names are being looked up already"
            )
            return effects
        }
        let now = time.now()
        let route = route(wanted.host, &state, now)
        effects.flight = start(key, wanted, route, isStaleAtHand, isFresh, now, &state, &effects)
        if let probe = route.probe {
            let route = Route(candidates: [probe], realm: .probe(probe))
            let key = FlightKey(name: wanted.key, families: wanted.families, realm: route.realm)
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
        let flight = Flight(
            wanted: wanted,
            realm: route.realm,
            network: state.network.id,
            inquiry: inquiry,
            trustsSystem: route.trustsSystem,
            isFresh: isFresh
        )
        let id = state.flights.start(key, flight)
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
                let error = ResolutionError(.shutDown, "\(flight.cargo.wanted.host): the resolver was shut down")
                waiter.resume(returning: .failure(error))
            }
        }
    }
}
