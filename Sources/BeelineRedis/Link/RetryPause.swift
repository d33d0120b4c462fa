// SPDX-License-Identifier: Apache-2.0

#if Redis
/// The pauses between attempts to use a server. Each failure doubles the pause, and a part of it is random, so that the
/// clients of a server that restarts do not all return at once.
struct RetryPause: Hashable, Sendable {
    private let bounds: ClosedRange<Duration>
    /// The longest pause after the next failure.
    private(set) var current: Duration

    /// - Parameter bounds: The shortest and the longest pause. At least 1 ms: a pause of zero would never grow.
    init(_ bounds: ClosedRange<Duration>) {
        self.bounds = max(bounds.lowerBound, .milliseconds(1))...max(bounds.upperBound, .milliseconds(1))
        current = self.bounds.lowerBound
    }

    /// Returns the pause after a failure: between half of the current pause and all of it.
    ///
    /// - Parameter share: A random number from 0 to 1.
    mutating func next(share: Double = .random(in: 0...1)) -> Duration {
        defer { current = min(current * 2, bounds.upperBound) }
        return current / 2 + current / 2 * share
    }

    /// Records that the server works.
    mutating func reset() { current = bounds.lowerBound }
}
#endif
