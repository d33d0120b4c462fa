// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
package import Names

extension Resolver {
    private static let literal = Provenance(upstream: "literal", kind: .fixed)

    /// The resolution of a host that is an address; nil for names. In a network without IPv4, an IPv4 address is
    /// translated by NAT64.
    func own(_ host: Host, _ port: UInt16) -> Resolution? {
        guard let address = host.address else { return nil }
        let addresses = address.family == .v4 ? ranking.withLockedValue { $0.network.reachable(address) } : [address]
        return Resolution(host: host, addresses: addresses, port: port, source: .literal, provenance: Self.literal)
    }

    /// The resolution of `localhost`, which needs no upstream (RFC 6761 §6.3); nil for other names.
    func loopback(_ request: LookupRequest, _ port: UInt16) -> Resolution? {
        guard request.host.isLocalhost else { return nil }
        let addresses = request.families.members.map { $0 == .v6 ? IPAddress(v6: 0, 1) : IPAddress(v4: 0x7f00_0001) }
        return Resolution(
            host: request.host,
            addresses: addresses,
            port: port,
            source: .literal,
            provenance: Self.literal
        )
    }

    /// The upstreams to ask for a name.
    struct Route {
        var candidates: [Int]
        /// An upstream to ask in addition, only to check whether it works again.
        var probe: Int?
        var realm: Realm
        /// Whether the name is for the system, whose answers are then not checked.
        var trustsSystem = false
    }

    func route(_ host: Host, _ state: inout State, _ now: Moment) -> Route {
        let system = configuration.system == nil ? [] : [configuration.upstreams.count]
        guard state.isOn else { return Route(candidates: system, realm: .system, trustsSystem: true) }
        guard state.policy.isForUpstreams(host) else {
            // A table that the user wrote discloses the name to no service.
            let tables = configuration.upstreams.indices.filter { configuration.upstreams[$0].kind == .fixed }
            return Route(candidates: tables + system, realm: state.realms.current, trustsSystem: true)
        }
        if configuration.upstreams.isEmpty { return Route(candidates: system, realm: state.realms.current) }
        let health = state.health
        let order = configuration.order.arrange(
            configuration.upstreams.count,
            roundTrip: { health.roundTrip($0) },
            random: random
        )
        let choice = state.health.choose(among: order, now: now)
        return Route(candidates: choice.upstreams, probe: choice.probe, realm: state.realms.current)
    }

    /// Whether the upstreams are asked for a name now.
    func belongsToUpstreams(_ host: Host) -> Bool {
        state.withLockedValue { $0.isOn && $0.policy.isForUpstreams(host) }
    }

    /// Whether a name is never sent to the upstreams, so that only tables and the system are asked for it. Ignores the
    /// switches and the canary, which apply to all names alike.
    package func isKeptFromUpstreams(_ host: Host) -> Bool {
        state.withLockedValue { $0.policy.isKept(host) }
    }

    /// Whether an upstream is a table that the user wrote.
    package var hasTables: Bool { configuration.upstreams.contains { $0.kind == .fixed } }

    /// The answer of the first table that has the name; nil if none has it.
    package func tableAnswer(to question: Question) async -> Answer? {
        for table in configuration.upstreams where table.kind == .fixed {
            let answer = await withinBudget { try? await table.answer(question) } ?? nil
            if let answer { return answer }
        }
        return nil
    }
}
