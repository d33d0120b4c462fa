// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// Turns the resolver on or off. While it is off, all names go to the system's resolver. Cached answers are kept
    /// but not used until it is on again. A remote switch that is off has the same effect.
    public var isEnabled: Bool {
        get { state.withLockedValue { $0.isEnabled } }
        set {
            state.withLockedValue { $0.isEnabled = newValue }
            useCurrentRealm()
        }
    }

    /// Whether names go to the upstreams now: both switches are on.
    public var isActive: Bool { state.withLockedValue { $0.isOn } }

    /// The network that the resolver assumes.
    public var network: Network { ranking.withLockedValue { $0.network } }

    /// The number of questions sent to upstreams so far.
    public var questionsSent: Int { state.withLockedValue { $0.questionsSent } }

    /// The number of names in the cache.
    public var cachedNames: Int { shards.reduce(0) { $0 + $1.withLockedValue { $0.cache.count } } }

    /// The results of cache lookups so far.
    public var counts: CacheCounts {
        shards.reduce(CacheCounts()) { $0 + $1.withLockedValue { $0.counts } }
    }

    /// Makes lookups use the answers of the present switch and network.
    func useCurrentRealm() {
        let network = state.withLockedValue { $0.network.id }
        // Reads the names of upstreams outside the lock, because that runs foreign code.
        let provenances = configuration.provenances(network)
        // The shards change under the state's lock. Otherwise, of two concurrent changes, the slower one would write
        // what it read before the other.
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

    /// Applies a document of the remote switch.
    func received(_ document: RemoteDocument) {
        change { $0.remote.received(document, now: time.wall()) }
    }

    /// Drops an expired document.
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
        // Removes answers that came from a source which the new policy does not allow for the name.
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
    /// A new object with the same values. Separate objects per shard avoid contention on one reference count.
    func copy() -> Provenance {
        Provenance(upstream: upstream, kind: kind, network: network, failures: failures, extra: extra)
    }
}
