// SPDX-License-Identifier: Apache-2.0

import Names

extension ResolverConfiguration {
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

    var useRules: UseRules {
        UseRules(
            refreshUses: refreshUses,
            failureTTL: failureTTL,
            maxStale: maxStale,
            staleWhileRefresh: staleWhileRefresh,
            staleRecheck: staleRecheck,
            forcedRefreshInterval: forcedRefreshInterval
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
