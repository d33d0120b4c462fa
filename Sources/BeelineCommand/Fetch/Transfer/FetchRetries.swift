// SPDX-License-Identifier: Apache-2.0

/// Decides when a transfer is retried (curl's `--retry`): after transient failures, at the time that the server names or with
/// growing delays.
struct FetchRetries: Hashable, Sendable {
    /// The options of one part of a command line.
    struct Policy: Hashable, Sendable {
        /// `--retry`: the maximum number of retries.
        var retries = 0
        /// `--retry-delay`; nil starts at 1 s and doubles each time.
        var delay: Duration?
        /// `--retry-max-time`: the time after the first attempt until which a retry may start.
        var maxTime: Duration?
        /// `--retry-all-errors`.
        var includesAllErrors = false
        /// `--retry-connrefused`.
        var includesRefusals = false
    }

    /// The result of an attempt.
    struct Attempt: Hashable, Sendable {
        var status = CommandStatus.ok
        /// The HTTP status; nil without a response.
        var responseStatus: Int?
        /// The delay of the response's Retry-After field, if it has one (RFC 9110 §10.2.3).
        var retryAfter: Duration?
        /// Whether every endpoint refused the connection.
        var isRefused = false
        /// The time since the start of the first attempt.
        var elapsed = Duration.zero
    }

    /// The maximum delay without a Retry-After.
    static let longestWait = Duration.seconds(600)
    /// The maximum of Retry-After. If it is longer, there is no retry, because the server would refuse an earlier
    /// request.
    static let longestRetryAfter = Duration.seconds(3600)

    private let policy: Policy
    private(set) var left: Int
    private var delay = Duration.seconds(1)

    init(_ policy: Policy) {
        self.policy = policy
        left = policy.retries
    }

    /// Returns the delay before the next attempt; nil if there is no retry.
    mutating func next(after attempt: Attempt) -> Duration? {
        // The Retry-After of a response with an incomplete body does not count.
        let retryAfter = isAnsweredTransiently(attempt) ? attempt.retryAfter ?? .zero : .zero
        guard left > 0, mayPass(attempt), retryAfter <= Self.longestRetryAfter else { return nil }
        if let limit = policy.maxTime {
            guard attempt.elapsed < limit, attempt.elapsed + retryAfter <= limit else { return nil }
        }
        left -= 1
        // As in curl, the server decides, also if its time is shorter, and such a wait does not double the next delay.
        if retryAfter > .zero { return retryAfter }
        defer { delay = min(delay * 2, Self.longestWait) }
        return min(policy.delay ?? delay, Self.longestWait)
    }

    private func mayPass(_ attempt: Attempt) -> Bool {
        switch attempt.status {
        case .timedOut, .hostUnresolved, .proxyUnresolved: true
        case .connectFailed where attempt.isRefused && policy.includesRefusals: true
        default: isAnsweredTransiently(attempt) || attempt.status != .ok && policy.includesAllErrors
        }
    }

    /// Whether the status of the response is a reason to retry.
    private func isAnsweredTransiently(_ attempt: Attempt) -> Bool {
        // A server may refuse a range only for a moment.
        guard [.ok, .httpError, .rangeFailed].contains(attempt.status), let status = attempt.responseStatus else {
            return false
        }
        return [408, 429, 500, 502, 503, 504, 522, 524].contains(status)
    }
}
