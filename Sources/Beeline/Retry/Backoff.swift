// SPDX-License-Identifier: Apache-2.0

/// The waits between tries: exponential, with jitter so that clients that failed together do not retry together.
public struct Backoff: Hashable, Sendable {
    /// The wait before the second try. Default 200 ms.
    public var first = Duration.milliseconds(200)
    /// The factor from each wait to the next. With 1 or less, all waits are equal. Default 2.
    public var factor = 2.0
    /// The longest wait. Default 20 s.
    public var longest = Duration.seconds(20)
    /// The random share of a wait, 0…1: with 0.5, a wait of 1 s takes 0.5 s to 1 s. Values outside count as the nearer
    /// bound. Default 0.5.
    public var jitter = 0.5

    /// Creates a backoff with default values.
    public init() {}

    /// Returns the wait before the next try.
    ///
    /// - Parameters:
    ///   - tries: The number of tries so far, at least 1.
    ///   - chance: A random number in 0..<1 that chooses the share of the jitter to subtract.
    package func wait(after tries: Int, chance: Double) -> Duration {
        // In floating point, because a large factor then overflows to infinity and does not trap.
        let longest = Self.nanoseconds(longest)
        var wait = Self.nanoseconds(first)
        var made = 1
        while made < tries, wait < longest, factor > 1 {
            wait *= factor
            made += 1
        }
        wait = wait < longest ? wait : longest
        let share = min(1, max(0, jitter)) * min(1, max(0, chance))
        return .nanoseconds(Int64((wait * (1 - share)).rounded()))
    }

    /// The duration in nanoseconds, at most 9e18 (285 years), which fits an Int64.
    private static func nanoseconds(_ duration: Duration) -> Double {
        let (seconds, attoseconds) = duration.components
        return min(9e18, max(0, Double(seconds) * 1e9 + Double(attoseconds) / 1e9))
    }
}
