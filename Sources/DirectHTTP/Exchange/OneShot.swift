// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// A result that is set once, and one task that waits for it.
final class OneShot<Value: Sendable>: Sendable {
    private enum State {
        case open
        case waiting(UnsafeContinuation<Result<Value, DirectHTTPError>, Never>)
        case known(Result<Value, DirectHTTPError>)
    }

    /// Guards the result and its waiter.
    private let state = NIOLockedValueBox(State.open)

    /// Whether a task waits for the result.
    var isAwaited: Bool { state.withLockedValue { if case .waiting = $0 { true } else { false } } }

    /// The result; nil until it is set.
    var result: Result<Value, DirectHTTPError>? {
        state.withLockedValue { if case .known(let result) = $0 { result } else { nil } }
    }

    /// Sets the result. Returns false if it was already set.
    @discardableResult
    func resolve(_ result: Result<Value, DirectHTTPError>) -> Bool {
        let (isFirst, waiter) = state.withLockedValue {
            state -> (Bool, UnsafeContinuation<Result<Value, DirectHTTPError>, Never>?) in
            switch state {
            case .open:
                state = .known(result)
                return (true, nil)
            case .waiting(let waiter):
                state = .known(result)
                return (true, waiter)
            case .known:
                return (false, nil)
            }
        }
        waiter?.resume(returning: result)
        return isFirst
    }

    /// Waits for the result. A cancelled task stops waiting.
    func value(orCancelled why: String) async throws(DirectHTTPError) -> Value {
        let result = await waitCancellably { (waiter: UnsafeContinuation<Result<Value, DirectHTTPError>, Never>) in
            let known = state.withLockedValue { state -> Result<Value, DirectHTTPError>? in
                if case .known(let result) = state { return result }
                state = .waiting(waiter)
                return nil
            }
            if let known { waiter.resume(returning: known) }
        } onCancel: {
            resolve(.failure(DirectHTTPError(.cancelled, why)))
        }
        #if BEELINE_TSAN
        // TSan does not see that this runs after the resuming call; taking the lock shows it.
        state.withLockedValue { _ in }
        #endif
        return try result.get()
    }
}
