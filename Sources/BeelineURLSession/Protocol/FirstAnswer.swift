// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// Awaits a closure that may be called once, several times or never.
///
/// The first call counts. Cancellation returns `nil` at once.
@discardableResult
func firstAnswer<Value: Sendable>(_ ask: (_ answer: @escaping @Sendable (Value) -> Void) -> Void) async -> Value? {
    let waiter = NIOLockedValueBox<CheckedContinuation<Value?, Never>?>(nil)
    return await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
            waiter.withLockedValue { $0 = continuation }
            ask { answer in waiter.withLockedValue { $0.take() }?.resume(returning: answer) }
            // Cancellation may have arrived before the continuation was stored; check again.
            if Task.isCancelled { waiter.withLockedValue { $0.take() }?.resume(returning: nil) }
        }
    } onCancel: {
        waiter.withLockedValue { $0.take() }?.resume(returning: nil)
    }
}
