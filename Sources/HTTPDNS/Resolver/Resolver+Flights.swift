// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// Work that follows from a change of state, and is done when its lock is free again.
    private struct Effects {
        var flight: UInt64 = 0
        /// The first actions of the flights that were started.
        var started: [(flight: UInt64, actions: [Inquiry.Action])] = []
        var refusal: ResolutionError?
    }

    // MARK: Joining

    /// Waits for the look-up of a name, which is started where none is under way.
    func join(_ host: Host, _ families: Families) async throws(ResolutionError) -> Landing {
        let waiterID = state.withLockedValue { $0.flights.makeID() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: Waiter) in
                let effects = state.withLockedValue { state in
                    let effects = start(host, families, &state)
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

    /// Looks a name up for the cache alone.
    func refresh(_ host: Host, _ families: Families) {
        let effects = state.withLockedValue { state in
            let effects = start(host, families, &state)
            if effects.refusal == nil { state.flights.own(effects.flight) }
            return effects
        }
        perform(effects)
    }

    /// Finds or starts the look-up of a name.
    private func start(_ host: Host, _ families: Families, _ state: inout State) -> Effects {
        var effects = Effects()
        guard !state.isClosed else {
            effects.refusal = ResolutionError(.shutDown, "\(host): the resolver was shut down")
            return effects
        }
        let realm = state.isEnabled ? Realm.upstreams : Realm.system
        let key = FlightKey(name: host.text, families: families, realm: realm)
        if let flight = state.flights.flight(for: key) {
            effects.flight = flight
            return effects
        }
        let now = time.now()
        guard !state.flights.isFull else {
            effects.refusal = ResolutionError(
                .tooManyFlights,
                "\(host): \(configuration.maxFlights) names are being looked up already"
            )
            return effects
        }
        let route = route(host, &state, now)
        effects.flight = start(key, host, route, now, &state, &effects)
        if let probe = route.probe {
            let route = Route(candidates: [probe], realm: Realm.probe(probe))
            let key = FlightKey(name: host.text, families: families, realm: route.realm)
            let flight = start(key, host, route, now, &state, &effects)
            state.flights.own(flight)
        }
        return effects
    }

    private func start(
        _ key: FlightKey,
        _ host: Host,
        _ route: Route,
        _ now: Moment,
        _ state: inout State,
        _ effects: inout Effects
    ) -> UInt64 {
        var inquiry = Inquiry(plan(route), families: key.families, now: now)
        let actions = inquiry.start(now: now)
        let flight = Flight(
            host: host,
            families: key.families,
            realm: route.realm,
            inquiry: inquiry,
            trustsSystem: route.trustsSystem
        )
        let id = state.flights.start(key, flight)
        effects.started.append((id, actions))
        return id
    }

    private func plan(_ route: Route) -> Inquiry.Plan {
        let candidates = route.candidates.map { index in
            Inquiry.Candidate(
                upstream: index,
                answersOneFamily: upstream(index).answersOneFamily,
                budget: configuration.upstreamBudget
            )
        }
        return Inquiry.Plan(
            candidates: candidates,
            limit: configuration.timeLimit,
            resolutionDelay: configuration.resolutionDelay
        )
    }

    /// Takes a caller who was cancelled out; the look-up ends with its last caller.
    private func leave(_ waiterID: UInt64) {
        let (waiter, abandoned) = state.withLockedValue { $0.flights.leave(waiterID) }
        for (_, task) in abandoned?.tasks ?? [] { task.cancel() }
        waiter?.resume(returning: .failure(ResolutionError(.cancelled, "the resolution was cancelled")))
    }

    // MARK: Asking

    private func perform(_ effects: Effects) {
        guard !effects.started.isEmpty else { return }
        for (flight, actions) in effects.started { perform(actions, flight) }
        wakeInTime()
    }

    private func perform(_ actions: [Inquiry.Action], _ id: UInt64) {
        for action in actions {
            switch action {
            case .ask(let upstream, let families): ask(upstream, families, id)
            case .cancel(let upstream, let timedOut): cancel(upstream, timedOut, id)
            case .deliver(let outcome): deliver(outcome, id)
            case .end(let outcome): end(outcome, id)
            }
        }
    }

    private func ask(_ index: Int, _ families: Families, _ id: UInt64) {
        let flight = state.withLockedValue { state in
            state.questionsSent += 1
            return state.flights[id]
        }
        guard let flight else { return }
        let question = Question(flight.host, families: families)
        let isTrusted = flight.trustsSystem
        let task = spawn { await self.answer(question, index, isTrusted, id) }
        let isOver = state.withLockedValue { state in
            state.flights.update(id) { $0.tasks.append((index, task)) } == nil
        }
        if isOver { task.cancel() }
    }

    private func answer(_ question: Question, _ index: Int, _ isTrusted: Bool, _ id: UInt64) async {
        let upstream = upstream(index)
        let begin = time.now()
        let event: Inquiry.Event
        do throws(UpstreamError) {
            let answer = try await upstream.answer(question)
            let kind = isTrusted ? .fixed : upstream.kind
            event = .answered(upstream: index, question.families, try configuration.check.checked(answer, from: kind))
        } catch {
            event = .failed(upstream: index, question.families, error)
        }
        let now = time.now()
        let actions = state.withLockedValue { state in
            state.health.note(event, after: now - begin, now: now)
            return state.flights.update(id) { $0.inquiry.event(event, now: now) } ?? []
        }
        perform(actions, id)
        wakeInTime()
    }

    private func cancel(_ index: Int, _ timedOut: Bool, _ id: UInt64) {
        let now = time.now()
        let tasks = state.withLockedValue { state -> [Task<Void, Never>] in
            if timedOut { state.health.failed(index, .tryElsewhere, now: now) }
            return state.flights.update(id) { flight in
                defer { flight.tasks.removeAll { $0.upstream == index } }
                return flight.tasks.filter { $0.upstream == index }.map(\.task)
            } ?? []
        }
        for task in tasks { task.cancel() }
    }

    /// A task that ``shutdown()`` waits for.
    @discardableResult
    private func spawn(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        state.withLockedValue { $0.running += 1 }
        return Task {
            await work()
            let idlers = self.state.withLockedValue { state -> [CheckedContinuation<Void, Never>] in
                state.running -= 1
                guard state.running == 0 else { return [] }
                defer { state.idlers = [] }
                return state.idlers
            }
            for idler in idlers { idler.resume() }
        }
    }

    // MARK: Landing

    /// Hands out the part of an answer that is there; the look-up goes on for the cache.
    private func deliver(_ outcome: Inquiry.Outcome, _ id: UInt64) {
        guard let flight = state.withLockedValue({ $0.flights[id] }), !Realm.isProbe(flight.realm) else { return }
        let result = land(outcome, flight, isWhole: false)
        let waiters = state.withLockedValue { $0.flights.deliver(id) }
        for waiter in waiters { waiter.resume(returning: result) }
    }

    private func end(_ outcome: Inquiry.Outcome, _ id: UInt64) {
        guard let flight = state.withLockedValue({ $0.flights[id] }) else { return }
        guard !Realm.isProbe(flight.realm) else { return _ = state.withLockedValue { $0.flights.land(id) } }
        // First into the cache, then out of the table: who comes in between finds one of the two.
        let result = land(outcome, flight, isWhole: true)
        guard let landed = state.withLockedValue({ $0.flights.land(id) }) else { return }
        for waiter in landed.allWaiters { waiter.resume(returning: result) }
    }

    private func land(
        _ outcome: Inquiry.Outcome,
        _ flight: Flight,
        isWhole: Bool
    ) -> Result<Landing, ResolutionError> {
        let now = time.now()
        let failures = outcome.failures.map {
            ResolutionError.Failure(upstream: self.upstream($0.upstream).name, error: $0.error)
        }
        guard let index = outcome.upstream else {
            if let landing = fallBack(flight.host, flight.realm, flight.families, failures, now) {
                return .success(landing)
            }
            if outcome.isOverdue {
                return .failure(
                    ResolutionError(
                        .timeLimit,
                        "\(flight.host): no upstream answered within \(configuration.timeLimit)",
                        failures: failures
                    )
                )
            }
            return .failure(.failed(flight.host, failures))
        }
        let upstream = upstream(index)
        let provenance =
            failures.isEmpty
            ? provenances[index] : Provenance(upstream: upstream.name, kind: upstream.kind, failures: failures)
        var entry = AnswerCache.Entry(provenance: provenance)
        (entry.v4, entry.v6) = configuration.keepingRules.kept(outcome.answer, asked: flight.families, now: now)
        store(flight.host, flight.realm, entry)
        let source: Resolution.Source =
            switch upstream.kind {
            case .system: .system
            case .fixed: .fixed
            default: .fresh
            }
        return .success(Landing(entry: entry, source: source))
    }

    /// Ends everything, for ``shutdown()``.
    func close() {
        let (flights, ticker) = state.withLockedValue { state in
            state.isClosed = true
            defer { state.ticker = nil }
            return (state.flights.landAll(), state.ticker?.task)
        }
        ticker?.cancel()
        for flight in flights {
            for (_, task) in flight.cargo.tasks { task.cancel() }
            for waiter in flight.allWaiters {
                waiter.resume(
                    returning: .failure(ResolutionError(.shutDown, "\(flight.key.name): the resolver was shut down"))
                )
            }
        }
    }

    // MARK: Time

    /// Sees to it that somebody looks at the clock when the first inquiry must.
    private func wakeInTime() {
        let now = time.now()
        state.withLockedValue { state in
            guard !state.isClosed else { return }
            let first = state.flights.all.map(\.cargo.inquiry.nextTick).min() ?? .never
            guard first < state.ticker?.at ?? .never else { return }
            state.ticker?.task.cancel()
            let delay = max(first - now, .zero)
            let sleep = time.sleep
            state.ticker = (
                Task { [weak self] in
                    guard (try? await sleep(delay)) != nil else { return }
                    self?.tick(first)
                }, first
            )
        }
    }

    private func tick(_ planned: Moment) {
        let now = time.now()
        let due = state.withLockedValue { state -> [(UInt64, [Inquiry.Action])] in
            if state.ticker?.at == planned { state.ticker = nil }
            let ids = state.flights.all.filter { $0.cargo.inquiry.nextTick <= now }.map(\.id)
            return ids.map { id in (id, state.flights.update(id) { $0.inquiry.event(.tick, now: now) } ?? []) }
        }
        for (id, actions) in due { perform(actions, id) }
        wakeInTime()
    }
}

extension UpstreamHealth {
    /// Notes how an upstream did.
    mutating func note(_ event: Inquiry.Event, after time: Duration, now: Moment) {
        switch event {
        case .answered(let upstream, _, _):
            succeeded(upstream, after: time)
        case .failed(let upstream, _, let error) where error.code != .cancelled:
            failed(upstream, error.code.reaction, now: now)
        case .failed, .tick:
            break
        }
    }
}
