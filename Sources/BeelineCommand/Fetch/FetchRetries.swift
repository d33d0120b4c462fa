// SPDX-License-Identifier: Apache-2.0

/// Decides when a transfer is retried (curl's `--retry`): after transient failures, with growing delays.
struct FetchRetries: Hashable, Sendable {
    /// The maximum delay between two attempts.
    static let longestWait = Duration.seconds(600)

    private var left: Int
    private let fixedDelay: Duration?
    private var delay = Duration.seconds(1)

    /// - Parameters:
    ///   - retries: the maximum number of retries.
    ///   - delay: the fixed delay; nil starts at 1 s and doubles each time.
    init(retries: Int, delay: Duration?) {
        left = retries
        fixedDelay = delay
    }

    /// Returns the delay before the next attempt; nil if there is no retry.
    ///
    /// - Parameters:
    ///   - status: the result of the attempt.
    ///   - responseStatus: the HTTP status; nil without a response.
    ///   - retryAfter: the delay of the response's Retry-After field, if it has one (RFC 9110 §10.2.3).
    mutating func next(after status: CommandStatus, responseStatus: Int?, retryAfter: Duration? = nil) -> Duration? {
        guard left > 0, Self.mayPass(status, responseStatus) else { return nil }
        left -= 1
        defer { delay = min(delay * 2, Self.longestWait) }
        return min(max(retryAfter ?? .zero, fixedDelay ?? delay), Self.longestWait)
    }

    private static func mayPass(_ status: CommandStatus, _ responseStatus: Int?) -> Bool {
        switch status {
        case .timedOut, .hostUnresolved, .proxyUnresolved: true
        case .ok, .httpError: responseStatus.map([408, 429, 500, 502, 503, 504].contains) ?? false
        default: false
        }
    }
}
