// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
public import HTTPTypes

/// When to try a request again.
///
/// ```swift
/// configuration.retry = .standard
/// configuration.retry.tries = 5
/// ```
///
/// The client repeats some requests without counting a try: after a reused connection that turns out to be dead or ends with a
/// 408, after a refusal without processing (HTTP/2), and after a 417. The policy applies to all other failures. The time limit
/// of the whole call includes all tries and waits: no wait starts that would end after it.
public struct RetryPolicy: Hashable, Sendable {
    /// No retries.
    public static let off: RetryPolicy = {
        var policy = RetryPolicy()
        policy.tries = 1
        return policy
    }()

    // Swift reads `options.retry = .none` as nil. Because of this name, the compiler warns of it.
    /// The earlier name of ``off``.
    @available(*, deprecated, message: "in RequestOptions, `.none` means nil: as configured", renamed: "off")
    public static var none: RetryPolicy { .off }

    /// Three tries, after errors that may be temporary.
    public static let standard = RetryPolicy()

    /// The total number of tries, including the first. With 1 or less, nothing is tried again. Default 3.
    public var tries = 3
    /// The waits between tries.
    public var backoff = Backoff()
    /// The statuses to try again. Default 408, 429, 502, 503 and 504. After the last try, its response is the result.
    public var statuses: Set<Int> = [408, 429, 502, 503, 504]
    /// The errors to try again. Default: a failed name resolution, a failed or lost connection, a reset HTTP/2 stream, and an
    /// idle timeout.
    public var errors: Set<BeelineError.Code> = [
        .unresolved, .proxyUnresolved, .connectFailed, .connectTimeout, .connectionLost, .streamReset, .idleTimeout,
    ]
    /// The methods to try again even if the server may have processed the request. Default: the idempotent methods (RFC 9110
    /// §9.2.2). Add `.post` if the service detects repeated requests, for example by an Idempotency-Key. A request that was
    /// never sent, because there was no connection, is tried again with any method.
    public var methods: Set<HTTPRequest.Method> = HTTPRequest.Method.idempotent
    /// The longest `Retry-After` (RFC 9110 §10.2.3) to wait for. If the server asks for more, the request is not tried again.
    /// Default 60 s.
    public var maxRetryAfter = Duration.seconds(60)

    /// Creates a policy with default values.
    public init() {}
}
