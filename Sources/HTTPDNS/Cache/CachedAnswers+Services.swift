// SPDX-License-Identifier: Apache-2.0

import Names

/// HTTPS records are cached in the entry of their name, together with its addresses. Stores and shared answers do not
/// contain them. The records are then asked for again, and callers wait for them only briefly.
extension CachedAnswers {
    /// The records of a name, possibly expired; nil if unknown.
    func services(of request: LookupRequest, scope: CacheScope) -> ServiceAnswer? {
        cache.peek(AnswerCache.Key(request, scope: scope))?.services
    }

    /// Stores the outcome of a lookup of records, even if no upstream could be asked.
    @discardableResult
    mutating func keep(
        _ outcome: ServiceSchedule.Outcome,
        of request: LookupRequest,
        scope: CacheScope,
        now: Moment
    ) -> ServiceAnswer {
        let old = services(of: request, scope: scope)
        if outcome.isFailure, let old, !old.routes.isEmpty, old.usableUntil > now {
            // A failed question does not show whether the records are still valid.
            let kept = old.with(expiresAt: min(now + rules.staleRecheck, old.usableUntil))
            store(kept, of: request, scope: scope)
            return kept
        }
        let failures = outcome.isFailure ? (old?.failures ?? 0) + 1 : 0
        let time =
            outcome.isFailure
            ? rules.pause(after: failures) : configuration.cache.time(of: outcome, for: request.host)
        let expiresAt = now + time
        let answer = ServiceAnswer(
            records: outcome.records,
            routes: outcome.routes,
            upstream: outcome.upstream.map { upstreams[$0].name } ?? "",
            expiresAt: expiresAt,
            usableUntil: outcome.isFailure ? expiresAt : expiresAt + rules.maxStale,
            forceAt: old?.forceAt ?? .past,
            failures: failures
        )
        store(answer, of: request, scope: scope)
        return answer
    }

    /// Makes the records of a name expire, and the addresses of their targets, because none of their endpoints could be
    /// reached. At most once in ``ResolverConfiguration/Refresh/forcedInterval``.
    mutating func expireServices(of request: LookupRequest, families: Families, scope: CacheScope, now: Moment) {
        guard let known = services(of: request, scope: scope), !known.routes.isEmpty, known.forceAt <= now else {
            return
        }
        let over = now - rules.staleWhileRefresh
        let expired = known.with(
            expiresAt: min(known.expiresAt, over),
            forceAt: now + rules.forcedRefreshInterval
        )
        store(expired, of: request, scope: scope)
        for target in known.routes.compactMap(\.target).prefix(OriginSchedule.maxTargets) {
            let key = AnswerCache.Key(LookupRequest(host: target, families: families), scope: scope)
            _ = cache.find(key) { $0.expire(families, at: over) }
        }
    }

    private mutating func store(_ answer: ServiceAnswer, of request: LookupRequest, scope: CacheScope) {
        let key = AnswerCache.Key(request, scope: scope)
        let network = provenances.first?.network ?? ""
        var entry =
            cache.peek(key)
            ?? AnswerCache.Entry(provenance: Provenance(upstream: "", kind: .service, network: network))
        entry.services = answer
        cache.store(entry, for: key)
    }
}

extension UseRules {
    /// How long records are not asked for after failed lookups in a row. A connection without the records may reveal a name
    /// that ECH would hide, so the first pause is short; and upstreams that never answer this type are not asked at each
    /// connection.
    fileprivate func pause(after failures: Int) -> Duration {
        failureTTL.doubled(failures - 1, upTo: staleRecheck)
    }
}
