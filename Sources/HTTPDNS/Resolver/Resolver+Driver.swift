// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Names

extension Resolver {
    typealias Waiter = CheckedContinuation<Result<LookupResult, ResolutionError>, Never>

    /// The machine, and the work under way that its actions have started.
    struct State {
        var machine: LookupMachine
        /// The callers that wait.
        var waiters: [CallerID: Waiter] = [:]
        var lastCaller: CallerID = 0
        /// The tasks that ask upstreams for lookups.
        var questions: [UpstreamQuestion.ID: Task<Void, Never>] = [:]
        /// The tasks that ask upstreams for HTTPS records.
        var serviceQuestions: [PendingServiceQuestion.ID: Task<Void, Never>] = [:]
        /// The task that waits for the machine's next moment.
        var ticker: Task<Void, Never>?
        var questionsSent = 0
        /// The number of questions under way, in ``questions`` or elsewhere.
        var running = 0
        /// Callers that wait for `running` to become zero.
        var idlers: [CheckedContinuation<Void, Never>] = []
        /// Streams that finish when the resolver is shut down.
        var onClose: [Int: AsyncStream<Void>.Continuation] = [:]
        /// The next key of `onClose`.
        var nextCloseWatcher = 0
        var background = Background()
        /// The newest network that was not announced yet.
        var unannounced: Network?
        /// Whether a network is being announced. No other call may announce one at the same time.
        var isAnnouncing = false

        /// Takes the network to announce now; nil if there is none, or if one is being announced.
        mutating func takeUnannounced() -> Network? {
            guard !isAnnouncing, let network = unannounced else { return nil }
            isAnnouncing = true
            unannounced = nil
            return network
        }
    }

    // MARK: Actions

    /// The part of the machine's actions that calls other code. It is carried out after the lock is released.
    private struct Effects {
        var cancelled: [Task<Void, Never>] = []
        var resumed: [(waiter: Waiter, result: Result<LookupResult, ResolutionError>)] = []
        var announcesNetwork = false
    }

    /// Lets the machine handle an event, and carries out its actions.
    ///
    /// The tables of tasks and waiters change under the same lock as the decision, so that the actions of two threads
    /// cannot overtake each other. Tasks are cancelled and waiters resumed after it is released.
    ///
    /// - Parameter prepare: Changes of the state that belong to the event.
    func handle(_ event: LookupMachine.Event, now: Moment, prepare: (inout State) -> Void = { _ in }) {
        let effects = state.withLockedValue { state in
            prepare(&state)
            return begin(state.machine.handle(event, now: now), in: &state, now: now)
        }
        for task in effects.cancelled { task.cancel() }
        for (waiter, result) in effects.resumed { waiter.resume(returning: result) }
        if effects.announcesNetwork { announceNetworks() }
    }

    private func begin(_ actions: [LookupMachine.Action], in state: inout State, now: Moment) -> Effects {
        var effects = Effects()
        for action in actions {
            switch action {
            case .ask(let question):
                state.questionsSent += 1
                state.running += 1
                state.questions[question.id] = makeTask { await $0.ask(question, since: now) }
            case .stopAsking(let id):
                if let task = state.questions.removeValue(forKey: id) { effects.cancelled.append(task) }
            case .askServices(let question):
                state.questionsSent += 1
                state.running += 1
                state.serviceQuestions[question.id] = makeTask { await $0.ask(question) }
            case .stopAskingServices(let id):
                if let task = state.serviceQuestions.removeValue(forKey: id) { effects.cancelled.append(task) }
            case .resume(let callers, let result):
                for caller in callers {
                    if let waiter = state.waiters.removeValue(forKey: caller) {
                        effects.resumed.append((waiter, result))
                    }
                }
            case .wake(let moment):
                if let ticker = state.ticker { effects.cancelled.append(ticker) }
                state.ticker = makeTicker(at: moment)
            case .announce(let network):
                state.unannounced = network
                effects.announcesNetwork = true
            }
        }
        return effects
    }

    /// Announces the newest network. If another call is announcing a network, that call announces this one next, so
    /// that the newest is announced last.
    private func announceNetworks() {
        while let network = state.withLockedValue({ $0.takeUnannounced() }) {
            configuration.network.onChange?(network)
            for case let upstream as any NetworkAware in configuration.upstreams {
                upstream.networkChanged(to: network)
            }
            state.withLockedValue { $0.isAnnouncing = false }
        }
    }

