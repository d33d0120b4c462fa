// SPDX-License-Identifier: Apache-2.0

import Names

extension CachedAnswers {
    /// Stores the outcome of a lookup. If no upstream gave a usable answer, falls back to the cached one.
    mutating func keep(
        _ outcome: UpstreamSchedule.Outcome,
        of context: LookupContext,
        now: Moment
    ) -> Result<LookupResult, ResolutionError> {
        let request = context.request
        let failures = outcome.failures.map {
            ResolutionError.Failure(upstream: upstreams[$0.upstream].name, error: $0.error)
        }
        guard let index = outcome.upstream, !(outcome.answer.isUnconfirmedDenial && isUsable(context, now: now)) else {
            if let found = fallBack(context, failures: failures, now: now) { return .success(found) }
            let limit = configuration.limits.total
            return .failure(
                outcome.isOverdue
                    ? .overdue(request.host, limit: limit, failures: failures)
                    : .allFailed(request.host, failures: failures)
            )
        }
        let upstream = upstreams[index]
        let provenance = Provenance(
            upstream: upstream.name,
            kind: upstream.kind,
            network: context.network,
            failures: failures,
            extra: outcome.answer.extra
        )
        var entry = AnswerCache.Entry(provenance: provenance)
        (entry.v4, entry.v6) = configuration.cache.kept(
            outcome.answer,
            of: request.host,
            asked: request.families,
            arrivals: outcome.arrivals,
            now: now
        )
        let guessed = request.families.subtracting(outcome.answer.families)
        let stale = store(&entry, for: request, scope: context.scope, guessed: guessed, now: now)
        let source: Resolution.Source =
            switch upstream.kind {
            case _ where !stale.isEmpty: .stale
            case .system: .system
            case .fixed: .fixed
            default: outcome.answer.isShared ? .cached : .fresh
            }
        return .success(LookupResult(entry: entry, source: source, time: now, isPartial: !guessed.isEmpty))
    }

    /// Stores an answer of a batch question.
    mutating func keep(_ answer: Answer, of host: Host, from batch: BatchQuestion, now: Moment) {
        let upstream = upstreams[batch.upstream]
        let provenance = Provenance(
            upstream: upstream.name,
            kind: upstream.kind,
            network: batch.network,
            extra: answer.extra
        )
        var entry = AnswerCache.Entry(provenance: provenance)
        (entry.v4, entry.v6) = configuration.cache.kept(answer, of: host, asked: batch.families, now: now)
        store(&entry, for: LookupRequest(host: host, families: batch.families), scope: batch.scope, now: now)
    }

    /// The cached result of a lookup that has just ended, or of an earlier one.
    ///
    /// - Returns: The result for a caller without asking, if any; and whether there is an address to fall back on if
    ///   the upstreams take too long.
    func cachedResult(
        for request: LookupRequest,
        now: Moment
    ) -> (result: Result<LookupResult, ResolutionError>?, isUsable: Bool) {
        let families = request.families
        guard let entry = cache.peek(AnswerCache.Key(request, scope: scope)) else { return (nil, false) }
        let isUsable = entry.isUsable(for: families, now: now, maxStale: rules.maxStale)
        if entry.expiry(of: families) > now {
            return (.success(LookupResult(entry: entry, source: .cached, time: now)), isUsable)
        }
        guard !entry.mayAsk(for: families, now: now) else { return (nil, isUsable) }
        guard isUsable else { return (.failure(.allFailed(request.host, failures: entry.provenance.failures)), false) }
        let source = entry.source(for: families, now: now)
        return (.success(LookupResult(entry: entry, source: source, time: now)), true)
    }

    /// The cached answer that callers get because the upstreams take long, or cannot be asked; nil if there is none.
    mutating func staleResult(for request: LookupRequest, in scope: CacheScope, now: Moment) -> LookupResult? {
        let (families, rules) = (request.families, rules)
        return cache.find(AnswerCache.Key(request, scope: scope)) { entry -> LookupResult? in
            guard entry.isUsable(for: families, now: now, maxStale: rules.maxStale) else { return nil }
            return LookupResult(entry: entry, source: entry.source(for: families, now: now), time: now)
        } ?? nil
    }

