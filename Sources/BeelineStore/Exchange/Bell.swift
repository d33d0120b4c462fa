// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// Wakes one waiting task. A ring without a waiter is kept for the next wait; several such rings count as one.
final class Bell: Sendable {
    private struct State {
        var hasRung = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = NIOLockedValueBox(State())

    func ring() {
        state.withLockedValue { state in
            defer { state.waiter = nil }
            if state.waiter == nil { state.hasRung = true }
            return state.waiter
        }?.resume()
    }

    /// Returns at the next ring, at `deadline` of `clock`, or on cancellation.
    func wait<C: Clock>(until deadline: C.Instant, clock: C) async {
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
                let isOver = state.withLockedValue { state in
                    guard !state.hasRung, !Task.isCancelled else {
                        // A cancelled wait keeps the ring for the next wait.
                        if !Task.isCancelled { state.hasRung = false }
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLockedValue { state in
                defer { state.waiter = nil }
                return state.waiter
            }?.resume()
        }
    }
}
