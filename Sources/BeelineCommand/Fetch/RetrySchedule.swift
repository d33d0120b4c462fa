// SPDX-License-Identifier: Apache-2.0

/// When a transfer is tried again (curl's `--retry`): after what may pass by itself, at growing intervals.
struct RetrySchedule: Hashable, Sendable {
    /// The longest wait between two tries.
    static let longestWait = Duration.seconds(600)

    private var left: Int
    private let fixedDelay: Duration?
    private var delay = Duration.seconds(1)

    /// - Parameters:
    ///   - retries: how often it may be tried again.
    ///   - delay: the wait; nil: 1 s, doubled each time.
    init(retries: Int, delay: Duration?) {
        left = retries
        fixedDelay = delay
    }

    /// How long to wait before the next try; nil: there is none.
    ///
    /// - Parameters:
    ///   - status: how the try ended.
    ///   - responseStatus: the response's status, where there was one.
    ///   - retryAfter: the response's Retry-After, where it has one in seconds (RFC 9110 §10.2.3).
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
