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

/// Runs `work`, and cancels it when the remaining time has passed.
///
/// - Parameter rest: The remaining time. Called again when it has passed, because it may have grown.
/// - Returns: Whether `work` ended in time.
func withPatience(
    by clock: any Clock<Duration>,
    _ rest: @escaping @Sendable () -> Duration,
    work: @escaping @Sendable () async throws -> Void
) async throws(WebViewError) -> Bool {
    do {
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await work()
                return true
            }
            group.addTask {
                while true {
                    let rest = rest()
                    if rest <= .zero { return false }
                    try await clock.sleep(for: rest.asWait)
                }
            }
            defer { group.cancelAll() }
            return try await group.next() ?? true
        }
    } catch {
        throw WebViewError(error)
    }
}

extension Clock where Duration == Swift.Duration {
    /// Returns a function that measures the time from now on.
    func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: self.now) }
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
