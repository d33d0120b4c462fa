// SPDX-License-Identifier: Apache-2.0

import Names

/// HTTPS records are cached in the entry of their name, beside its addresses. Stores and shared answers do not have
/// them: they are asked for again, which no caller waits long for.
extension CachedAnswers {
    /// The records of a name, possibly expired; nil if unknown.
    func services(of request: LookupRequest, scope: CacheScope) -> ServiceAnswer? {
        cache.peek(AnswerCache.Key(request, scope: scope))?.services
    }

    /// Stores the outcome of a lookup of records.
    mutating func keep(
        _ outcome: ServiceSchedule.Outcome,
        of request: LookupRequest,
        scope: CacheScope,
        now: Moment
    ) -> ServiceAnswer {
        let rules = configuration.keepingRules(for: request.host)
        // The upstreams are not asked at each connection while they do not answer this type.
        let time = outcome.isFailure ? self.rules.staleRecheck : rules.serviceTime(outcome)
        let answer = ServiceAnswer(
            records: outcome.records,
            routes: outcome.routes,
            expiresAt: now + time,
            isFailure: outcome.isFailure
        )
        store(answer, of: request, scope: scope)
        return answer
    }

    /// Remembers that no upstream can be asked for the records of a name.
    mutating func keepNoServices(of request: LookupRequest, scope: CacheScope, now: Moment) {
        store(
            ServiceAnswer(records: [], routes: [], expiresAt: now + rules.staleRecheck, isFailure: true),
            of: request,
            scope: scope
        )
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
    func serviceTime(_ outcome: ServiceSchedule.Outcome) -> Duration {
        if outcome.records.isEmpty, outcome.routes.isEmpty {
            return min(outcome.ttl ?? defaultNegativeTTL, maxNegativeTTL)
        }
        return min(max(outcome.ttl ?? defaultTTL, ttlRange.lowerBound), ttlRange.upperBound)
    }
}
