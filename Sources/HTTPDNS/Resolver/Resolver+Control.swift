// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// The switch. While it is off every name goes to the system's resolver, as if this library were not there;
    /// answers that were kept before are not used, and come back with the switch. A remote switch that is off counts
    /// too.
    public var isEnabled: Bool {
        get { state.withLockedValue { $0.isEnabled } }
        set {
            state.withLockedValue { $0.isEnabled = newValue }
            useCurrentRealm()
        }
    }

    /// Whether names go to the upstreams now: both switches are on.
    public var isActive: Bool { state.withLockedValue { $0.isOn } }

    /// The network that the resolver takes the machine to be in.
    public var network: Network { ranking.withLockedValue { $0.network } }

    /// Questions that were sent to upstreams so far.
    public var questionsSent: Int { state.withLockedValue { $0.questionsSent } }

    /// Names that are kept now.
    public var cachedNames: Int { shards.reduce(0) { $0 + $1.withLockedValue { $0.cache.count } } }

    /// What look-ups found so far.
    public var counts: CacheCounts {
        shards.reduce(CacheCounts()) { $0 + $1.withLockedValue { $0.counts } }
    }

    /// Lets look-ups use what was asked under the present switch and network.
    func useCurrentRealm() {
        let network = state.withLockedValue { $0.network.id }
        // Upstreams are asked for their names: their code runs under no lock of ours.
        let provenances = configuration.provenances(network)
        // The parts change under the lock of the state: two changes at once would otherwise leave what the slower one read.
        state.withLockedValue { state in
            let isSameNetwork = state.network.id == network
            for shard in shards {
                shard.withLockedValue { shard in
                    shard.realm = state.realm
                    if isSameNetwork, shard.provenances.first?.network != network {
                        shard.provenances = provenances.map { $0.copy() }
                    }
                }
            }
        }
    }

    // MARK: The remote switch

    /// Takes a document of the remote switch.
    func received(_ document: RemoteDocument) {
        change { $0.remote.received(document, now: time.wall()) }
    }

    /// Drops a document whose time is over.
    func expireRemoteDocument() {
        change { $0.remote.expire(now: time.wall()) }
    }

    private func change(_ body: (inout State) -> Bool) {
        let policy = state.withLockedValue { state -> NamePolicy? in
            guard body(&state) else { return nil }
            state.policy = state.remote.applied(to: configuration.names)
            return state.policy
        }
        guard let policy else { return }
        useCurrentRealm()
        // What was asked of the wrong one is asked for anew.
        for shard in shards {
            shard.withLockedValue { shard in
                shard.cache.removeAll { key, entry in
                    guard key.realm != .system, let name = key.name.split(separator: "/").first,
                        let host = try? Host(name)
                    else { return false }
                    return policy.isForUpstreams(host) != (entry.provenance.kind == .service)
                }
            }
        }
    }
}

extension Provenance {
    /// An object of its own that says the same.
    func copy() -> Provenance {
        Provenance(upstream: upstream, kind: kind, network: network, failures: failures, extra: extra)
    }
}
