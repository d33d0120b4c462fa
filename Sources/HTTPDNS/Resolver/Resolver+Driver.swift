// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// Carries out the actions of the ``LookupMachine``, and lets callers wait for its results.
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
}
