// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// Waits for somebody who answers by a closure: once, twice, or never.
///
/// The first answer counts. A waiter who is cancelled gets `nil` at once.
@discardableResult
func firstAnswer<Value: Sendable>(
    _ ask: (_ answer: @escaping @Sendable (Value) -> Void) -> Void
) async -> Value? {
    let waiter = NIOLockedValueBox<CheckedContinuation<Value?, Never>?>(nil)
    return await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
            waiter.withLockedValue { $0 = continuation }
            ask { answer in waiter.withLockedValue { $0.take() }?.resume(returning: answer) }
            // The handler below may have run before there was anybody to wake.
            if Task.isCancelled { waiter.withLockedValue { $0.take() }?.resume(returning: nil) }
        }
    } onCancel: {
        waiter.withLockedValue { $0.take() }?.resume(returning: nil)
    }
}
