// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// The result of a completion handler that may be called at once, late, twice or never. The waiting task may be cancelled.
final class CompletionResult<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, any Error>)
        case ended(Result<Value, any Error>)
    }

    /// Guards the waiting continuation or the result.
    private let state = NIOLockedValueBox(State.open)

    /// Sets the value. Later values are ignored.
    func give(_ value: Value) { end(.success(value)) }

    /// Waits for the value. Only one task may call it, once.
    func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLockedValue { state -> Result<Value, any Error>? in
                    if case .ended(let result) = state { return result }
                    state = .awaited(continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            end(.failure(CancellationError()))
        }
    }

    private func end(_ result: Result<Value, any Error>) {
        let waiter = state.withLockedValue { state -> CheckedContinuation<Value, any Error>? in
            switch state {
            case .open:
                state = .ended(result)
                return nil
            case .awaited(let continuation):
                state = .ended(result)
                return continuation
            case .ended: return nil
            }
        }
        waiter?.resume(with: result)
    }
}
