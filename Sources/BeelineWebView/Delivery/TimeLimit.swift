// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// Runs `work` for at most `limit`, then cancels it.
///
/// - Throws: The error of `work`, or that of `late` if the time is up.
func withTimeLimit<Value: Sendable>(
    _ limit: Duration,
    by clock: any Clock<Duration>,
    else late: @escaping @Sendable () -> WebViewError,
    _ work: @escaping @Sendable () async throws -> Value
) async throws(WebViewError) -> Value {
    do {
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await work() }
            group.addTask {
                try await clock.sleep(for: limit.asWait)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let value = first else { throw late() }
            return value
        }
    } catch {
        throw WebViewError(error)
    }
}

extension WebViewError {
    /// Creates the error for any error that a store throws.
    init(_ error: any Error) {
        switch error {
        case let error as WebViewError: self = error
        case is CancellationError: self.init(.cancelled, "the task was cancelled", underlyingError: error)
        default: self.init(.failed, "the cookie store failed: \(error)", underlyingError: error)
        }
    }
}
