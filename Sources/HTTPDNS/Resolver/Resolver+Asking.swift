// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers
import NIOPosix
import Names

extension Resolver {
    /// Does what a look-up decided at `now`.
    func perform(_ actions: [Inquiry.Action], _ flight: Flight, _ now: Moment) {
        for action in actions {
            switch action {
            case .ask(let upstream, let families): ask(upstream, families, flight)
            case .cancel(let upstream, let timedOut): cancel(upstream, timedOut, flight, now)
            case .handOutStale: handOutStale(flight, now)
            case .deliver(let outcome): deliver(outcome, flight, now)
            case .end(let outcome): end(outcome, flight, now)
            }
        }
    }

    /// Asks in a task that ``shutdown()`` waits for. It runs on an event loop, the caller's where the caller is on one: there it
    /// needs no other thread to write the question and read the answer.
    private func ask(_ index: Int, _ families: Families, _ flight: Flight) {
        let wanted = flight.errand.wanted
        let question = Question(wanted.host, families: families, subnet: wanted.subnet)
        state.withLockedValue { state in
            guard !flight.isOver else { return }
            state.questionsSent += 1
            state.running += 1
            flight.tasks.append((index, makeTask(question, index, flight)))
        }
    }

    private func makeTask(_ question: Question, _ index: Int, _ flight: Flight) -> Task<Void, Never> {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else {
            return Task { await self.answer(question, index, flight) }
        }
        let executor = EventLoopTaskExecutor(MultiThreadedEventLoopGroup.currentEventLoop ?? loop)
        return Task(executorPreference: executor) { await self.answer(question, index, flight) }
    }

    private func answer(
        _ question: Question,
        _ index: Int,
        _ flight: Flight
    ) async {
        defer { answered() }
        if configuration.shared != nil, !flight.errand.isFresh, let answer = await sharedAnswer(to: question, index) {
            return settle(.answered(upstream: index, question.families, answer), flight, time.now())
        }
        let begin = time.now()
        let event: Inquiry.Event
        do throws(UpstreamError) {
            let answer = try await checked(question, index, flight.errand.trustsSystem)
            event = .answered(upstream: index, question.families, answer)
        } catch {
            event = .failed(upstream: index, question.families, error)
        }
        let now = time.now()
        configuration.metrics?.answered(upstream(index).name, event, after: now - begin)
        settle(event, flight, now, after: now - begin)
        // Nobody waits for this.
        if configuration.shared != nil, case .answered(_, _, let answer) = event {
            await share(answer, to: question, index)
        }
    }

    /// A task of ``ask(_:_:_:)`` is at its end.
    private func answered() {
        let idlers = state.withLockedValue { state -> [CheckedContinuation<Void, Never>] in
            state.running -= 1
            guard state.running == 0 else { return [] }
            defer { state.idlers = [] }
            return state.idlers
        }
        for idler in idlers { idler.resume() }
    }

    /// Lets a look-up go on with what became of a question, which was settled by an upstream `time` after it was asked.
    private func settle(_ event: Inquiry.Event, _ flight: Flight, _ now: Moment, after time: Duration? = nil) {
        let step = state.withLockedValue { state in
            if let time { state.health.note(event, after: time, now: now) }
            return flight.isOver ? Inquiry.Step() : flight.inquiry.event(event, now: now)
        }
        perform(step.actions, flight, now)
        wake(at: step.nextTick)
    }

    /// Asks an upstream, and checks what it says.
    func checked(_ question: Question, _ index: Int, _ isTrusted: Bool) async throws(UpstreamError) -> Answer {
        let upstream = upstream(index)
        let answer = try await upstream.answer(question)
        return try configuration.check.checked(answer, from: isTrusted ? .fixed : upstream.kind)
    }

    private func cancel(_ index: Int, _ timedOut: Bool, _ flight: Flight, _ now: Moment) {
        let tasks = state.withLockedValue { state in
            if timedOut { state.health.failed(index, .tryElsewhere, now: now) }
            defer { flight.tasks.removeAll { $0.upstream == index } }
            return flight.tasks.filter { $0.upstream == index }.map(\.task)
        }
        for task in tasks { task.cancel() }
    }

    // MARK: Time

    /// Sees to it that somebody looks at the clock at `first`, or before.
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
            return state.flights.all.filter { $0.inquiry.nextTick <= now }
                .map { (flight: $0, actions: $0.inquiry.event(.tick, now: now).actions) }
        }
        for (flight, actions) in due { perform(actions, flight, now) }
        wake(at: state.withLockedValue { $0.flights.all.lazy.map(\.inquiry.nextTick).min() } ?? .never)
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
