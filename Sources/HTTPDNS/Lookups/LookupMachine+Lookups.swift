// SPDX-License-Identifier: Apache-2.0

import Names

/// Lookups of addresses, from the question of a caller to the result.
extension LookupMachine {
    // MARK: A lookup starts

    /// Lets a caller join the lookup of a name, or starts a lookup. Without a caller, the answer is for the cache.
    ///
    /// - Parameters:
    ///   - checksCache: Whether to use a cached result. A lookup may have ended since the caller missed the cache.
    ///   - isFresh: Whether shared answers are ignored.
    mutating func lookUp(
        _ request: LookupRequest,
        for caller: CallerID?,
        checksCache: Bool,
        isFresh: Bool,
        now: Moment
    ) {
        guard !isClosed else {
            return refuse(caller, with: .shutDown, message: "\(request.host): the resolver was shut down")
        }
        guard !request.families.members.isEmpty else {
            return refuse(caller, with: .noAddress, message: "\(request.host): no address family is asked for")
        }
        guard !NamePolicy.isOnion(request.host) || isForUpstreams(request.host) else {
            let message = "\(request.host): names of Tor are not looked up (RFC 7686); use a SOCKS proxy of Tor"
            return refuse(caller, with: .noSuchName, message: message)
        }
        let known =
            checksCache || caller != nil ? answers.cachedResult(for: request, now: now) : (result: nil, isUsable: false)
        let staleAt = known.isUsable ? now + configuration.cache.staleAnswerDelay : .never
        // A lookup that has delivered one family continues for the other, and the cache has the first.
        if checksCache, case .success(let found)? = known.result, found.entry.expiry(of: request.families) > now {
            return resume([caller].compactMap { $0 }, with: .success(found))
        }
        if let lookup = lookups[LookupKey(request, scope: scope)], !endIfAnswered(lookup, isFresh: isFresh) {
            return join(lookup, caller: caller, staleAt: staleAt, now: now)
        }
        if checksCache, let result = known.result { return resume([caller].compactMap { $0 }, with: result) }
        guard lookups.count < configuration.limits.maxLookups else {
            // A flood of other names must not cost an answer that is only past its TTL (RFC 8767).
            if !isFresh, scope.isKept, let caller, let stale = answers.staleResult(for: request, in: scope, now: now) {
                return resume([caller], with: .success(stale))
            }
            let message = "\(request.host): \(configuration.limits.maxLookups) names are being looked up already"
            return refuse(caller, with: .tooManyLookups, message: message)
        }
        let route = route(to: request.host, now: now)
        let (lookup, first) = start(request, by: route, isFresh: isFresh, now: now)
        join(lookup, caller: caller, staleAt: staleAt, now: now)
        perform(first, of: lookup, now: now)
        if let probe = route.probe { startProbe(of: probe, with: request, now: now) }
    }

    /// Whether a lookup may start now, or is under way.
    ///
    /// - Parameter leavesReserve: Whether a quarter of the lookups is left to others.
    func hasRoom(for request: LookupRequest, leavesReserve: Bool) -> Bool {
        let most = configuration.limits.maxLookups
        return lookups.count < most - (leavesReserve ? most / 4 : 0)
            || lookups[LookupKey(request, scope: scope)] != nil
    }

    /// Ends a lookup that has delivered an answer, if a fresh one is wanted and no caller waits for the rest.
    private mutating func endIfAnswered(_ lookup: LookupID, isFresh: Bool) -> Bool {
        guard isFresh, let old = lookups[lookup], old.schedule.hasAnswer, old.callers.isEmpty else { return false }
        return remove(lookup) != nil
    }

    /// Adds a caller to a lookup; without a caller, the lookup continues for the cache.
    private mutating func join(_ lookup: LookupID, caller: CallerID?, staleAt: Moment, now: Moment) {
        guard let caller else {
            lookups.change(lookup) { $0.isForCache = true }
            return
        }
        lookups.change(lookup) { $0.schedule.callerJoined(now: now) }
        lookups.add(caller, to: lookup, staleAt: staleAt)
        wake(for: lookup)
    }

