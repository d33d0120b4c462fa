// SPDX-License-Identifier: Apache-2.0

/// Runs `work` and cancels it after `limit` of real time. Use it to bound a wait that should end by itself.
///
/// ```swift
/// let response = try await withTimeLimit(.seconds(5), for: { "the response" }) {
///     try await client.send(request)
/// }
/// ```
///
/// - Parameters:
///   - work: The operation to run. It must end when its task is cancelled: this waits for it after the limit, too. A loop
///     of `Task.yield()` does not end, because that function ignores cancellation.
///   - limit: The time limit.
///   - what: Describes the operation for the error message. Called only after a timeout.
/// - Throws: The error of `work`, or ``TestingError`` with code `timedOut`.
public func withTimeLimit<Result: Sendable>(
    _ limit: Duration,
    for what: @escaping @Sendable () -> String,
    work: @escaping @Sendable () async throws -> Result
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
