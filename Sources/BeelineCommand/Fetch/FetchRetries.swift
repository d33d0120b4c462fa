// SPDX-License-Identifier: Apache-2.0

/// Decides when a transfer is retried (curl's `--retry`): after transient failures, with growing delays.
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

    /// The maximum delay between two attempts.
    static let longestWait = Duration.seconds(600)

    private let policy: Policy
    private(set) var left: Int
    private var delay = Duration.seconds(1)

    init(_ policy: Policy) {
        self.policy = policy
        left = policy.retries
    }

    /// Returns the delay before the next attempt; nil if there is no retry.
    mutating func next(after attempt: Attempt) -> Duration? {
        guard left > 0, mayPass(attempt) else { return nil }
        let wait = min(max(attempt.retryAfter ?? .zero, policy.delay ?? delay), Self.longestWait)
        if let limit = policy.maxTime {
            guard attempt.elapsed < limit, attempt.elapsed + (attempt.retryAfter ?? .zero) <= limit else { return nil }
        }
        left -= 1
        delay = min(delay * 2, Self.longestWait)
        return wait
    }

    private func mayPass(_ attempt: Attempt) -> Bool {
        switch attempt.status {
        case .timedOut, .hostUnresolved, .proxyUnresolved: return true
        case .connectFailed where attempt.isRefused && policy.includesRefusals: return true
        // A server may refuse a range only for a moment.
        case .ok, .httpError, .rangeFailed:
            let transient = [408, 429, 500, 502, 503, 504, 522, 524]
            if attempt.responseStatus.map(transient.contains) ?? false { return true }
        default: break
        }
        return attempt.status != .ok && policy.includesAllErrors
    }
}