    private mutating func start(
        _ request: LookupRequest,
        by route: Route,
        isFresh: Bool,
        now: Moment
    ) -> (lookup: LookupID, first: [UpstreamSchedule.Action]) {
        let context = LookupContext(
            request: request,
            scope: route.scope,
            network: ranking.network.id,
            isTrusted: route.isTrusted,
            isFresh: isFresh,
            generation: health.generation
        )
        var schedule = UpstreamSchedule(plan(for: route), families: request.families, now: now)
        let first = schedule.start(now: now)
        let key = LookupKey(request, scope: route.scope)
        return (lookups.start(Lookup(key: key, context: context, schedule: schedule)), first)
    }

    /// Asks an upstream that is down, only to see whether it works again.
    mutating func startProbe(of upstream: Int, with request: LookupRequest, now: Moment) {
        let route = Route(candidates: [upstream], scope: .probe(upstream))
        // The last probe may still be waiting.
        guard lookups[LookupKey(request, scope: route.scope)] == nil else { return }
        let (lookup, first) = start(request, by: route, isFresh: true, now: now)
        join(lookup, caller: nil, staleAt: .never, now: now)
        perform(first, of: lookup, now: now)
    }

    // MARK: A lookup goes on

    /// Passes the result of a question to its lookup.
    mutating func answered(
        _ question: UpstreamQuestion,
        with result: Result<Answer, UpstreamError>,
        after time: Duration?,
        now: Moment
    ) {
        let (upstream, families) = (question.id.upstream, question.id.families)
        let event: UpstreamSchedule.Event =
            switch result {
            case .success(let answer): .answered(upstream: upstream, families, answer)
            case .failure(let error): .failed(upstream: upstream, families, error)
            }
        if let time {
            let isAnswer = if case .success = result { true } else { false }
            times[upstream].record(time, isAnswer: isAnswer)
        }
        // Results of questions from another network do not count.
        if let time, question.context.generation == health.generation {
            // A service may know only the names of an account, and refuse the name that the resolver asks for by itself.
            let isRefusal = if case .failure(let error) = result { error.code.reaction == .leaveAlone } else { false }
            if !isRefusal || question.context.request.host != Self.knownName {
                health.record(event, after: time, now: now)
            }
            if case .failure(let error) = result, error.code.reaction == .tryElsewhere, error.code != .busy {
                checkOutage(of: upstream, in: question.context.scope, now: now)
            }
        }
        let next = lookups.change(question.id.lookup) { lookup in
            lookup.questions.removeAll { $0 == question.id }
            return lookup.schedule.event(event, now: now)
        }
        if let next { perform(next, of: question.id.lookup, now: now) }
    }

    /// Handles the moments that lookups and their callers waited for.
    mutating func lookupTimePassed(now: Moment) {
        for id in lookups.due(at: now) {
            let due = lookups.change(id) { lookup in
                let actions = lookup.schedule.event(.tick, now: now)
                return (actions: actions, isLate: lookup.staleAt <= now && !lookup.schedule.hasAnswer)
            }
            guard let due else { continue }
            if due.isLate { deliverStale(to: id, now: now) }
            perform(due.actions, of: id, now: now)
        }
    }

    /// Carries out the decisions of a lookup's schedule.
    private mutating func perform(_ decisions: [UpstreamSchedule.Action], of id: LookupID, now: Moment) {
        for decision in decisions {
            switch decision {
            case .ask(let upstream, let families): ask(upstream, for: families, of: id)
            case .cancel(let upstream, let silentSince):
                if let silentSince, let context = lookups[id]?.context, context.generation == health.generation {
                    health.timedOut(upstream, askedAt: silentSince, now: now)
                    checkOutage(of: upstream, in: context.scope, now: now)
                }
                for question in lookups.takeQuestions(of: id, to: upstream) { actions.append(.stopAsking(question)) }
            case .deliver(let outcome): deliver(outcome, to: id, now: now)
            case .end(let outcome): end(id, with: outcome, now: now)
            }
        }
        wake(for: id)
    }

