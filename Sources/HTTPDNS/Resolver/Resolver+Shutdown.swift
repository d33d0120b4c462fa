// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

extension Resolver {
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