    private func makeTicker(at moment: Moment) -> Task<Void, Never> {
        let sleep = time.sleepUntil
        return Task { [weak self] in
            guard (try? await sleep(moment)) != nil, let self else { return }
            handle(.timePassed, now: time.now())
        }
    }

    // MARK: Callers

    /// Waits for the result of an event's caller.
    func result(
        now: Moment,
        event: (CallerID) -> LookupMachine.Event
    ) async throws(ResolutionError) -> LookupResult {
        let caller = state.withLockedValue { state in
            state.lastCaller += 1
            return state.lastCaller
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { wait(as: caller, for: event(caller), now: now, $0) }
        } onCancel: {
            handle(.cancelled(caller), now: now)
        }
        #if BEELINE_TSAN
        // The thread sanitizer does not see that this code runs after the call that resumed it. The lock shows it.
        state.withLockedValue { _ in }
        #endif
        return try result.get()
    }

    @inline(never)
    private func wait(as caller: CallerID, for event: LookupMachine.Event, now: Moment, _ waiter: Waiter) {
        handle(event, now: now) { $0.waiters[caller] = waiter }
        // Cancellation may have arrived before the caller was registered; check again.
        if Task.isCancelled { handle(.cancelled(caller), now: now) }
    }

    // MARK: Questions

    /// A task that asks an upstream, and that ``shutDown()`` waits for. It runs on an event loop, the caller's if it has
    /// one, so that writing the question and reading the answer need no thread hop.
    private func makeTask(_ ask: @escaping @Sendable (Resolver) async -> Void) -> Task<Void, Never> {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else {
            return Task { await ask(self) }
        }
        let executor = EventLoopTaskExecutor(MultiThreadedEventLoopGroup.currentEventLoop ?? loop)
        return Task(executorPreference: executor) { await ask(self) }
    }

    private func ask(_ question: PendingServiceQuestion) async {
        let result: Result<ServiceReply, UpstreamError>
        do throws(UpstreamError) {
            guard let upstream = upstream(question.id.upstream) as? any ServiceUpstream else {
                throw UpstreamError(.unsupported, "the upstream carries addresses only")
            }
            var reply = try await upstream.services(question.question)
            reply.isAuthenticated = upstream.isAuthenticated
            try configuration.check.check(reply.records)
            result = .success(reply)
        } catch {
            result = .failure(error)
        }
        handle(.servicesAnswered(question.id, result), now: time.now())
        questionEnded { $0.serviceQuestions[question.id] = nil }
    }

    private func ask(_ question: UpstreamQuestion, since begin: Moment) async {
        if configuration.cache.shared != nil {
            await askSharing(question)
        } else {
            answered(question, with: await result(of: question), since: begin)
        }
        questionEnded { $0.questions[question.id] = nil }
    }

    /// Asks ``ResolverConfiguration/Cache/shared`` first, and shares a new answer.
    private func askSharing(_ question: UpstreamQuestion) async {
        if !question.context.isFresh, let answer = await sharedAnswer(to: question) {
            return handle(.answered(question, .success(answer), after: nil), now: time.now())
        }
        // The upstream's response time excludes the query of the shared answers.
        let begin = time.now()
        let result = await result(of: question)
        answered(question, with: result, since: begin)
        // The answer is delivered; no caller waits for this.
        if case .success(let answer) = result { await share(answer, to: question) }
    }

    /// An upstream's answer to another resolver, checked like an answer to this one.
    private func sharedAnswer(to question: UpstreamQuestion) async -> Answer? {
        let upstream = upstream(question.id.upstream)
        guard let shared = configuration.cache.shared, upstream.kind == .service,
            let answer = await shared.answer(to: question.question, from: upstream.name),
            var checked = try? configuration.check.checked(answer, from: upstream.kind)
        else { return nil }
        checked.isShared = true
        configuration.metrics?.shared(upstream.name)
        return checked
    }

