// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// A locked value that tasks can wait on. `wait` returns at once if its predicate holds, otherwise at the first change that
/// fulfils it.
final class Watched<Value: Sendable>: Sendable {
    private struct Waiter {
        let holds: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Value, any Error>
    }

    private struct State {
        var value: Value
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
    }

    private let state: NIOLockedValueBox<State>

    init(_ value: Value) {
        state = NIOLockedValueBox(State(value: value))
    }

    var value: Value { state.withLockedValue { $0.value } }

    /// Changes the value and resumes the waiters whose predicate it now fulfils.
    @discardableResult
    func update<Result>(_ change: (inout Value) -> Result) -> Result {
        let (result, woken, value) = state.withLockedValue { state in
            let result = change(&state.value)
            let ready = state.waiters.filter { $0.value.holds(state.value) }
            for id in ready.keys { state.waiters[id] = nil }
            return (result, ready.values.map(\.continuation), state.value)
        }
        for continuation in woken { continuation.resume(returning: value) }
        return result
    }

    /// Appends an element, unless the list has 10,000 elements.
    func append<Element: Sendable>(_ element: Element) where Value == [Element] {
        update { if $0.count < 10_000 { $0.append(element) } }
    }

    /// Waits until the predicate holds, and returns the value that fulfils it.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    func wait(until holds: @escaping @Sendable (Value) -> Bool) async throws -> Value {
        let id = state.withLockedValue { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let now: Result<Value, any Error>? = state.withLockedValue { state in
                    if holds(state.value) { return .success(state.value) }
                    // Cancellation may have arrived before the waiter was registered; check again.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiters[id] = Waiter(holds: holds, continuation: continuation)
                    return nil
                }
                if let now { continuation.resume(with: now) }
            }
        } onCancel: {
            let waiter = state.withLockedValue { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Like `wait(until:)`, for at most `limit` of real time.
    ///
    /// - Throws: ``TestingError`` with code `timedOut` that names `what` and the last value.
    func wait(
        for what: String,
        atMost limit: Duration,
        until holds: @escaping @Sendable (Value) -> Bool
    ) async throws -> Value {
        try await withTimeLimit(limit, for: { "\(what); at the end: \(self.value)" }) {
            try await self.wait(until: holds)
        }
    }
}
