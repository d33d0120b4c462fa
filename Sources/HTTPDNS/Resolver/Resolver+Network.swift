// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// Takes the machine to be in another network: answers of this network are used, and kept apart from those of
    /// others; what was learned of upstreams and endpoints is forgotten; names in frequent use are asked for again.
    /// ``run()`` calls it when the network changes.
    ///
    /// In a network that has IPv6 alone, the system's resolver is asked for its NAT64 prefix (RFC 7050) unless
    /// `network` has one, and IPv4 addresses are translated by it. Where that does not answer yet, ``run()`` asks again.
    public func networkChanged(to network: Network) async { await networkChanged(to: network, isFirst: false) }

    /// As above; the first network that ``run()`` finds is no reason to ask services anew where they are.
    func networkChanged(to network: Network, isFirst: Bool) async {
        await askAgain(await begin(in: network, isFirst: isFirst))
    }

    /// Asks for names again in another network.
    func askAgain(_ hosts: [Host]) async {
        await forEach(hosts) { host in
            guard (try? await self.resolve(host)) != nil else { return }
            self.state.withLockedValue { state in state.namesToAsk.removeAll { $0 == host } }
        }
    }

    /// Does what a change of the network asks for at once.
    ///
    /// - Returns: The names that should be asked for again.
    func begin(in network: Network, isFirst: Bool) async -> [Host] {
        let hot = namesToAsk(in: network)
        enter(network)
        tell(network)
        let isKnown = await learnNAT64()
        // Those who wait for it find all of the above done.
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

    /// Asks the system's resolver where IPv4 hosts are found in a network without IPv4.
    public func discoverNAT64() async -> [NAT64Prefix] { await askForNAT64() ?? [] }

    /// Finds the prefixes of a network that has IPv6 alone.
    ///
    /// - Returns: Whether it is known now which there are, if any.
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

    /// The prefixes, none where the network has none; nil where the system's resolver does not answer.
    private func askForNAT64() async -> [NAT64Prefix]? {
        guard let system = configuration.system, let host = try? Host(NAT64Prefix.probeName) else { return [] }
        let answer = await withinBudget { try? await system.answer(Question(host, families: .v6)) } ?? nil
        return answer.map { NAT64Prefix.discovered(in: $0.v6?.addresses ?? []) }
    }

    private func enter(_ network: Network) {
        let forgotten = state.withLockedValue { state in
            state.network = network
            state.health.networkChanged()
            return state.realms.enter(network.id)
        }
        ranking.withLockedValue { $0.networkChanged(to: network) }
        useCurrentRealm()
        guard let forgotten else { return }
        for shard in shards {
            shard.withLockedValue { $0.cache.removeAll { key, _ in key.realm == forgotten } }
        }
    }

    /// The names to ask for in another network. Without any network they wait for the next one, as do those that this one does
    /// not answer.
    private func namesToAsk(in network: Network) -> [Host] {
        let hot = hotNames()
        return state.withLockedValue { state in
            let names = hot.isEmpty ? state.namesToAsk : hot
            state.namesToAsk = names
            return network == .unknown ? [] : names
        }
    }

    /// Names that were used more than once in this network, the latest first.
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
