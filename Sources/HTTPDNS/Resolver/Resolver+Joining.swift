// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// A lookup that has started, and its first actions.
    private typealias Started = (lookup: Lookup, actions: [UpstreamSchedule.Action])

    /// Work that follows a change of state and runs after its lock is released.
    private struct Effects {
        /// The lookup to wait for; nil if there is a result.
        var lookup: Lookup?
        var started: Started?
        /// A lookup that only checks whether an upstream works again.
        var probe: Started?
        /// The earliest time at which one of the lookups must be ticked.
        var nextTick = Moment.never
        /// The result for a caller that joins no lookup.
        var result: Result<LookupResult, ResolutionError>?
        /// Whether there is a stale address to fall back on if the upstreams take too long.
        var isStaleAtHand = false
    }

    /// Waits for the lookup of a name. Starts one if none is under way.
    ///
    /// - Parameter isFresh: Whether to ignore shared answers and ask the upstreams.
    func join(_ request: LookupRequest, isFresh: Bool, _ now: Moment) async throws(ResolutionError) -> LookupResult {
        let caller = Caller()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { begin(request, isFresh, now, caller, $0) }
        } onCancel: {
            leave(caller)
        }
        #if BEELINE_TSAN
        // The thread sanitizer does not see that this code runs after the call that resumed it. The lock shows it.
        state.withLockedValue { _ in }
        #endif
        return try result.get()
    }

    /// Registers a caller with the lookup of a name.
    @inline(never)
    private func begin(
        _ request: LookupRequest,
        _ isFresh: Bool,
        _ now: Moment,
        _ caller: Caller,
        _ waiter: Caller.Waiter
    ) {
        let effects = state.withLockedValue { state in
            var effects = joined(request, isFresh, now, &state)
            if let lookup = effects.lookup {
                let staleAt = effects.isStaleAtHand ? now + configuration.staleAnswerDelay : .never
                lookup.add(caller, waiter, staleAt: staleAt)
                effects.nextTick = min(effects.nextTick, lookup.nextTick)
            }
            return effects
        }
        if let result = effects.result { return waiter.resume(returning: result) }
        perform(effects, now)
        // Cancellation may have arrived before the caller was registered; check again.
        if Task.isCancelled { leave(caller) }
    }

    /// Looks up a name for the cache only; see ``join(_:isFresh:_:)``.
    func refresh(_ request: LookupRequest, isFresh: Bool = false) {
        refresh { state, now in found(request, &state) ?? started(request, isFresh, now, &state) }
    }

    /// As ``refresh(_:isFresh:)``, for a name that the caller did not find in the cache. Checks the cache again under
    /// the lock.
    func refreshMissed(_ request: LookupRequest) {
        refresh { state, now in joined(request, false, now, &state) }
    }

    private func refresh(_ begin: (inout State, Moment) -> Effects) {
        let now = time.now()
        let effects = state.withLockedValue { state in
            let effects = begin(&state, now)
            effects.lookup?.isOwn = true
            return effects
        }
        perform(effects, now)
    }

    /// Finds the lookup of a name or its cached result, or starts a lookup.
    ///
    /// The caller missed the cache before it took the lock, and a lookup may have ended since. A result enters the
    /// cache before its lookup leaves the table, so one of the two is found.
    private func joined(_ request: LookupRequest, _ isFresh: Bool, _ now: Moment, _ state: inout State) -> Effects {
        let found = found(request, &state)
        if let found, found.lookup == nil { return found }
        let atHand = atHand(request, now)
        if found == nil, !isFresh, let result = atHand.result { return Effects(result: result) }
        var effects = found ?? started(request, isFresh, now, &state)
        effects.isStaleAtHand = atHand.isUsable
        return effects
    }

    /// The lookup of a name that is under way; nil if there is none.
    private func found(_ request: LookupRequest, _ state: inout State) -> Effects? {
        guard !state.isClosed else {
            let error = ResolutionError(.shutDown, "\(request.host): the resolver was shut down")
            return Effects(result: .failure(error))
        }
        return state.lookups[LookupKey(request, state.realm)].map { Effects(lookup: $0) }
    }

    /// Starts the lookup of a name.
    private func started(
        _ request: LookupRequest,
        _ isFresh: Bool,
        _ now: Moment,
        _ state: inout State
    ) -> Effects {
        guard state.lookups.count < configuration.maxFlights else {
            let error = ResolutionError(
                .tooManyFlights,
                "\(request.host): \(configuration.maxFlights) names are being looked up already"
            )
            return Effects(result: .failure(error))
        }
        var effects = Effects()
        let route = route(request.host, &state, now)
        let key = LookupKey(request, state.realm)
        let started = start(key, request, route, isFresh, now, &state, &effects)
        effects.lookup = started.lookup
        effects.started = started
        if let probe = route.probe {
            let route = Route(candidates: [probe], realm: .probe(probe))
            let key = LookupKey(request, route.realm)
            // The last probe may still be waiting.
            if state.lookups[key] == nil {
                effects.probe = start(key, request, route, true, now, &state, &effects)
                effects.probe?.lookup.isOwn = true
            }
        }
        return effects
    }

    private func start(
        _ key: LookupKey,
        _ request: LookupRequest,
        _ route: Route,
        _ isFresh: Bool,
        _ now: Moment,
        _ state: inout State,
        _ effects: inout Effects
    ) -> Started {
        let plan = plan(route, state.health)
        let context = LookupContext(
            request: request,
            realm: route.realm,
            network: state.network.id,
            trustsSystem: route.trustsSystem,
            isFresh: isFresh,
            generation: state.health.generation
        )
        let lookup = Lookup(key, context, UpstreamSchedule(plan, families: key.families, now: now))
        let step = lookup.schedule.start(now: now)
        effects.nextTick = min(effects.nextTick, step.nextTick)
        state.lookups.start(lookup)
        return (lookup, step.actions)
    }

    private func plan(_ route: Route, _ health: UpstreamHealth) -> UpstreamSchedule.Plan {
        let candidates = route.candidates.map { index in
            var candidate = UpstreamSchedule.Candidate(
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
        var plan = UpstreamSchedule.Plan(
            candidates: candidates,
            limit: configuration.timeLimit,
            resolutionDelay: configuration.resolutionDelay
        )
        if case .race(let width) = configuration.order.kind { plan.atOnce = width }
        return plan
    }

    private func perform(_ effects: Effects, _ now: Moment) {
        if let started = effects.started { perform(started.actions, started.lookup, now) }
        if let probe = effects.probe { perform(probe.actions, probe.lookup, now) }
        wake(at: effects.nextTick)
    }

    /// Removes a cancelled caller. The lookup ends with its last caller, unless it also runs for the cache.
    private func leave(_ caller: Caller) {
        let (isWaiting, tasks) = state.withLockedValue { state -> (Bool, [(upstream: Int, task: Task<Void, Never>)]) in
            guard let lookup = caller.lookup else { return (false, []) }
            lookup.remove(caller)
            guard lookup.callers.isEmpty, !lookup.isOwn else { return (true, []) }
            _ = state.lookups.land(lookup)
            return (true, lookup.tasks)
        }
        guard isWaiting else { return }
        for (_, task) in tasks { task.cancel() }
        caller.resume(returning: .failure(ResolutionError(.cancelled, "the resolution was cancelled")))
    }

    /// Ends all lookups, for ``shutdown()``.
    func close() {
        let (landed, tasks, ticker, watchers) = state.withLockedValue { state in
            state.isClosed = true
            defer { (state.ticker, state.onClose) = (nil, [:]) }
            let lookups = Array(state.lookups.all)
            let landed = lookups.map { (host: $0.context.request.host, callers: state.lookups.land($0)) }
            return (landed, lookups.flatMap(\.tasks), state.ticker?.task, state.onClose)
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
