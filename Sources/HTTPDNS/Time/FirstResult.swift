// SPDX-License-Identifier: Apache-2.0

/// The result of some work; nil if its time runs out, an event comes first or the caller is cancelled. The other tasks
/// are then cancelled, and the call waits until they have ended.
///
/// - Parameters:
///   - limit: How long the work may take.
///   - sleep: Sleeps for a duration. Default: with the continuous clock.
///   - event: Returns at the event. Default: there is none.
package func firstResult<Value: Sendable>(
    within limit: Duration,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) },
    until event: (@Sendable () async -> Void)? = nil,
    of work: @escaping @Sendable () async -> Value?
) async -> Value? {
    await withTaskGroup(of: Value?.self) { group in
        group.addTask { await work() }
        group.addTask {
            try? await sleep(limit)
            return nil
        }
        if let event {
            group.addTask {
                await event()
                return nil
            }
        }
        defer { group.cancelAll() }
        return await group.next() ?? nil
    }
}
