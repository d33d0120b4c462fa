// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// Switches to another network: uses the answers of this network, separate from those of others; resets what was
    /// measured of upstreams and endpoints; and asks again for names in frequent use. ``run()`` calls it when the
    /// network changes.
    ///
    /// In an IPv6-only network, the system's resolver is asked for the NAT64 prefix (RFC 7050) unless `network` has
    /// one. IPv4 addresses are translated with it. If the system's resolver does not answer, ``run()`` asks again.
    public func networkChanged(to network: Network) async { await networkChanged(to: network, isFirst: false) }

    /// As ``networkChanged(to:)``. The first network that ``run()`` finds does not restart scheduled work of the
    /// upstreams.
    func networkChanged(to network: Network, isFirst: Bool) async {
        await askAgain(await begin(in: network, isFirst: isFirst))
    }

    /// Asks again for names in a new network.
    func askAgain(_ hosts: [Host]) async {
        await forEach(hosts) { host in
            guard (try? await self.resolve(host)) != nil else { return }
            self.state.withLockedValue { state in state.namesToAsk.removeAll { $0 == host } }
        }
    }

    /// Does the immediate part of a network change.
    ///
    /// - Returns: The names to ask for again.
    func begin(in network: Network, isFirst: Bool) async -> [Host] {
        let hot = namesToAsk(in: network)
        enter(network)
        tell(network)
        let isKnown = await learnNAT64()
        // Resume the waiters only after all of the above is done.
        let waiting = state.withLockedValue { state -> [Int: AsyncStream<Void>.Continuation] in
            state.owesNAT64 = !isKnown
            if isFirst, isKnown { return [:] }
            state.networkChanges += 1
            defer { state.onNetworkChange = [:] }
            return state.onNetworkChange
        }
        for continuation in waiting.values { continuation.finish() }
        return hot
    }

    /// The NAT64 prefixes of the network, discovered through the system's resolver (RFC 7050); empty if it does not answer.
    public func discoverNAT64() async -> [NAT64Prefix] { await askForNAT64() ?? [] }

    /// Finds the NAT64 prefixes of an IPv6-only network.
    ///
    /// - Returns: Whether the prefixes are known now; true also if there are none.
    func learnNAT64() async -> Bool {
        let network = network
        guard network.families == .v6, network.nat64.isEmpty else { return true }
        guard let prefixes = await askForNAT64() else { return false }
        let known = ranking.withLockedValue { ranking -> Network? in
            guard !prefixes.isEmpty, ranking.network == network else { return nil }
            ranking.network.nat64 = prefixes
            return ranking.network
        }
        if let known { tell(known) }
        return true
    }

    private func tell(_ network: Network) {
        configuration.networkDidChange?(network)
        for case let upstream as any NetworkAware in configuration.upstreams { upstream.networkChanged(to: network) }
    }

    /// The NAT64 prefixes; empty if the network has none, nil if the system's resolver does not answer.
    private func askForNAT64() async -> [NAT64Prefix]? {
        guard let system = configuration.system, let host = try? Host(NAT64Prefix.probeName) else { return [] }
        let answer = await withinBudget { try? await system.answer(Question(host, families: .v6)) } ?? nil
        return answer.map { NAT64Prefix.discovered(in: $0.v6?.addresses ?? []) }
    }

    private func enter(_ network: Network) {
        let forgotten = state.withLockedValue { state in
            state.network = network
            state.health.networkChanged()
            // Under the state's lock, so that two concurrent changes leave the same network in both.
            ranking.withLockedValue { $0.networkChanged(to: network) }
            return state.realms.enter(network.id)
        }
        useCurrentRealm()
        guard let forgotten else { return }
        for shard in shards {
            shard.withLockedValue { $0.cache.removeAll { key, _ in key.realm == forgotten } }
        }
    }

    /// The names to ask for in a new network. Without a network, and after a failure, they wait for the next network.
    private func namesToAsk(in network: Network) -> [Host] {
        let hot = hotNames()
        return state.withLockedValue { state in
            let names = hot.isEmpty ? state.namesToAsk : hot
            state.namesToAsk = names
            return network == .unknown ? [] : names
        }
    }

    /// The names that were found in the cache in this network, the most used first; at most
    /// ``ResolverConfiguration/refreshedOnChange``.
    private func hotNames() -> [Host] {
        var names: [(String, UInt32)] = []
        for shard in shards {
            shard.withLockedValue { shard in
                for (key, entry) in shard.cache.all().prefix(configuration.refreshedOnChange)
                where key.realm == shard.realm && entry.uses > 0 {
                    names.append((key.name, entry.uses))
                }
            }
        }
        return names.sorted { $0.1 > $1.1 }.prefix(configuration.refreshedOnChange).compactMap { try? Host($0.0) }
    }
}
