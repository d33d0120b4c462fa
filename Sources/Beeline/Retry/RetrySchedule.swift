// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPTypes

/// Decides after each try whether and when to try again. A pure state machine: time and randomness are parameters.
struct RetrySchedule {
    /// The result of a try.
    enum Outcome {
        case answered(status: Int, retryAfter: Duration?)
        /// `afterOtherHops`: whether an earlier hop, such as a redirect, had a response.
        case failed(BeelineError.Code, afterOtherHops: Bool = false)
    }

    enum Verdict: Hashable {
        case wait(Duration)
        case end(Reason)
    }

    /// The reason why there is no further try.
    enum Reason: Hashable {
        /// The policy does not retry this result.
        case settled
        case triesUsedUp
        /// The policy does not repeat this method.
        case methodCounts
        /// The body can be read only once.
        case bodyIsGone
        /// The wait would end after the request's time limit.
        case noTimeLeft
        /// The server asks for a longer wait than the policy allows.
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
    ///   - outcome: The result of the try.
    ///   - timeLeft: The time left for the whole call; `nil` for no limit.
    ///   - chance: A random number in 0..<1, for the wait.
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
        guard least <= policy.maxRetryAfter else { return .end(.serverAsksForLonger) }
        let wait = max(least, policy.backoff.wait(after: tries, chance: chance))
        if let timeLeft, wait >= timeLeft { return .end(.noTimeLeft) }
        tries += 1
        return .wait(wait)
    }

    /// Errors that prove that no part of the request was sent.
    private static let beforeSending: Set<BeelineError.Code> = [
        .unresolved, .proxyUnresolved, .connectFailed, .connectTimeout, .poolExhausted, .tlsFailed,
        .certificateRejected,
    ]
}
