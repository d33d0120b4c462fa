// SPDX-License-Identifier: Apache-2.0

import Names

/// The order in which endpoints are tried: what RFC 6724 prefers, then what attempts have shown. Where nothing is
/// known, the upstream's order is kept: it spreads clients over a service's addresses.
struct EndpointRanking {
    /// The bounds; see ``ResolverConfiguration``.
    struct Limits {
        var maxEndpoints = 4_096
        var firstDemotion = Duration.seconds(30)
        var longestDemotion = Duration.seconds(600)
        /// After how long a measured time is forgotten.
        var memory = Duration.seconds(600)
    }

    private struct State {
        /// Failures since the last success.
        var failures = 0
        var demotedUntil = Moment.past
        /// Smoothed time of a connection, in nanoseconds.
        var roundTrip: Int64?
        var touched: Moment
    }

    private let limits: Limits
    private var states: [Endpoint: State] = [:]
    /// The network that addresses are ordered for.
    var network = Network.unknown

    /// Endpoints that are remembered.
    var count: Int { states.count }

    init(limits: Limits) {
        self.limits = limits
    }

    /// A connection to the endpoint came to be after `time`; nil: it is not known how long it took.
    mutating func succeeded(_ endpoint: Endpoint, after time: Duration? = nil, now: Moment) {
        var state = states[endpoint] ?? State(touched: now)
        if let sample = time.map({ max(0, $0.nanoseconds) }) {
            let isRemembered = state.touched + limits.memory > now
            state.roundTrip = state.roundTrip.map { isRemembered ? $0 + (sample - $0) / 4 : sample } ?? sample
        }
        state.failures = 0
        state.demotedUntil = .past
        state.touched = now
        states[endpoint] = state
        if states.count > limits.maxEndpoints { trim(now) }
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

    /// Whether all addresses that this network leads to are tried last now; false where there is none.
    func areAllDemoted(v4: [IPAddress], v6: [IPAddress], port: UInt16, now: Moment) -> Bool {
        let (v4, v6) = usable(v4, v6)
        return !(v4.isEmpty && v6.isEmpty) && (v4 + v6).allSatisfy { isDemoted(Endpoint($0, port: port), now: now) }
    }

    /// The measured time of a connection to the endpoint; nil where it is not known, or too old.
    func roundTrip(_ endpoint: Endpoint, now: Moment) -> Duration? {
        guard let state = states[endpoint], state.touched + limits.memory > now else { return nil }
        return state.roundTrip.map { .nanoseconds($0) }
    }

    /// What was learned in another network says nothing of this one.
    mutating func networkChanged(to network: Network) {
        self.network = network
        states = [:]
    }

    /// The addresses in the order to try them at `port`, families in turn (RFC 8305 §4), and until when that order
    /// holds.
    func order(
        v4: [IPAddress],
        v6: [IPAddress],
        port: UInt16,
        now: Moment
    ) -> (addresses: [IPAddress], until: Moment) {
        let (v4, v6) = usable(v4, v6)
        // Others may report on the same endpoints: an order is looked at again after a second.
        var until = now + .seconds(1)
        if states.isEmpty {
            if v6.isEmpty { return (v4, until) }
            return (interleaved(preferred(v6), v4), until)
        }
        let good = { (addresses: [IPAddress]) in
            addresses.filter { !isDemoted(Endpoint($0, port: port), now: now) }
        }
        let usable = interleaved(
            measured(preferred(good(v6)), port, now),
            measured(good(v4), port, now)
        )
        let demoted = (v6 + v4).compactMap { address -> (address: IPAddress, until: Moment)? in
            guard let state = states[Endpoint(address, port: port)], state.demotedUntil > now else { return nil }
            until = min(until, state.demotedUntil)
            return (address, state.demotedUntil)
        }
        return (usable + demoted.sorted { $0.until < $1.until }.map(\.address), until)
    }

    /// The addresses that this network leads to; all of them where it seems to lead to none.
    private func usable(_ v4: [IPAddress], _ v6: [IPAddress]) -> ([IPAddress], [IPAddress]) {
        switch network.families {
        case .v4: v4.isEmpty ? (v4, v6) : (v4, [])
        case .v6: translated(v4, v6)
        default: (v4, v6)
        }
    }

    private func translated(_ v4: [IPAddress], _ v6: [IPAddress]) -> ([IPAddress], [IPAddress]) {
        let added = v4.flatMap { network.reachable($0) }.filter { $0.family == .v6 && !v6.contains($0) }
        return v6.isEmpty && added.isEmpty ? (v4, v6) : ([], v6 + added)
    }

    /// IPv6 addresses by the policy table, in their own order among equals.
    private func preferred(_ v6: [IPAddress]) -> [IPAddress] {
        let ranks = v6.map { AddressPolicy.precedence($0, local: network.localV6) }
        guard ranks != ranks.sorted(by: >) else { return v6 }
        return v6.indices.sorted { (ranks[$1], $0) < (ranks[$0], $1) }.map { v6[$0] }
    }

    /// Those whose time is known change places among themselves, the faster first; the others stay where they are,
    /// and so come to be measured. Times that differ little count as equal.
    private func measured(_ addresses: [IPAddress], _ port: UInt16, _ now: Moment) -> [IPAddress] {
        var known: [(place: Int, step: Int)] = []
        for (place, address) in addresses.enumerated() {
            guard let time = roundTrip(Endpoint(address, port: port), now: now) else { continue }
            known.append((place, Self.step(time)))
        }
        guard known.count > 1 else { return addresses }
        var result = addresses
        let sorted = known.sorted { ($0.step, $0.place) < ($1.step, $1.place) }
        for (slot, source) in zip(known, sorted) { result[slot.place] = addresses[source.place] }
        return result
    }

    /// Times in steps: below 8 ms all are equal, from there each half of a doubling is one step.
    private static func step(_ time: Duration) -> Int {
        var microseconds = time.nanoseconds / 1_000
        var step = 0
        while microseconds > 8_000 {
            microseconds = microseconds * 10 / 14
            step += 1
        }
        return step
    }

    /// One of each family in turn, beginning with the family that the policy table prefers.
    private func interleaved(_ v6: [IPAddress], _ v4: [IPAddress]) -> [IPAddress] {
        guard let first = v6.first else { return v4 }
        guard !v4.isEmpty else { return v6 }
        let isV6First = AddressPolicy.precedence(first, local: network.localV6) > 35
        let (one, other) = isV6First ? (v6, v4) : (v4, v6)
        var result: [IPAddress] = []
        result.reserveCapacity(one.count + other.count)
        for index in 0..<max(one.count, other.count) {
            if index < one.count { result.append(one[index]) }
            if index < other.count { result.append(other[index]) }
        }
        return result
    }

    /// Forgets what is past, and of the rest the older half.
    private mutating func trim(_ now: Moment) {
        states = states.filter { $0.value.demotedUntil > now || $0.value.touched + limits.memory > now }
        guard states.count > limits.maxEndpoints else { return }
        let kept = states.sorted { $0.value.touched > $1.value.touched }.prefix(limits.maxEndpoints / 2)
        states = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }
}
