// SPDX-License-Identifier: Apache-2.0

import Names

/// The order in which endpoints are tried, learned from attempts. Where nothing is known, the upstream's order is
/// kept: it spreads clients over a service's addresses.
struct EndpointRanking {
    /// The bounds; see ``ResolverConfiguration``.
    struct Limits {
        var maxEndpoints = 4_096
        var firstDemotion = Duration.seconds(30)
        var longestDemotion = Duration.seconds(600)
    }

    private struct State {
        /// Failures since the last success.
        var failures: Int
        var demotedUntil: Moment
        var touched: Moment
    }

    private let limits: Limits
    private var states: [Endpoint: State] = [:]

    /// Endpoints that are remembered.
    var count: Int { states.count }

    init(limits: Limits) {
        self.limits = limits
    }

    /// A connection to the endpoint came to be.
    mutating func succeeded(_ endpoint: Endpoint) {
        states[endpoint] = nil
    }

    /// An attempt at the endpoint failed: it is tried last for a while, longer each time.
    mutating func failed(_ endpoint: Endpoint, now: Moment) {
        let failures = (states[endpoint]?.failures ?? 0) + 1
        let factor = 1 << min(failures - 1, 10)
        let demotion = min(limits.firstDemotion * factor, limits.longestDemotion)
        states[endpoint] = State(failures: failures, demotedUntil: now + demotion, touched: now)
        if states.count > limits.maxEndpoints { trim(now) }
    }

    /// Whether the endpoint is tried last now.
    func isDemoted(_ endpoint: Endpoint, now: Moment) -> Bool {
        states[endpoint].map { $0.demotedUntil > now } ?? false
    }

    /// The addresses in the order to try them at `port`, families in turn (RFC 8305 §4), and until when that order
    /// holds.
    func order(
        v4: [IPAddress],
        v6: [IPAddress],
        port: UInt16,
        now: Moment
    ) -> (addresses: [IPAddress], until: Moment) {
        let plain = v4.isEmpty ? v6 : v6.isEmpty ? v4 : Self.interleaved(v6, v4)
        // Others may report on the same endpoints: an order is looked at again after a second.
        var until = now + .seconds(1)
        guard !states.isEmpty else { return (plain, until) }
        var good: [IPAddress] = []
        var demoted: [(address: IPAddress, until: Moment)] = []
        for address in plain {
            if let state = states[Endpoint(address, port: port)], state.demotedUntil > now {
                demoted.append((address, state.demotedUntil))
                until = min(until, state.demotedUntil)
            } else {
                good.append(address)
            }
        }
        guard !demoted.isEmpty else { return (plain, until) }
        let usable = Self.interleaved(good.filter { $0.family == .v6 }, good.filter { $0.family == .v4 })
        return (usable + demoted.sorted { $0.until < $1.until }.map(\.address), until)
    }

    /// One of `first`, one of `second`, and so on.
    private static func interleaved(_ first: [IPAddress], _ second: [IPAddress]) -> [IPAddress] {
        var result: [IPAddress] = []
        result.reserveCapacity(first.count + second.count)
        for index in 0..<max(first.count, second.count) {
            if index < first.count { result.append(first[index]) }
            if index < second.count { result.append(second[index]) }
        }
        return result
    }

    /// Forgets what is past, and of the rest the older half.
    private mutating func trim(_ now: Moment) {
        states = states.filter { $0.value.demotedUntil > now }
        guard states.count > limits.maxEndpoints else { return }
        let kept = states.sorted { $0.value.touched > $1.value.touched }.prefix(limits.maxEndpoints / 2)
        states = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }
}
