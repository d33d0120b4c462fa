// SPDX-License-Identifier: Apache-2.0

#if Redis
/// Runs work in a separate task. Returns its result, or nil at the deadline and on cancellation. The work then
/// continues, and its result is discarded: a call to a server ends at its own time limit.
func result<Result: Sendable>(
    before deadline: ContinuousClock.Instant,
    of work: @escaping @Sendable () async -> Result
) async -> Result? {
    let (results, first) = AsyncStream.makeStream(of: Result?.self, bufferingPolicy: .bufferingOldest(1))
    let timer = Task {
        try? await ContinuousClock().sleep(until: deadline)
        first.yield(nil)
    }
    defer { timer.cancel() }
    Task { first.yield(await work()) }
    for await result in results { return result }
    return nil
}
#endif
