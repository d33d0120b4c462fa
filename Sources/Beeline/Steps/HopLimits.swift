// SPDX-License-Identifier: Apache-2.0

import DirectHTTP

/// The remaining time of a call. Its interceptors, tries and hops share one limit.
struct HopLimits: Sendable {
    private let limits: TimeLimits
    private let clock: CallClock
    private let begin: Duration

    init(_ limits: TimeLimits, clock: CallClock) {
        self.limits = limits
        self.clock = clock
        begin = clock.now()
    }

    /// The time left for the whole call; `nil` for no limit.
    var timeLeft: Duration? {
        limits.whole.map { max(.zero, $0 - (clock.now() - begin)) }
    }

    func left() -> TimeLimits {
        guard limits.whole != nil else { return limits }
        var left = limits
        left.whole = timeLeft
        return left
    }
}