    /// Shares an upstream's answer with other resolvers. An answer with ``Answer/extra`` is not shared, because that is
    /// specific to the client.
    private func share(_ answer: Answer, to question: UpstreamQuestion) async {
        let upstream = upstream(question.id.upstream)
        guard let shared = configuration.cache.shared, answer.extra == nil, upstream.kind == .service else { return }
        await shared.share(answer, to: question.question, from: upstream.name)
    }

    private func result(of question: UpstreamQuestion) async -> Result<Answer, UpstreamError> {
        await checkedAnswer(to: question.question, from: question.id.upstream, isTrusted: question.context.isTrusted)
    }

    // Kept out of the async function so that its frame stays small.
    @inline(never)
    private func answered(_ question: UpstreamQuestion, with result: Result<Answer, UpstreamError>, since begin: Moment)
    {
        let now = time.now()
        configuration.metrics?.answered(by: upstream(question.id.upstream).name, with: result, after: now - begin)
        handle(.answered(question, result, after: now - begin), now: now)
    }

    /// The answer of an upstream if it passes the checks.
    func checkedAnswer(
        to question: Question,
        from index: Int,
        isTrusted: Bool
    ) async -> Result<Answer, UpstreamError> {
        do throws(UpstreamError) {
            return .success(try checked(try await upstream(index).answer(question), from: index, isTrusted: isTrusted))
        } catch {
            return .failure(error)
        }
    }

    @inline(never)
    private func checked(_ answer: Answer, from index: Int, isTrusted: Bool) throws(UpstreamError) -> Answer {
        try configuration.check.checked(answer, from: isTrusted ? .fixed : upstream(index).kind)
    }

    /// The upstream with an index: those of the configuration, then the system.
    func upstream(_ index: Int) -> any Upstream {
        if index < configuration.upstreams.count { return configuration.upstreams[index] }
        return configuration.system ?? FixedUpstream(HostsTable(), name: "none")
    }

    /// Counts a question that belongs to no lookup, so that ``shutDown()`` waits for it. End it with
    /// ``questionEnded(_:)``.
    ///
    /// - Returns: False if the resolver is shut down.
    func questionBegins() -> Bool {
        state.withLockedValue { state in
            guard !state.machine.isClosed else { return false }
            state.questionsSent += 1
            state.running += 1
            return true
        }
    }

    /// Records the end of a question, and resumes ``waitUntilIdle()`` after the last.
    func questionEnded(_ change: (inout State) -> Void = { _ in }) {
        let idlers = state.withLockedValue { state -> [CheckedContinuation<Void, Never>] in
            change(&state)
            state.running -= 1
            guard state.running == 0 else { return [] }
            defer { state.idlers = [] }
            return state.idlers
        }
        for idler in idlers { idler.resume() }
    }

    // MARK: Shutdown

    /// Ends all lookups and returns when no upstream is being asked. Waiting callers get the error `shutDown`.
    /// ``cached(_:port:families:subnet:)`` still returns what the cache has.
    public func shutDown() async {
        close()
        await waitUntilIdle()
    }

    private func close() {
        var watchers: [AsyncStream<Void>.Continuation] = []
        var tasks: [Task<Void, Never>] = []
        handle(.closed, now: time.now()) { state in
            watchers = Array(state.onClose.values)
            // Tasks without a lookup share an answer that was already delivered.
            tasks = Array(state.questions.values) + Array(state.serviceQuestions.values)
            if let ticker = state.ticker { tasks.append(ticker) }
            (state.ticker, state.onClose) = (nil, [:])
        }
        for task in tasks { task.cancel() }
        for watcher in watchers { watcher.finish() }
    }

    /// Returns when no upstream is being asked.
    package func waitUntilIdle() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isIdle = state.withLockedValue { state in
                guard state.running > 0 else { return true }
                state.idlers.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
    }

    /// Returns when the resolver is shut down or the task is cancelled.
    package func closed() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let number = state.withLockedValue { state -> Int? in
            guard !state.machine.isClosed else { return nil }
            defer { state.nextCloseWatcher += 1 }
            state.onClose[state.nextCloseWatcher] = continuation
            return state.nextCloseWatcher
        }
        guard let number else { return }
        for await _ in stream {}
        state.withLockedValue { $0.onClose[number] = nil }
    }
}
