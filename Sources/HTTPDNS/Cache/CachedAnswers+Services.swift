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
        // If the upstreams do not answer this type, do not ask them again at each connection.
        let recheck = now + self.rules.staleRecheck
        if outcome.isFailure, let old, !old.routes.isEmpty, old.usableUntil > now {
            // A failed question does not show whether the records are still valid.
            let kept = old.with(expiresAt: min(recheck, old.usableUntil))
            store(kept, of: request, scope: scope)
            return kept
        }
        let time = configuration.keepingRules(for: request.host).serviceTime(outcome)
        let expiresAt = outcome.isFailure ? recheck : now + time
        let answer = ServiceAnswer(
            records: outcome.records,
            routes: outcome.routes,
            expiresAt: expiresAt,
            usableUntil: outcome.isFailure ? expiresAt : expiresAt + self.rules.maxStale,
            forceAt: old?.forceAt ?? .past,
            isFailure: outcome.isFailure
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
        let over = now + (.zero - rules.staleWhileRefresh)
        let expired = known.with(
            expiresAt: min(known.expiresAt, over),
            forceAt: now + rules.forcedRefreshInterval
        )
        store(expired, of: request, scope: scope)
        for target in known.routes.compactMap(\.target).prefix(OriginSchedule.maxTargets) {
            let key = AnswerCache.Key(LookupRequest(host: target, families: families), scope: scope)
            _ = cache.find(key) { entry in
                for family in families.members {
                    if let kept = entry[family] { entry[family]?.expiresAt = min(kept.expiresAt, over) }
                }
            }
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

extension KeepingRules {
    /// How long the outcome of a lookup of HTTPS records is cached.
    ///
    /// Most names have no records. Their absence is kept for at least 30 s, so that a negative TTL of 0 does not make
    /// each connection ask.
    func serviceTime(_ outcome: ServiceSchedule.Outcome) -> Duration {
        if outcome.records.isEmpty, outcome.routes.isEmpty {
            return max(min(outcome.ttl ?? defaultNegativeTTL, maxNegativeTTL), .seconds(30))
        }
        return min(max(outcome.ttl ?? defaultTTL, ttlRange.lowerBound), ttlRange.upperBound)
    }
}
