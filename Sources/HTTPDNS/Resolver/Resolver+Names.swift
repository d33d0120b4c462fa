// SPDX-License-Identifier: Apache-2.0

import Names

extension Resolver {
    private static let literal = Provenance(upstream: "literal", kind: .fixed)

    /// The resolution of a host that is an address; nil for names.
    func own(_ host: Host, _ port: UInt16) -> Resolution? {
        guard let address = host.address else { return nil }
        return Resolution(host: host, addresses: [address], port: port, source: .literal, provenance: Self.literal)
    }

    /// The resolution of `localhost`, for which nobody is asked (RFC 6761 §6.3); nil for other names.
    func loopback(_ host: Host, _ port: UInt16, _ families: Families) -> Resolution? {
        guard host.isLocalhost else { return nil }
        let addresses = families.members.map { $0 == .v6 ? IPAddress(v6: 0, 1) : IPAddress(v4: 0x7f00_0001) }
        return Resolution(host: host, addresses: addresses, port: port, source: .literal, provenance: Self.literal)
    }

    /// Whom to ask for a name.
    struct Route {
        var candidates: [Int]
        /// An upstream to be asked besides, only to see whether it is back.
        var probe: Int?
        var realm: UInt32
        /// The name belongs to the system: what it says is not doubted.
        var trustsSystem = false
    }

    func route(_ host: Host, _ state: inout State, _ now: Moment) -> Route {
        let system = configuration.system == nil ? [] : [configuration.upstreams.count]
        if !state.isEnabled {
            return Route(candidates: system, realm: Realm.system, trustsSystem: true)
        }
        if configuration.denied.contains(host) {
            return Route(candidates: system, realm: Realm.upstreams, trustsSystem: true)
        }
        if configuration.upstreams.isEmpty { return Route(candidates: system, realm: Realm.upstreams) }
        let choice = state.health.choose(among: Array(configuration.upstreams.indices), now: now)
        return Route(candidates: choice.upstreams, probe: choice.probe, realm: Realm.upstreams)
    }
}
