// SPDX-License-Identifier: Apache-2.0

/// Suspends the caller until its continuation is resumed, in the isolation of the caller: otherwise a caller on an actor
/// would change threads twice.
///
/// - Parameters:
///   - body: called at once with the continuation.
///   - onCancel: called when the task is cancelled; before `body` if it was cancelled already. It must cause the resumption.
func waitCancellably<Value>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: (UnsafeContinuation<Value, Never>) -> Void,
    onCancel: @Sendable () -> Void
) async -> Value {
    await withTaskCancellationHandler {
        // The closure is isolated to an actor only if it captures one.
        _ = isolation
        return await withUnsafeContinuation(body)
    } onCancel: {
        onCancel()
    }
}
