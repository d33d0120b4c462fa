// SPDX-License-Identifier: Apache-2.0

/// How long to wait before trying again: longer each time, and never the same for all who failed together.
public struct Backoff: Hashable, Sendable {
    /// The wait before the second try. Default 200 ms.
    public var first = Duration.milliseconds(200)
    /// How much longer each wait is than the one before. Default 2.
    public var factor = 2.0
    /// The longest wait. Default 20 s.
    public var longest = Duration.seconds(20)
    /// Which part of a wait is left to chance, 0…1: a wait of 1 s with 0.5 takes 0.5 s to 1 s. Default 0.5.
    public var jitter = 0.5

    /// The defaults.
    public init() {}

    /// The wait before the try that follows on `tries`.
    ///
    /// - Parameters:
    ///   - tries: how many have been made, at least 1.
    ///   - chance: a random number in 0..<1, which decides how much of the jitter is taken off.
    public func wait(after tries: Int, chance: Double) -> Duration {
        // In floating point, where whatever factor somebody sets overflows to infinity and not into a trap.
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

    /// At the most 285 years, which an Int64 holds.
    private static func nanoseconds(_ duration: Duration) -> Double {
        let (seconds, attoseconds) = duration.components
        return min(9e18, max(0, Double(seconds) * 1e9 + Double(attoseconds) / 1e9))
    }
}
