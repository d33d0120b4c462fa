// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// Switches to another network: uses the answers of this network, separate from those of other networks. Also
    /// resets the measurements of upstreams and endpoints, and asks again for names in frequent use. ``run()`` calls it
    /// when the network changes.
    ///
    /// In an IPv6-only network, the system's resolver is asked for the NAT64 prefix (RFC 7050) unless `network` has
    /// one, and with ``ResolverConfiguration/NetworkWatch/asksUpstreamsForNAT64`` the upstreams too. IPv4 addresses are
    /// translated with it. If one of them does not answer and no other knows a prefix, ``run()`` asks again.
    public func networkChanged(to network: Network) async { await askAgain(await begin(in: network, isFirst: false)) }

    /// Asks again for names in a new network.
    func askAgain(_ hosts: [Host]) async {
        await forEach(hosts) { host in
            guard (try? await self.resolveAhead(host)) != nil else { return }
            self.handle(.answeredAgain(host), now: self.time.now())
        }
    }

    /// Does the immediate part of a network change.
    ///
    /// - Parameter isFirst: Whether it is the first network that ``run()`` finds. Scheduled work of the upstreams is then
    ///   not restarted.
    /// - Returns: The names to ask for again.
    func begin(in network: Network, isFirst: Bool) async -> [Host] {
        // ``run()`` may have found the first network already.
        if !isFirst || network != self.network { handle(.networkChanged(network), now: time.now()) }
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

    /// The NAT64 prefixes; empty if the network has none, nil if they are unknown because an upstream did not answer. The
    /// system's resolver and the upstreams are asked at the same time, and the first that knows prefixes counts.
    private func askForNAT64() async -> [NAT64Prefix]? {
        // The final dot keeps the system's resolver from asking for the name in search domains.
        guard let host = try? Host("\(NAT64Prefix.probeName).") else { return [] }
        let upstreams = configuration.network.asksUpstreamsForNAT64 ? configuration.upstreams : []
        let sources = upstreams.filter { $0.kind == .service } + [configuration.system].compactMap(\.self)
        return await withTaskGroup(of: [NAT64Prefix]?.self) { group in
            for source in sources {
                group.addTask {
                    let question = Question(host, families: .v6)
                    let answer = await self.withinBudget { try? await source.answer(question) }
                    return answer.map { NAT64Prefix.discovered(in: $0.v6?.addresses ?? []) }
                }
            }
            defer { group.cancelAll() }
            var haveAllAnswered = true
            for await prefixes in group {
                guard let prefixes else {
                    haveAllAnswered = false
                    continue
                }
                if !prefixes.isEmpty { return prefixes }
            }
            return haveAllAnswered ? [] : nil
        }
    }
}
