// SPDX-License-Identifier: Apache-2.0

/// Polls a condition that has no event to wait for. Ends at its limit also if the condition ignores cancellation, unlike
/// a loop of `Task.yield()` in ``withTimeLimit(_:for:work:)``.
///
/// ```swift
/// try await eventually("the connection") { redis.isConnected }
/// ```
///
/// - Parameters:
///   - what: Describes the condition for the error message. Evaluated only after a timeout.
///   - limit: The limit of real time for all calls of `holds`. It is looked at between two calls and ends no call: a
///     condition that waits, such as for a reply, needs a limit of its own (``withTimeLimit(_:for:work:)``).
///   - pause: The time between two calls of `holds`. Make it longer if a call starts a process or sends a request.
///   - holds: The condition. Its error ends the wait.
/// - Throws: The error of `holds`, ``TestingError`` with code `timedOut`, or `CancellationError`.
package func eventually(
    _ what: @autoclosure () -> String,
    within limit: Duration = .seconds(20),
    every pause: Duration = .milliseconds(1),
    _ holds: () async throws -> Bool
) async throws {
    _ = try await eventualValue(what(), within: limit, every: pause) { try await holds() ? true : nil }
}

/// Like ``eventually(_:within:every:_:)``, but polls for a value, until it is not nil.
///
/// ```swift
/// let pipe = try await eventualValue("a reader of the pipe") { openPipe() }
/// ```
package func eventualValue<Value>(
    _ what: @autoclosure () -> String,
    within limit: Duration = .seconds(20),
    every pause: Duration = .milliseconds(1),
    _ value: () async throws -> Value?
) async throws -> Value {
    let end = ContinuousClock.now + limit
    while true {
        if let found = try await value() { return found }
        guard ContinuousClock.now < end else { throw TestingError(.timedOut, "waited \(limit) for \(what())") }
        try await Task.sleep(for: pause)
    }
}
