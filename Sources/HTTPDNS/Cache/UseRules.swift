// SPDX-License-Identifier: Apache-2.0

import Names

/// Determines whether a cached answer is used, and when it is refreshed.
struct UseRules {
    let refreshUses: UInt32
    let failureTTL: Duration
    let maxStale: Duration
    let staleWhileRefresh: Duration
    let staleRecheck: Duration
    let forcedRefreshInterval: Duration

    /// The rules of a configuration. Each cached lookup copies them, so they are small.
    init(_ configuration: ResolverConfiguration) {
        refreshUses = configuration.refresh.minUses
        failureTTL = configuration.cache.failureTTL
        maxStale = configuration.cache.maxStale
        staleWhileRefresh = configuration.cache.staleWhileRefresh
        staleRecheck = configuration.cache.staleRecheck
        forcedRefreshInterval = configuration.refresh.forcedInterval
    }

    /// The result of a cache lookup. Allocates nothing while the stored order of the addresses is valid.
    func evaluate(
        _ entry: inout AnswerCache.Entry,
        for request: LookupRequest,
        port: UInt16,
        now: Moment,
        ranking: EndpointRanking
    ) -> CachedAnswers.Found {
        let expiry = entry.expiry(of: request.families)
        if expiry > now {
            entry.uses &+= 1
            let source: Resolution.Source = entry.provenance.kind == .fixed ? .fixed : .cached
            guard
                let resolution = resolution(
                    &entry,
                    source: source,
                    request: request,
                    port: port,
                    now: now,
                    ranking: ranking
                )
            else { return .absent(.absent(request, entry: entry, now: now)) }
            let isDue = entry.uses >= refreshUses && now >= entry.retryAt && entry.isNearlyOver(expiry, now: now)
            // The pause excludes no family, because nothing has failed. After the TTL, callers join the refresh that is
            // under way.
            if isDue { entry.pause([], until: now + failureTTL) }
            return .current(resolution, isDue: isDue)
        }
        let mayAsk = entry.mayAsk(for: request.families, now: now)
        if entry.isUsable(for: request.families, now: now, maxStale: maxStale),
            let resolution = resolution(
                &entry,
                source: entry.source(for: request.families, now: now),
                request: request,
                port: port,
                now: now,
                ranking: ranking
            )
        {
            return .stale(resolution, mayAsk: mayAsk)
        }
        return mayAsk ? .unknown : .absent(.allFailed(request.host, failures: entry.provenance.failures))
    }

    /// The resolution of an entry; nil if it has no address of the families.
    private func resolution(
        _ entry: inout AnswerCache.Entry,
        source: Resolution.Source,
        request: LookupRequest,
        port: UInt16,
        now: Moment,
        ranking: EndpointRanking
    ) -> Resolution? {
        let families = request.families
        if entry.order.until <= now || entry.order.port != port || entry.order.families != families {
            let ordered = ranking.order(entry.addresses(of: families), port: port, now: now)
            entry.ordered = ordered.addresses
            entry.order = AnswerCache.Order(families: families, port: port, until: ordered.until)
        }
        guard !entry.ordered.isEmpty else { return nil }
        return Resolution(
            of: entry,
            addresses: entry.ordered,
            source: source,
            request: request,
            port: port,
            answer: entry.currentServices(now: now),
            now: now
        )
    }
}
