// SPDX-License-Identifier: Apache-2.0

/// Sleeps in a separate task, because the calling task is usually cancelled and a cancelled task cannot sleep.
func sleepUncancelled(_ time: Duration) async {
    await Task { _ = try? await ContinuousClock().sleep(for: time) }.value
}

/// Waits until a condition holds or a deadline has passed, as ``sleepUncancelled(_:)`` does.
func waitUncancelled(until end: ContinuousClock.Instant, for isDone: @escaping @Sendable () -> Bool) async {
    await Task {
        while !isDone(), ContinuousClock.now < end { try? await ContinuousClock().sleep(for: .milliseconds(10)) }
    }.value
}
