// SPDX-License-Identifier: Apache-2.0

import Names

extension Resolver {
    /// What a look-up answers; callers that want the same share it.
    struct FlightKey: Hashable {
        private let nameHash: Int
        private let name: String
        let families: Families
        private let realm: Realm

        init(_ wanted: Wanted, _ realm: Realm) {
            name = wanted.key
            nameHash = wanted.hash
            families = wanted.families
            self.realm = realm
        }

        func hash(into hasher: inout Hasher) { hasher.combine(nameHash) }
    }

    /// What a look-up is for.
    struct Errand {
        let wanted: Wanted
        let realm: Realm
        let network: String
        /// Whether answers of the system are not checked, for names that belong to it.
        let trustsSystem: Bool
        /// Whether shared answers do not count.
        let isFresh: Bool
        /// The ``UpstreamHealth/generation`` when it began.
        let generation: Int
    }

    /// Everything that changes but the cache and the ranking.
    struct State {
        /// The switch of this program.
        var isEnabled = true
        /// The switch of all installations.
        var remote = RemoteState()
        /// What follows from the configuration and the remote switch.
        var policy: NamePolicy
        var isClosed = false
        /// How often the store could not be read; nil once it was.
        var failedRestores: Int? = 0
        var network = Network.unknown
        /// How often the network has changed.
        var networkChanges = 0
        /// Names that were in use, and have not been answered since the network changed.
        var namesToAsk: [Host] = []
        /// What ends when the network changes, each under the number of its work.
        var onNetworkChange: [Int: AsyncStream<Void>.Continuation] = [:]
        /// Whether the network's NAT64 prefixes are still to be asked for.
        var owesNAT64 = false
        var realms = RealmTable()
        var flights = FlightTable()
        var health: UpstreamHealth
        var questionsSent = 0
        /// Tasks that ask upstreams.
        var running = 0
        /// Those who wait for `running` to become zero.
        var idlers: [CheckedContinuation<Void, Never>] = []
        /// What ends when the resolver is shut down.
        var onClose: [Int: AsyncStream<Void>.Continuation] = [:]
        /// The number of the next of them.
        var nextCloseWatcher = 0
        /// Wakes when the first inquiry must look at the clock.
        var ticker: (task: Task<Void, Never>, at: Moment)?

        init(_ configuration: ResolverConfiguration) {
            policy = configuration.names
            health = UpstreamHealth(count: configuration.upstreams.count + 1, limits: configuration.healthLimits)
        }

        /// Whether the upstreams are asked at all.
        var isOn: Bool { isEnabled && remote.document?.isEnabled ?? true }

        /// What is asked for now is kept under this.
        var realm: Realm { isOn ? realms.current : .system }
    }

    /// The upstream of a number: those of the configuration, then the system.
    func upstream(_ index: Int) -> any Upstream {
        if index < configuration.upstreams.count { return configuration.upstreams[index] }
        return configuration.system ?? FixedUpstream(HostsTable(), name: "none")
    }
}

extension ResolverConfiguration {
    /// One for each upstream, and one for the system.
    func provenances(_ network: String) -> [Provenance] {
        (upstreams + [system].compactMap { $0 }).map {
            Provenance(upstream: $0.name, kind: $0.kind, network: network)
        }
    }

    var healthLimits: UpstreamHealth.Limits {
        UpstreamHealth.Limits(
            failuresUntilDown: failuresUntilDown,
            probeInterval: probeInterval,
            pauseAfterRefusal: pauseAfterRefusal
        )
    }

    var rankingLimits: EndpointRanking.Limits {
        EndpointRanking.Limits(
            maxEndpoints: maxRankedEndpoints,
            firstDemotion: demotion.lowerBound,
            longestDemotion: demotion.upperBound
        )
    }

    func keepingRules(for host: Host) -> KeepingRules {
        KeepingRules(
            ttlRange: ttlOverrides[host] ?? ttlRange,
            defaultTTL: defaultTTL,
            maxNegativeTTL: maxNegativeTTL,
            defaultNegativeTTL: defaultNegativeTTL
        )
    }
}
