// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// Wakes one waiting task. A signal without a waiter is kept for the next wait; several such signals count as one. A second wait
/// ends the first one.
package final class WakeSignal: Sendable {
    private struct State {
        var isSignalled = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = NIOLockedValueBox(State())

    package init() {}

    package func signal() {
        state.withLockedValue { state in
            defer { state.waiter = nil }
            if state.waiter == nil { state.isSignalled = true }
            return state.waiter
        }?.resume()
    }

    /// Returns at the next signal, at `deadline` of `clock`, or on cancellation.
    package func wait<C: Clock>(until deadline: C.Instant, clock: C) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            group.addTask { try? await clock.sleep(until: deadline, tolerance: nil) }
            await group.next()
            group.cancelAll()
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let over = state.withLockedValue { state -> CheckedContinuation<Void, Never>? in
                    guard !state.isSignalled, !Task.isCancelled else {
                        // A cancelled wait keeps the signal for the next wait.
                        if !Task.isCancelled { state.isSignalled = false }
                        return continuation
                    }
                    defer { state.waiter = continuation }
                    return state.waiter
                }
                over?.resume()
            }
        } onCancel: {
            state.withLockedValue { state in
                defer { state.waiter = nil }
                return state.waiter
            }?.resume()
        }
    }
}
