// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// A first-in, first-out mutual exclusion for asynchronous code.
final class Turnstile: Sendable {
    private struct State {
        var isTaken = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// Guards whether it is taken, and the queue of waiters.
    private let state = NIOLockedValueBox(State())

    /// Runs `body` when no other call runs.
    func pass<Value, Failure>(
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        await withCheckedContinuation { waiter in
            let isFree = state.withLockedValue { state in
                defer { state.isTaken = true }
                if state.isTaken { state.waiters.append(waiter) }
                return !state.isTaken
            }
            if isFree { waiter.resume() }
        }
        defer {
            let next = state.withLockedValue { state -> CheckedContinuation<Void, Never>? in
                guard state.waiters.isEmpty else { return state.waiters.removeFirst() }
                state.isTaken = false
                return nil
            }
            next?.resume()
        }
        return try await body()
    }
}
