// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
public import HTTPTypes

/// When a request is tried again.
///
/// ```swift
/// configuration.retry = .standard
/// configuration.retry.tries = 5
/// ```
///
/// A kept connection that turns out dead is replaced without counting as a try; see `Engine`. Everything below concerns
/// what comes after that. The time limit of the whole request holds for all tries and the waits between them: no wait begins
/// that would end after it.
public struct RetryPolicy: Hashable, Sendable {
    /// Nothing is tried again.
    public static let none: RetryPolicy = {
        var policy = RetryPolicy()
        policy.tries = 1
        return policy
    }()

    /// Three tries, after what may pass by itself.
    public static let standard = RetryPolicy()

    /// How many tries there are in all, the first included. Default 3.
    public var tries = 3
    /// The waits between them.
    public var backoff = Backoff()
    /// Statuses that are tried again. Default 408, 429, 502, 503 and 504; the last one's response is the result.
    public var statuses: Set<Int> = [408, 429, 502, 503, 504]
    /// Failures that are tried again. Default: a name that was not resolved, a connection that was not made or was lost, a
    /// stream of HTTP/2 that was reset, and a server that was silent.
    public var errors: Set<BeelineError.Code> = Set(
        [.unresolved, .connectFailed, .connectTimeout, .connectionLost, .streamReset, .idleTimeout]
            .map(BeelineError.Code.init) + [.proxyUnresolved]
    )
    /// Methods that may be repeated although nobody knows whether the server acted. Default: the idempotent ones
    /// (RFC 9110 §9.2.2). Add `.post` for a service that recognises repetitions, by an Idempotency-Key for instance. A request
    /// that never left, since there was no connection, is tried again whatever its method.
    public var methods: Set<HTTPRequest.Method> = [.get, .head, .options, .trace, .put, .delete]
    /// The longest `Retry-After` (RFC 9110 §10.2.3) that is waited for; a server that asks for more is not asked again.
    /// Default 60 s.
    public var longestRetryAfter = Duration.seconds(60)

    /// The defaults.
    public init() {}
}
