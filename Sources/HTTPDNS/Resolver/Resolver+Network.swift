// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// Switches to another network: uses the answers of this network, separate from those of other networks. Also
    /// resets the measurements of upstreams and endpoints, and asks again for names in frequent use. ``run()`` calls it
    /// when the network changes.
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
            guard (try? await self.resolveAhead(host)) != nil else { return }
            self.handle(.answeredAgain(host), now: self.time.now())
        }
    }

    /// Does the immediate part of a network change.
    ///
    /// - Returns: The names to ask for again.
    func begin(in network: Network, isFirst: Bool) async -> [Host] {
        handle(.networkChanged(network), now: time.now())
        let (hosts, generation) = state.withLockedValue { ($0.machine.namesToAskAgain, $0.machine.health.generation) }
        let isKnown = await findNAT64()
        // Resume the waiters only after all of the above is done.
        let waiting = state.withLockedValue { state -> [Int: AsyncStream<Void>.Continuation] in
            // A later change may have ended before this one.
            if state.machine.health.generation == generation { state.background.lacksNAT64 = !isKnown }
            if isFirst, isKnown { return [:] }
            state.background.networkChanges += 1
            defer { state.background.onNetworkChange = [:] }
            return state.background.onNetworkChange
        }
        for continuation in waiting.values { continuation.finish() }
        return hosts
    }

    /// The NAT64 prefixes of the network, discovered through the system's resolver (RFC 7050); empty if it does not answer.
    package func discoverNAT64() async -> [NAT64Prefix] { await askForNAT64() ?? [] }

    /// Finds the NAT64 prefixes of an IPv6-only network.
    ///
    /// - Returns: Whether the prefixes are known now; true also if there are none.
    func findNAT64() async -> Bool {
        let network = network
        guard network.families == .v6, network.nat64.isEmpty else { return true }
        guard let prefixes = await askForNAT64() else { return false }
        handle(.nat64Found(prefixes, in: network), now: time.now())
        return true
    }

    /// The NAT64 prefixes; empty if the network has none, nil if the system's resolver does not answer.
    private func askForNAT64() async -> [NAT64Prefix]? {
        guard let system = configuration.system, let host = try? Host(NAT64Prefix.probeName) else { return [] }
        let answer = await withinBudget { try? await system.answer(Question(host, families: .v6)) } ?? nil
        return answer.map { NAT64Prefix.discovered(in: $0.v6?.addresses ?? []) }
    }
}
