// SPDX-License-Identifier: Apache-2.0

import Names

extension ResolverConfiguration {
    var healthLimits: UpstreamHealth.Limits {
        UpstreamHealth.Limits(
            failuresUntilDown: limits.failuresUntilDown,
            probeInterval: ranking.probeInterval,
            pauseAfterRefusal: ranking.pauseAfterRefusal
        )
    }

    var rankingLimits: EndpointRanking.Limits {
        EndpointRanking.Limits(
            maxEndpoints: ranking.maxEndpoints,
            firstDemotion: ranking.demotion.lowerBound,
            longestDemotion: ranking.demotion.upperBound
        )
    }

    var useRules: UseRules {
        UseRules(
            refreshUses: refresh.minUses,
            failureTTL: cache.failureTTL,
            maxStale: cache.maxStale,
            staleWhileRefresh: cache.staleWhileRefresh,
            staleRecheck: cache.staleRecheck,
            forcedRefreshInterval: refresh.forcedInterval
        )
    }

    func keepingRules(for host: Host) -> KeepingRules {
        KeepingRules(
            ttlRange: cache.ttlOverrides[host] ?? cache.ttlRange,
            defaultTTL: cache.defaultTTL,
            maxNegativeTTL: cache.maxNegativeTTL,
            defaultNegativeTTL: cache.defaultNegativeTTL
        )
    }
}
