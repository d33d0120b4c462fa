// SPDX-License-Identifier: Apache-2.0

/// Suspends the caller until its continuation is resumed.
///
/// It waits where it runs. A closure that `withTaskCancellationHandler` is handed belongs to no actor unless it captures one: without
/// `isolation`, a caller on an actor, the main one for instance, would change threads on its way in and once more on its way out.
///
/// - Parameters:
///   - isolation: where the caller runs.
///   - body: called at once with the continuation.
///   - onCancel: called when the task is cancelled, before `body` where it already was. It must see to it that the continuation
///     is resumed.
func waitCancellably<Value>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: (UnsafeContinuation<Value, Never>) -> Void,
    onCancel: @Sendable () -> Void
) async -> Value {
    await withTaskCancellationHandler {
        _ = isolation
        return await withUnsafeContinuation(body)
    } onCancel: {
        onCancel()
    }
}
