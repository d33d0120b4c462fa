// SPDX-License-Identifier: Apache-2.0

import Names

/// The addresses of a host by family.
struct HostAddresses {
    var v4: [IPAddress] = []
    var v6: [IPAddress] = []

    var isEmpty: Bool { v4.isEmpty && v6.isEmpty }
}

/// Orders endpoints: first by RFC 6724, then by the results of attempts. Without results, the upstream's order is kept,
/// because it distributes clients over a service's addresses.
struct EndpointRanking {
    /// How long a measured time is kept.
    private static let memory = Duration.seconds(600)

    private struct State {
        /// Failures since the last success.
        var failures = 0
        var demotedUntil = Moment.past
        /// The smoothed connection time, in nanoseconds.
        var roundTrip: Int64?
        var touched: Moment
    }

    private let limits: ResolverConfiguration.Ranking
    private var states: [Endpoint: State] = [:]
    /// The network that addresses are ordered for.
    var network = Network.unknown

    /// The number of endpoints with results.
    var count: Int { states.count }

    init(limits: ResolverConfiguration.Ranking) {
        self.limits = limits
    }

    /// Records a successful connection to the endpoint. `time` is the connection time.
    mutating func succeeded(_ endpoint: Endpoint, after time: Duration, now: Moment) {
        var state = states[endpoint] ?? State(touched: now)
        let sample = max(0, time.nanoseconds)
        let isRemembered = state.touched + Self.memory > now
        state.roundTrip = state.roundTrip.map { isRemembered ? $0 + (sample - $0) / 4 : sample } ?? sample
        state.failures = 0
        state.demotedUntil = .past
        state.touched = now
        states[endpoint] = state
        if states.count > limits.maxEndpoints { trim(now) }
    }

    /// Records a failed attempt: the endpoint is tried last for a while, longer after each failure.
    mutating func failed(_ endpoint: Endpoint, now: Moment) {
        let failures = (states[endpoint]?.failures ?? 0) + 1
        let demotion = limits.demotion.lowerBound.doubled(failures - 1, upTo: limits.demotion.upperBound)
        states[endpoint] = State(failures: failures, demotedUntil: now + demotion, touched: now)
        if states.count > limits.maxEndpoints { trim(now) }
    }

    /// Whether the endpoint is tried last now.
    func isDemoted(_ endpoint: Endpoint, now: Moment) -> Bool {
        states[endpoint].map { $0.demotedUntil > now } ?? false
    }

    /// Whether all addresses that are reachable in this network are tried last now; false if there are none.
    func areAllDemoted(_ addresses: HostAddresses, port: UInt16, now: Moment) -> Bool {
        let reachable = reachable(addresses)
        return !reachable.isEmpty
            && (reachable.v4 + reachable.v6).allSatisfy { isDemoted(Endpoint($0, port: port), now: now) }
    }

    /// The measured connection time of the endpoint; nil if unknown or too old.
    func roundTrip(_ endpoint: Endpoint, now: Moment) -> Duration? {
        guard let state = states[endpoint], state.touched + Self.memory > now else { return nil }
        return state.roundTrip.map { .nanoseconds($0) }
    }

    /// Sets the network and discards the results of the previous one.
    mutating func networkChanged(to network: Network) {
        self.network = network
        states = [:]
    }

    /// The addresses in the order to try them at `port`, alternating between families (RFC 8305 §4), and the time until
    /// which that order is valid.
    func order(
        _ addresses: HostAddresses,
        port: UInt16,
        now: Moment
    ) -> (addresses: [IPAddress], until: Moment) {
        let reachable = reachable(addresses)
        let (v4, v6) = (reachable.v4, reachable.v6)
        // Other names may share these endpoints and report on them, so an order is valid for at most a second.
        var until = now + .seconds(1)
        if states.isEmpty {
            if v6.isEmpty { return (v4, until) }
            return (interleaved(v6: preferred(v6), v4: v4), until)
        }
        let good = { (addresses: [IPAddress]) in
            addresses.filter { !isDemoted(Endpoint($0, port: port), now: now) }
        }
        let usable = interleaved(
            v6: measured(preferred(good(v6)), port: port, now: now),
            v4: measured(good(v4), port: port, now: now)
        )
        let demoted = (v6 + v4).compactMap { address -> (address: IPAddress, until: Moment)? in
            guard let state = states[Endpoint(address, port: port)], state.demotedUntil > now else { return nil }
            until = min(until, state.demotedUntil)
            return (address, state.demotedUntil)
        }
        return (usable + demoted.sorted { $0.until < $1.until }.map(\.address), until)
    }

    /// The addresses that are reachable in this network; all if none seems reachable.
    private func reachable(_ addresses: HostAddresses) -> HostAddresses {
        let (v4, v6) = (addresses.v4, addresses.v6)
        switch network.families {
        case .v4: return v4.isEmpty ? addresses : HostAddresses(v4: v4)
        case .v6:
            let added = v4.flatMap { network.reachable($0) }.filter { $0.family == .v6 && !v6.contains($0) }
            return v6.isEmpty && added.isEmpty ? addresses : HostAddresses(v6: v6 + added)
        default: return addresses
        }
    }

    /// IPv6 addresses by the policy table; equal ones keep their order.
    private func preferred(_ v6: [IPAddress]) -> [IPAddress] {
        let ranks = v6.map { AddressPolicy.precedence($0, local: network.localV6) }
        guard ranks != ranks.sorted(by: >) else { return v6 }
        return v6.indices.sorted { (ranks[$1], $0) < (ranks[$0], $1) }.map { v6[$0] }
    }

    /// Sorts the addresses with a known time among themselves, fastest first. The others keep their places, so that
    /// they get measured too. Times with a small difference count as equal.
    private func measured(_ addresses: [IPAddress], port: UInt16, now: Moment) -> [IPAddress] {
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

    /// The time on a coarse scale: 0 up to 8 ms, then one step per factor of 1.4.
    private static func step(_ time: Duration) -> Int {
        var microseconds = time.nanoseconds / 1_000
        var step = 0
        while microseconds > 8_000 {
            microseconds = microseconds * 10 / 14
            step += 1
        }
        return step
    }

    /// Alternates between the families, starting with the one that the policy table prefers.
    private func interleaved(v6: [IPAddress], v4: [IPAddress]) -> [IPAddress] {
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

    /// Removes expired results, and then the older ones down to half of the maximum.
    private mutating func trim(_ now: Moment) {
        states = states.filter { $0.value.demotedUntil > now || $0.value.touched + Self.memory > now }
        guard states.count > limits.maxEndpoints else { return }
        let kept = states.sorted { $0.value.touched > $1.value.touched }.prefix(limits.maxEndpoints / 2)
        states = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }
}
