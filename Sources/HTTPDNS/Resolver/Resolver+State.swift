// SPDX-License-Identifier: Apache-2.0

import Names

extension Resolver {
    /// Identifies a lookup; callers with the same key share it.
    struct LookupKey: Hashable {
        private let nameHash: Int
        private let name: String
        let families: Families
        private let realm: Realm

        init(_ request: LookupRequest, _ realm: Realm) {
            name = request.key
            nameHash = request.hash
            families = request.families
            self.realm = realm
        }

        func hash(into hasher: inout Hasher) { hasher.combine(nameHash) }
    }

    /// The parameters of a lookup.
    struct LookupContext {
        let request: LookupRequest
        let realm: Realm
        let network: String
        /// Whether answers of the system are not checked, for names that belong to it.
        let trustsSystem: Bool
        /// Whether to ignore shared answers.
        let isFresh: Bool
        /// The ``UpstreamHealth/generation`` when the lookup started.
        let generation: Int
    }

    /// All mutable state except the cache and the ranking.
    struct State {
        /// The switch of this program.
        var isEnabled = true
        /// The remote switch.
        var remote = RemoteState()
        /// The name policy that results from the configuration and the remote switch.
        var policy: NamePolicy
        var isClosed = false
        /// Failed attempts to read the store; nil after a success.
        var failedRestores: Int? = 0
        var network = Network.unknown
        /// The number of network changes.
        var networkChanges = 0
        /// Names that were in use and have not been answered since the network changed.
        var namesToAsk: [Host] = []
        /// Streams that finish when the network changes, by the number of the waiting work.
        var onNetworkChange: [Int: AsyncStream<Void>.Continuation] = [:]
        /// Whether the network's NAT64 prefixes are still unknown.
        var owesNAT64 = false
        var realms = RealmTable()
        var lookups = OngoingLookups()
        var health: UpstreamHealth
        var questionsSent = 0
        /// Tasks that ask upstreams.
        var running = 0
        /// Callers that wait for `running` to become zero.
        var idlers: [CheckedContinuation<Void, Never>] = []
        /// Streams that finish when the resolver is shut down.
        var onClose: [Int: AsyncStream<Void>.Continuation] = [:]
        /// The next key of `onClose`.
        var nextCloseWatcher = 0
        /// The task that ticks the lookups, and its time.
        var ticker: (task: Task<Void, Never>, at: Moment)?

        init(_ configuration: ResolverConfiguration) {
            policy = configuration.names
            health = UpstreamHealth(count: configuration.upstreams.count + 1, limits: configuration.healthLimits)
        }

        /// Whether the upstreams are used: both switches are on.
        var isOn: Bool { isEnabled && remote.document?.isEnabled ?? true }

        /// The realm for new answers.
        var realm: Realm { isOn ? realms.current : .system }
    }

    /// The upstream with an index: those of the configuration, then the system.
    func upstream(_ index: Int) -> any Upstream {
        if index < configuration.upstreams.count { return configuration.upstreams[index] }
        return configuration.system ?? FixedUpstream(HostsTable(), name: "none")
    }
}

extension ResolverConfiguration {
    /// One provenance for each upstream, and one for the system.
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
