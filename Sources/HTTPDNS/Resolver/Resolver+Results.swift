// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// The result of a lookup, from which each caller makes its resolution.
    ///
    /// A class, because the value is large and is passed to every caller.
    final class LookupResult: Sendable {
        let entry: AnswerCache.Entry
        let source: Resolution.Source
        let time: Moment

        init(entry: AnswerCache.Entry, source: Resolution.Source, time: Moment) {
            self.entry = entry
            self.source = source
            self.time = time
        }
    }

    /// Delivers the family that has arrived; the lookup continues for the cache.
    func deliver(_ outcome: UpstreamSchedule.Outcome, _ lookup: Lookup, _ now: Moment) {
        // Another thread may have ended the lookup with the whole answer.
        guard lookup.context.realm.isKept, !state.withLockedValue({ _ in lookup.isOver }) else { return }
        let result = land(outcome, lookup.context, now)
        let callers = state.withLockedValue { _ in
            lookup.isOwn = true
            return lookup.takeCallers()
        }
        for caller in callers { caller.resume(returning: result) }
    }

    /// Delivers a stale answer to callers that have waited ``ResolverConfiguration/staleAnswerDelay`` for a new one
    /// (RFC 8767 §5).
    func handOutStale(_ lookup: Lookup, _ now: Moment) {
        let found = lookup.context.realm.isKept ? fallBack(lookup.context, [], now, isFailure: false) : nil
        guard let found else { return state.withLockedValue { _ in lookup.keepLateCallers() } }
        let callers = state.withLockedValue { _ in
            lookup.isOwn = true
            return lookup.takeLateCallers(now)
        }
        for caller in callers { caller.resume(returning: .success(found)) }
    }

    /// Ends a lookup.
    func end(_ outcome: UpstreamSchedule.Outcome, _ lookup: Lookup, _ now: Moment) {
        // Store in the cache before removing from the table, so that a new caller finds one of the two.
        let result = lookup.context.realm.isKept ? land(outcome, lookup.context, now) : nil
        let callers = state.withLockedValue { $0.lookups.land(lookup) }
        guard let result else { return }
        for caller in callers { caller.resume(returning: result) }
    }

    private func land(
        _ outcome: UpstreamSchedule.Outcome,
        _ context: LookupContext,
        _ now: Moment
    ) -> Result<LookupResult, ResolutionError> {
        let failures = outcome.failures.map {
            ResolutionError.Failure(upstream: self.upstream($0.upstream).name, error: $0.error)
        }
        let isDenial = !outcome.answer.families.isEmpty && outcome.answer.isUnvouchedDenial
        guard let index = outcome.upstream, !(isDenial && isUsable(context, now)) else {
            if let found = fallBack(context, failures, now, isFailure: true) { return .success(found) }
            return .failure(outcome.isOverdue ? overdue(context, failures) : .failed(context.request.host, failures))
        }
        let upstream = upstream(index)
        let provenance = Provenance(
            upstream: upstream.name,
            kind: upstream.kind,
            network: context.network,
            failures: failures,
            extra: outcome.answer.extra
        )
        var entry = AnswerCache.Entry(provenance: provenance)
        (entry.v4, entry.v6) = configuration.keepingRules(for: context.request.host)
            .kept(outcome.answer, asked: context.request.families, now: now)
        let guessed = context.request.families.subtracting(outcome.answer.families)
        let stale = store(context.request, context.realm, &entry, guessed: guessed, now)
        let source: Resolution.Source =
            switch upstream.kind {
            case _ where !stale.isEmpty: .stale
            case .system: .system
            case .fixed: .fixed
            default: outcome.answer.isShared ? .cached : .fresh
            }
        return .success(LookupResult(entry: entry, source: source, time: now))
    }

    /// Whether the cache has a usable address, possibly past its TTL.
    private func isUsable(_ context: LookupContext, _ now: Moment) -> Bool {
        let key = AnswerCache.Key(context.request, context.realm)
        return shard(key.hash).withLockedValue { shard in
            shard.cache.peek(key)?.isUsable(context.request.families, now, maxStale: configuration.maxStale) ?? false
        }
    }

    private func overdue(_ context: LookupContext, _ failures: [ResolutionError.Failure]) -> ResolutionError {
        ResolutionError(
            .timeLimit,
            "\(context.request.host): no upstream answered within \(configuration.timeLimit)",
            failures: failures
        )
    }

    /// The cached answer that may be used past its TTL because no upstream has a new one; nil if there is none.
    ///
    /// After a failure, the answer is used for ``ResolverConfiguration/staleRecheck`` before the upstreams are asked
    /// again. If there is no answer, the failure is cached.
    private func fallBack(
        _ context: LookupContext,
        _ failures: [ResolutionError.Failure],
        _ now: Moment,
        isFailure: Bool
    ) -> LookupResult? {
        let key = AnswerCache.Key(context.request, context.realm)
        return shard(key.hash).withLockedValue { shard in
            let kept = shard.cache.find(key) { entry -> LookupResult? in
                guard entry.isUsable(context.request.families, now, maxStale: configuration.maxStale) else {
                    return nil
                }
                if isFailure {
                    // The pause ends with the usable answer: after that, callers would only get the old failure.
                    let end = entry.usableUntil(context.request.families, maxStale: configuration.maxStale)
                    let pause = max(now + configuration.failureTTL, min(now + configuration.staleRecheck, end))
                    entry.pause(context.request.families, until: pause)
                }
                return LookupResult(entry: entry, source: entry.source(context.request.families, now), time: now)
            }
            if let found = kept ?? nil { return found }
            // If all questions failed because too many were under way, no upstream was asked, so the failure says
            // nothing about the name.
            guard isFailure, failures.isEmpty || failures.contains(where: { $0.error.code != .busy }) else {
                return nil
            }
            var entry = AnswerCache.Entry(
                provenance: Provenance(upstream: "", kind: .service, network: context.network, failures: failures)
            )
            // Keep what is known of the other family.
            if let old = shard.cache.peek(key), old.v4 != nil || old.v6 != nil {
                entry = old
                entry.provenance = old.provenance.with(failures)
            }
            entry.pause(context.request.families, until: now + configuration.failureTTL)
            shard.cache.store(key, entry)
            return nil
        }
    }

    /// The cached result of a lookup that has just ended, or of an earlier one.
    ///
    /// - Returns: The result for a caller without asking, if any; and whether there is an address to fall back on if
    ///   the upstreams take too long.
    func atHand(
        _ request: LookupRequest,
        _ now: Moment
    ) -> (result: Result<LookupResult, ResolutionError>?, isUsable: Bool) {
        let entry = shard(request.hash).withLockedValue { shard in
            shard.cache.peek(AnswerCache.Key(request, shard.realm))
        }
        guard let entry else { return (nil, false) }
        let isUsable = entry.isUsable(request.families, now, maxStale: configuration.maxStale)
        if entry.expiry(request.families) > now {
            return (.success(LookupResult(entry: entry, source: .cached, time: now)), isUsable)
        }
        guard !entry.mayAsk(request.families, now) else { return (nil, isUsable) }
        let failure = ResolutionError.failed(request.host, entry.provenance.failures)
        let stale = LookupResult(entry: entry, source: entry.source(request.families, now), time: now)
        return (isUsable ? .success(stale) : .failure(failure), isUsable)
    }

    /// Stores the result of a lookup, and updates `entry` to the stored one.
    ///
    /// - Parameter guessed: The families that the upstream did not mention and that the entry has as "none". A usable
    ///   cached answer for them is kept.
    /// - Returns: The families whose cached answer is kept although its TTL is over.
    @discardableResult
    func store(
        _ request: LookupRequest,
        _ realm: Realm,
        _ entry: inout AnswerCache.Entry,
        guessed: Families = [],
        _ now: Moment
    ) -> Families {
        book.withLockedValue { book in
            if let v4 = entry.v4 { book.note(v4.addresses, of: request.host) }
            if let v6 = entry.v6 { book.note(v6.addresses, of: request.host) }
        }
        let key = AnswerCache.Key(request, realm)
        return shard(key.hash).withLockedValue { shard in
            let old = shard.cache.peek(key)
            var stale: Families = []
            for family in guessed.members {
                guard let kept = old?[family],
                    kept.expiresAt > now || kept.isUsable(now, maxStale: configuration.maxStale)
                else { continue }
                entry[family] = kept
                if kept.expiresAt <= now { stale.insert(Families(family)) }
            }
            // A question for one family leaves the other unchanged.
            entry.v4 = entry.v4 ?? old?.v4
            entry.v6 = entry.v6 ?? old?.v6
            entry.forceAt = old?.forceAt ?? .past
            if let old, old.failed.isDisjoint(with: request.families) { entry.pause(old.failed, until: old.retryAt) }
            if !stale.isEmpty { entry.pause(stale, until: now + configuration.staleRecheck) }
            entry.provenance = shard.provenances.first { $0 == entry.provenance } ?? entry.provenance
            shard.cache.store(key, entry)
            return stale
        }
    }
}

extension Answer {
    /// Whether the answer only denies records, without an SOA that confirms it (RFC 2308 §5).
    var isUnvouchedDenial: Bool {
        let isOfUse = { (records: Records) in !records.addresses.isEmpty || records.ttl != nil }
        return !(v4.map(isOfUse) ?? false) && !(v6.map(isOfUse) ?? false)
    }
}
