// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// A first-in, first-out mutual exclusion for asynchronous code.
final class AsyncMutex: Sendable {
    private struct State {
        var isTaken = false
        var next = 0
        var waiters: [(number: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    /// Guards whether it is taken, and the queue of waiters.
    private let state = NIOLockedValueBox(State())

    /// The number of calls that wait for their turn.
    var waiting: Int { state.withLockedValue { $0.waiters.count } }

    /// Runs `body` when no other call runs.
    ///
    /// - Throws: ``WebDriverError``: `ended` if the task is cancelled while it waits. `body` does not run then.
    func withLock<Value>(_ body: () async throws(WebDriverError) -> Value) async throws(WebDriverError) -> Value {
        guard await enter() else { throw WebDriverError(.ended, "waiting for the browser was cancelled") }
        defer { leave() }
        return try await body()
    }

    /// Waits for the turn. Returns false if the task is cancelled first.
    private func enter() async -> Bool {
        let number = state.withLockedValue { state in
            state.next += 1
            return state.next
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let answer = state.withLockedValue { state -> Bool? in
                    // Cancellation may have arrived before the waiter is in the queue.
                    if Task.isCancelled { return false }
                    if state.isTaken {
                        state.waiters.append((number, waiter))
                        return nil
                    }
                    state.isTaken = true
                    return true
                }
                if let answer { waiter.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLockedValue { state in
                state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0).continuation }
            }
            waiter?.resume(returning: false)
        }
    }

    private func leave() {
        let next = state.withLockedValue { state -> CheckedContinuation<Bool, Never>? in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst().continuation }
            state.isTaken = false
            return nil
        }
        next?.resume(returning: true)
    }
}
