// SPDX-License-Identifier: Apache-2.0

/// Runs `work` for at most `limit` of real time and cancels it then: the bound of a wait that should never need it.
///
/// ```swift
/// let response = try await withTimeLimit(.seconds(5), { "the response" }) {
///     try await client.send(request)
/// }
/// ```
///
/// - Parameters:
///   - work: what must be done in time.
///   - limit: how long at most. A work that ignores its cancellation is still waited for.
///   - what: what is waited for, for the message of the error; asked only when time is up.
/// - Throws: what `work` throws, or ``TestingError`` with code `timedOut`.
public func withTimeLimit<Result: Sendable>(
    _ limit: Duration,
    _ what: @escaping @Sendable () -> String,
    _ work: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await work() }
        group.addTask {
            try await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next(), let result = first else {
            throw TestingError(.timedOut, "waited \(limit) for \(what())")
        }
        return result
    }
}