    /// The cached answer that may be used past its TTL because no upstream has a new one; nil if there is none.
    ///
    /// The answer is used for ``ResolverConfiguration/Cache/staleRecheck`` before the upstreams are asked again. If there is
    /// no answer, the failure is cached.
    private mutating func fallBack(
        _ context: LookupContext,
        failures: [ResolutionError.Failure],
        now: Moment
    ) -> LookupResult? {
        let key = AnswerCache.Key(context.request, scope: context.scope)
        let families = context.request.families
        if let stale = staleResult(for: context.request, in: context.scope, now: now) {
            // The pause ends with the usable answer: after that, callers would only get the old failure.
            let end = stale.entry.usableUntil(families, maxStale: rules.maxStale)
            let pause = max(now + rules.failureTTL, min(now + rules.staleRecheck, end))
            _ = cache.find(key) { $0.pause(families, until: pause) }
            return stale
        }
        // If all questions failed because too many were under way, no upstream was asked. The failure then does not
        // apply to the name.
        guard failures.isEmpty || failures.contains(where: { $0.error.code != .busy }) else { return nil }
        var entry = AnswerCache.Entry(
            provenance: Provenance(upstream: "", kind: .service, network: context.network, failures: failures)
        )
        // Keep the known part of the other family.
        if let old = cache.peek(key), old.v4 != nil || old.v6 != nil || old.services != nil {
            entry = old
            entry.provenance = old.provenance.with(failures)
        }
        entry.pause(families, until: now + rules.failureTTL)
        cache.store(entry, for: key)
        return nil
    }

    /// Whether the cache has a usable address, possibly past its TTL.
    private func isUsable(_ context: LookupContext, now: Moment) -> Bool {
        cache.peek(AnswerCache.Key(context.request, scope: context.scope))?
            .isUsable(for: context.request.families, now: now, maxStale: rules.maxStale) ?? false
    }

    /// Stores the result of a lookup, and updates `entry` to the stored one.
    ///
    /// - Parameter guessed: The families that the upstream did not mention and that the entry has as "none". A usable
    ///   cached answer for them is kept.
    /// - Returns: The families whose cached answer is kept although its TTL is over.
    @discardableResult
    private mutating func store(
        _ entry: inout AnswerCache.Entry,
        for request: LookupRequest,
        scope: CacheScope,
        guessed: Families = [],
        now: Moment
    ) -> Families {
        if let v4 = entry.v4 { book.record(v4.addresses, of: request.host) }
        if let v6 = entry.v6 { book.record(v6.addresses, of: request.host) }
        let key = AnswerCache.Key(request, scope: scope)
        let old = cache.peek(key)
        var stale: Families = []
        for family in guessed.members {
            guard let kept = old?[family],
                kept.expiresAt > now || kept.isUsable(now: now, maxStale: rules.maxStale)
            else { continue }
            entry[family] = kept
            if kept.expiresAt <= now { stale.insert(Families(family)) }
        }
        // A question for one family leaves the other unchanged.
        entry.v4 = entry.v4 ?? old?.v4
        entry.v6 = entry.v6 ?? old?.v6
        entry.services = old?.services
        entry.forceAt = old?.forceAt ?? .past
        if let old, old.failed.isDisjoint(with: request.families) { entry.pause(old.failed, until: old.retryAt) }
        if !stale.isEmpty { entry.pause(stale, until: now + rules.staleRecheck) }
        entry.provenance = provenances.first { $0 == entry.provenance } ?? entry.provenance
        cache.store(entry, for: key)
        return stale
    }
}

extension Answer {
    /// Whether the answer only denies records and has no SOA that confirms it (RFC 2308 §5).
    fileprivate var isUnconfirmedDenial: Bool {
        let records = [v4, v6].compactMap(\.self)
        return !records.isEmpty && records.allSatisfy { $0.addresses.isEmpty && $0.ttl == nil }
    }
}
