// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// When to send a second, equal request because the response is slow. The first response wins, and the other request is
/// cancelled. If the origin has several addresses, the second request goes to another one, because slowness mostly comes from
/// one server or network path. Hedging reduces the slowest response times at the cost of more load; set ``delay`` near the 95th
/// percentile of the service's response times.
///
/// ```swift
/// options.hedge = HedgePolicy(delay: .milliseconds(150))
/// ```
public struct HedgePolicy: Hashable, Sendable {
    /// How long to wait for the first request before sending the second.
    public var delay: Duration
    /// The methods to hedge. Default GET, HEAD and OPTIONS. Add only idempotent methods.
    public var methods: Set<HTTPRequest.Method> = [.get, .head, .options]

    /// Creates a policy.
    public init(delay: Duration) { self.delay = delay }
}
