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
    ///   - generator: the chance.
    public func wait(after tries: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        var wait = first
        for _ in 1..<max(1, tries) where wait < longest { wait = wait * factor }
        wait = max(.zero, min(wait, longest))
        let share = min(1, max(0, jitter)) * Double.random(in: 0...1, using: &generator)
        return wait * (1 - share)
    }
}
