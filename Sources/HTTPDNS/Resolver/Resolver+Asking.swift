// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers
import NIOPosix
import Names

extension Resolver {
    /// Performs the actions that a lookup decided on at `now`.
    func perform(_ actions: [UpstreamSchedule.Action], _ lookup: Lookup, _ now: Moment) {
        for action in actions {
            switch action {
            case .ask(let upstream, let families): ask(upstream, families, lookup, now)
            case .cancel(let upstream, let silentSince): cancel(upstream, silentSince, lookup, now)
            case .deliver(let outcome): deliver(outcome, lookup, now)
            case .end(let outcome): end(outcome, lookup, now)
            }
        }
    }

    /// Asks an upstream in a task that ``shutdown()`` waits for. The task runs on an event loop, the caller's if it has
    /// one, so that writing the question and reading the answer need no thread hop.
    private func ask(_ index: Int, _ families: Families, _ lookup: Lookup, _ now: Moment) {
        let request = lookup.context.request
        let question = Question(request.host, families: families, subnet: request.subnet)
        state.withLockedValue { state in
            // Another thread may have ended the lookup since the decision to ask; a question sent now would never be
            // cancelled.
            guard !lookup.isOver, lookup.schedule.awaits(index, families) else { return }
            state.questionsSent += 1
            state.running += 1
            lookup.tasks.append((index, makeTask(question, index, lookup, now)))
        }
    }

    private func makeTask(
        _ question: Question,
        _ index: Int,
        _ lookup: Lookup,
        _ now: Moment
    ) -> Task<Void, Never> {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else {
            return Task { await self.answer(question, index, lookup, since: now) }
        }
        let executor = EventLoopTaskExecutor(MultiThreadedEventLoopGroup.currentEventLoop ?? loop)
        return Task(executorPreference: executor) { await self.answer(question, index, lookup, since: now) }
    }

    private func answer(
        _ question: Question,
        _ index: Int,
        _ lookup: Lookup,
        since begin: Moment
    ) async {
        defer { answered() }
        if configuration.shared != nil { return await answerSharing(question, index, lookup) }
        settle(await outcome(question, index, lookup), question.families, index, lookup, since: begin)
    }

    /// As ``answer(_:_:_:since:)``, but asks ``ResolverConfiguration/shared`` first and shares a new answer.
    private func answerSharing(_ question: Question, _ index: Int, _ lookup: Lookup) async {
        if !lookup.context.isFresh, let answer = await sharedAnswer(to: question, index) {
            return settle(.answered(upstream: index, question.families, answer), lookup, time.now())
        }
        // The upstream's response time excludes the query of the shared answers.
        let begin = time.now()
        let outcome = await outcome(question, index, lookup)
        settle(outcome, question.families, index, lookup, since: begin)
        // The lookup is settled; no caller waits for this.
        if case .success(let answer) = outcome { await share(answer, to: question, index) }
    }

    private func outcome(
        _ question: Question,
        _ index: Int,
        _ lookup: Lookup
    ) async -> Result<Answer, UpstreamError> {
        do throws(UpstreamError) {
            return .success(try await checked(question, index, lookup.context.trustsSystem))
        } catch {
            return .failure(error)
        }
    }

    // Kept out of the async function so that its frame stays small.
    @inline(never)
    private func settle(
        _ outcome: Result<Answer, UpstreamError>,
        _ families: Families,
        _ index: Int,
        _ lookup: Lookup,
        since begin: Moment
    ) {
        let event: UpstreamSchedule.Event =
            switch outcome {
            case .success(let answer): .answered(upstream: index, families, answer)
            case .failure(let error): .failed(upstream: index, families, error)
            }
        let now = time.now()
        configuration.metrics?.answered(upstream(index).name, event, after: now - begin)
        settle(event, lookup, now, after: now - begin)
    }

    /// Records the end of a question, and resumes ``settled()`` after the last.
    func answered() {
        let idlers = state.withLockedValue { state -> [CheckedContinuation<Void, Never>] in
            state.running -= 1
            guard state.running == 0 else { return [] }
            defer { state.idlers = [] }
            return state.idlers
        }
        for idler in idlers { idler.resume() }
    }

    /// Passes the result of a question to its lookup. `time` is the upstream's response time; nil: the result is not
    /// counted in its health.
    private func settle(_ event: UpstreamSchedule.Event, _ lookup: Lookup, _ now: Moment, after time: Duration? = nil) {
        let step = state.withLockedValue { state in
            if let time, lookup.context.generation == state.health.generation {
                state.health.note(event, after: time, now: now)
            }
            return lookup.isOver ? UpstreamSchedule.Step() : lookup.schedule.event(event, now: now)
        }
        perform(step.actions, lookup, now)
        wake(at: step.nextTick)
    }

    /// Asks an upstream and checks its answer.
    func checked(_ question: Question, _ index: Int, _ isTrusted: Bool) async throws(UpstreamError) -> Answer {
        try checked(try await upstream(index).answer(question), index, isTrusted)
    }

    @inline(never)
    private func checked(_ answer: Answer, _ index: Int, _ isTrusted: Bool) throws(UpstreamError) -> Answer {
        try configuration.check.checked(answer, from: isTrusted ? .fixed : upstream(index).kind)
    }

    private func cancel(_ index: Int, _ silentSince: Moment?, _ lookup: Lookup, _ now: Moment) {
        let tasks = state.withLockedValue { state in
            if let silentSince, lookup.context.generation == state.health.generation {
                state.health.timedOut(index, askedAt: silentSince, now: now)
            }
            defer { lookup.tasks.removeAll { $0.upstream == index } }
            return lookup.tasks.filter { $0.upstream == index }.map(\.task)
        }
        for task in tasks { task.cancel() }
    }

    // MARK: Time

    /// Ensures that the lookups are ticked at `first` or earlier.
    func wake(at first: Moment) {
        guard first < .never else { return }
        state.withLockedValue { state in
            guard !state.isClosed, first < state.ticker?.at ?? .never else { return }
            state.ticker?.task.cancel()
            let sleep = time.sleepUntil
            state.ticker = (
                Task { [weak self] in
                    guard (try? await sleep(first)) != nil else { return }
                    self?.tick(first)
                }, first
            )
        }
    }

    private func tick(_ planned: Moment) {
        let now = time.now()
        let due = state.withLockedValue { state in
            if state.ticker?.at == planned { state.ticker = nil }
            return state.lookups.all.filter { $0.nextTick <= now }.map { lookup in
                let actions = lookup.schedule.event(.tick, now: now).actions
                return (lookup: lookup, actions: actions, isLate: lookup.staleAt <= now && !lookup.schedule.hasAnswer)
            }
        }
        for (lookup, actions, isLate) in due {
            if isLate { handOutStale(lookup, now) }
            perform(actions, lookup, now)
        }
        wake(at: state.withLockedValue { $0.lookups.all.lazy.map(\.nextTick).min() } ?? .never)
    }
}

extension UpstreamHealth {
    /// Records the result of a question.
    mutating func note(_ event: UpstreamSchedule.Event, after time: Duration, now: Moment) {
        switch event {
        case .answered(let upstream, _, _):
            succeeded(upstream, after: time)
            answered(upstream, at: now)
        case .failed(let upstream, _, let error): failed(upstream, error, now: now)
        case .tick: break
        }
    }

    /// Records a failure. Cancellation and too many questions under way are not the upstream's fault and do not count.
    mutating func failed(_ upstream: Int, _ error: UpstreamError, now: Moment) {
        guard error.code != .cancelled, error.code != .busy else { return }
        failed(upstream, error.code.reaction, now: now)
    }
}
