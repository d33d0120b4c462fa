// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The clients whose resolvers answer for a DNS server.
struct DNSClients: Sendable {
    private var byKey: [DNSPlan.Source.Key: BeelineClient] = [:]

    /// The resolvers of a plan.
    struct Resolvers: Sendable {
        var main: Resolver
        var domains: DomainMap<Resolver>
    }

    /// The clients that a plan adds, and those that it no longer needs.
    struct Change: Sendable {
        var added: [BeelineClient] = []
        var removed: [BeelineClient] = []
    }

    /// All clients.
    var all: [BeelineClient] { Array(byKey.values) }

    /// Makes the clients of a plan. Clients whose settings have not changed stay, with their caches and connections.
    ///
    /// - Throws: ``CommandFailure`` if a client cannot be made. The clients then stay unchanged.
    mutating func use(_ plan: DNSPlan) throws(CommandFailure) -> (Resolvers, Change) {
        var next: [DNSPlan.Source.Key: BeelineClient] = [:]
        var change = Change()
        for source in [plan.main] + plan.groups.compactMap(\.source) where next[source.key] == nil {
            if let client = byKey[source.key] {
                next[source.key] = client
                continue
            }
            let client = try BeelineClient.make(source.client)
            next[source.key] = client
            change.added.append(client)
        }
        guard let main = next[plan.main.key] else { throw CommandFailure(.internalFault, "the plan has no upstreams") }
        var domains: DomainMap<Resolver> = [:]
        for group in plan.groups {
            let client = group.source.flatMap { next[$0.key] } ?? main
            for domain in group.domains { domains.set(domain, client.resolver) }
        }
        change.removed = byKey.filter { next[$0.key] == nil }.map(\.value)
        byKey = next
        return (Resolvers(main: main.resolver, domains: domains), change)
    }
}