    private mutating func ask(_ upstream: Int, for families: Families, of id: LookupID) {
        let question = lookups.change(id) { lookup -> UpstreamQuestion? in
            // A later decision of the same step may have ended the lookup or stopped waiting for the upstream.
            guard lookup.schedule.awaits(upstream, for: families) else { return nil }
            let question = UpstreamQuestion(
                id: UpstreamQuestion.ID(lookup: id, upstream: upstream, families: families),
                context: lookup.context
            )
            lookup.questions.append(question.id)
            return question
        }
        if let question = question.flatMap(\.self) { actions.append(.ask(question)) }
    }

    /// Ensures that the lookup is ticked in time.
    private mutating func wake(for id: LookupID) { wake(at: lookups[id]?.nextTick ?? .never) }

    // MARK: A lookup ends

    /// Delivers the family that has arrived; the lookup continues for the cache.
    private mutating func deliver(_ outcome: UpstreamSchedule.Outcome, to id: LookupID, now: Moment) {
        guard let context = lookups[id]?.context, context.scope.isKept else { return }
        let result = answers.keep(outcome, of: context, now: now)
        lookups.change(id) { $0.isForCache = true }
        resume(lookups.takeCallers(of: id), with: result)
    }

    /// Delivers a stale answer to callers that have waited ``ResolverConfiguration/Cache/staleAnswerDelay`` for a new one
    /// (RFC 8767 §5).
    private mutating func deliverStale(to id: LookupID, now: Moment) {
        guard let context = lookups[id]?.context, context.scope.isKept,
            let stale = answers.staleResult(for: context.request, in: context.scope, now: now)
        else { return lookups.keepLateCallers(of: id) }
        lookups.change(id) { $0.isForCache = true }
        resume(lookups.takeLateCallers(of: id, now: now), with: .success(stale))
    }

    private mutating func end(_ id: LookupID, with outcome: UpstreamSchedule.Outcome, now: Moment) {
        guard let lookup = remove(id), lookup.context.scope.isKept else { return }
        resume(lookup.callers.map(\.id), with: answers.keep(outcome, of: lookup.context, now: now))
    }

    /// Removes a cancelled caller. The lookup ends with its last caller, unless it also runs for the cache.
    mutating func cancelled(_ caller: CallerID) {
        if cancelledOrigin(caller) {
            return refuse(caller, with: .cancelled, message: "the resolution was cancelled")
        }
        guard let id = lookups.remove(caller: caller) else { return }
        if let lookup = lookups[id], lookup.callers.isEmpty, !lookup.isForCache { _ = remove(id) }
        refuse(caller, with: .cancelled, message: "the resolution was cancelled")
    }

    /// Ends all lookups, because the resolver is shut down.
    mutating func closeLookups() {
        for lookup in lookups.ids.compactMap({ remove($0) }) {
            let error = ResolutionError(.shutDown, "\(lookup.context.request.host): the resolver was shut down")
            resume(lookup.callers.map(\.id), with: .failure(error))
        }
    }

    /// Ends the lookups of names that upstreams must not be asked for any more. For the callers that wait, they start
    /// again by the new route.
    mutating func restartDeniedLookups(now: Moment) {
        for id in lookups.ids {
            guard let context = lookups[id]?.context, context.scope.isKept, !context.isTrusted,
                !isForUpstreams(context.request.host), let lookup = remove(id)
            else { continue }
            for caller in lookup.callers {
                lookUp(context.request, for: caller.id, checksCache: false, isFresh: context.isFresh, now: now)
            }
        }
    }

    /// Removes a lookup and cancels its questions.
    private mutating func remove(_ id: LookupID) -> Lookup? {
        let lookup = lookups.remove(id)
        for question in lookup?.questions ?? [] { actions.append(.stopAsking(question)) }
        return lookup
    }

    private mutating func refuse(_ caller: CallerID?, with code: ResolutionError.Code, message: String) {
        if let caller { resume([caller], with: .failure(ResolutionError(code, message))) }
    }

    private mutating func resume(_ callers: [CallerID], with result: Result<LookupResult, ResolutionError>) {
        let callers = origins.take(callers, with: result)
        if !callers.isEmpty { actions.append(.resume(callers, result)) }
    }
}
