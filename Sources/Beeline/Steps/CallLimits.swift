// SPDX-License-Identifier: Apache-2.0

import DirectHTTP

/// The remaining time of a call. Its interceptors, tries and hops share one limit.
struct CallLimits: Sendable {
    private let limits: TimeLimits
    private let begin: Duration

    /// - Parameter now: When the call begins, on the client's clock.
    init(_ limits: TimeLimits, now: Duration) {
        self.limits = limits
        begin = now
    }

    /// The time left for the whole call; `nil` for no limit.
    func timeLeft(at now: Duration) -> Duration? {
        limits.total.map { max(.zero, $0 - (now - begin)) }
    }

    /// The limits of a request that is sent now.
    func left(at now: @autoclosure () -> Duration) -> TimeLimits {
        guard limits.total != nil else { return limits }
        var left = limits
        left.total = timeLeft(at: now())
        return left
    }
}
