// SPDX-License-Identifier: Apache-2.0

/// Suspends the caller until its continuation is resumed.
///
/// It runs in the isolation of the caller. The closure passed to `withTaskCancellationHandler` is isolated to an actor only if it
/// captures one. Without `isolation`, a caller on an actor (e.g. the main actor) would change threads twice.
///
/// - Parameters:
///   - body: called at once with the continuation.
///   - onCancel: called when the task is cancelled; before `body` if it was cancelled already. It must cause the continuation to
///     be resumed.
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
