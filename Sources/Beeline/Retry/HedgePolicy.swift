// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A second, equal request where the first one's answer takes long: the first answer wins, and the other request is
/// cancelled. The second goes to another address than the first where the origin has several, for what is slow is mostly a
/// server or the way to it. It trades load for the slowest answers; set ``delay`` near the 95th percentile of the service's
/// times.
///
/// ```swift
/// options.hedge = HedgePolicy(delay: .milliseconds(150))
/// ```
public struct HedgePolicy: Hashable, Sendable {
    /// How long the first request is waited for alone.
    public var delay: Duration
    /// Methods that are sent twice. Default: GET, HEAD and OPTIONS. Of others only idempotent ones belong here.
    public var methods: Set<HTTPRequest.Method> = [.get, .head, .options]

    /// A policy.
    public init(delay: Duration) { self.delay = delay }
}
