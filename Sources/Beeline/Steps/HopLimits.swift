// SPDX-License-Identifier: Apache-2.0

import DirectHTTP

/// The time that is left to a request whose hops share one limit.
struct HopLimits {
    private let limits: TimeLimits
    private let begin = ContinuousClock.now

    init(_ limits: TimeLimits) { self.limits = limits }

    func left() -> TimeLimits {
        guard let whole = limits.whole else { return limits }
        var left = limits
        left.whole = max(.zero, whole - begin.duration(to: .now))
        return left
    }
}
