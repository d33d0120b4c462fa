// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPTypes

/// Decides after each try whether there is another, and when. Pure: time and chance are handed in.
struct RetrySchedule {
    /// How a try ended.
    enum Outcome {
        case answered(status: Int, retryAfter: Duration?)
        /// `afterOtherHops`: whether a hop before, such as a redirect, brought a response.
        case failed(BeelineError.Code, afterOtherHops: Bool = false)
    }

    enum Verdict: Hashable {
        case wait(Duration)
        case end(Reason)
    }

    /// Why there is no other try.
    enum Reason: Hashable {
        /// It is no outcome that passes by itself.
        case settled
        case triesUsedUp
        /// The method may not be repeated.
        case methodCounts
        /// The body can be read only once.
        case bodyIsGone
        /// The wait would end after the request's time limit.
        case noTimeLeft
        /// The server asks for more patience than the policy has.
        case serverAsksForLonger
    }

    let policy: RetryPolicy
    let method: HTTPRequest.Method
    let isBodyReplayable: Bool
    private(set) var tries = 1

    init(_ policy: RetryPolicy, method: HTTPRequest.Method, isBodyReplayable: Bool) {
        self.policy = policy
        self.method = method
        self.isBodyReplayable = isBodyReplayable
    }

    /// - Parameters:
    ///   - outcome: how the try ended.
    ///   - timeLeft: what is left to the whole request; nil: no limit.
    ///   - chance: a random number in 0..<1, for the wait.
    mutating func next(
        after outcome: Outcome,
        timeLeft: Duration?,
        chance: Double
    ) -> Verdict {
        var least = Duration.zero
        var hasLeft = true
        switch outcome {
        case .answered(let status, let retryAfter):
            guard policy.statuses.contains(status) else { return .end(.settled) }
            least = retryAfter ?? .zero
        case .failed(let code, let afterOtherHops):
            guard policy.errors.contains(code) else { return .end(.settled) }
            hasLeft = afterOtherHops || !Self.beforeSending.contains(code)
        }
        guard tries < policy.tries else { return .end(.triesUsedUp) }
        if hasLeft {
            guard policy.methods.contains(method) else { return .end(.methodCounts) }
            guard isBodyReplayable else { return .end(.bodyIsGone) }
        }
        guard least <= policy.longestRetryAfter else { return .end(.serverAsksForLonger) }
        let wait = max(least, policy.backoff.wait(after: tries, chance: chance))
        if let timeLeft, wait >= timeLeft { return .end(.noTimeLeft) }
        tries += 1
        return .wait(wait)
    }

    /// Failures that show that nothing of the request was sent.
    private static let beforeSending: Set<BeelineError.Code> = Set(
        [.unresolved, .connectFailed, .connectTimeout, .poolExhausted, .tlsFailed, .certificateRejected].map(
            BeelineError.Code.init
        ) + [.proxyUnresolved]
    )
}
