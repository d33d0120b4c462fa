// SPDX-License-Identifier: Apache-2.0

import Names

extension Resolver {
    /// What a look-up answers; callers that want the same share it.
    struct FlightKey: Hashable {
        var name: String
        var families: Families
        var realm: UInt32
    }

    /// A look-up under way.
    struct Flight {
        var host: Host
        var families: Families
        var realm: UInt32
        var inquiry: Inquiry
        /// Whether answers of the system are checked like others; not for names that belong to it.
        var trustsSystem: Bool
        /// Questions to upstreams under way.
        var tasks: [(upstream: Int, task: Task<Void, Never>)] = []
    }

    typealias Waiter = CheckedContinuation<Result<Landing, ResolutionError>, Never>

    /// Everything that changes but the cache and the ranking.
    struct State {
        var isEnabled = true
        var isClosed = false
        var flights: FlightTable<FlightKey, Waiter, Flight>
        var health: UpstreamHealth
        var questionsSent = 0
        /// Tasks that ask upstreams.
        var running = 0
        /// Those who wait for `running` to become zero.
        var idlers: [CheckedContinuation<Void, Never>] = []
        /// Wakes when the first inquiry must look at the clock.
        var ticker: (task: Task<Void, Never>, at: Moment)?

        init(_ configuration: ResolverConfiguration) {
            flights = FlightTable(maxFlights: configuration.maxFlights)
            health = UpstreamHealth(count: configuration.upstreams.count + 1, limits: configuration.healthLimits)
        }
    }

    /// The upstream of a number: those of the configuration, then the system.
    func upstream(_ index: Int) -> any Upstream {
        if index < configuration.upstreams.count { return configuration.upstreams[index] }
        return configuration.system ?? FixedUpstream(HostsTable(), name: "none")
    }
}

extension ResolverConfiguration {
    /// One for each upstream, and one for the system.
    var provenances: [Provenance] {
        (upstreams + [system].compactMap { $0 }).map { Provenance(upstream: $0.name, kind: $0.kind) }
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

    var keepingRules: KeepingRules {
        KeepingRules(
            ttlRange: ttlRange,
            defaultTTL: defaultTTL,
            maxNegativeTTL: maxNegativeTTL,
            defaultNegativeTTL: defaultNegativeTTL
        )
    }
}
