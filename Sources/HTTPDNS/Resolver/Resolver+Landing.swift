// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// What a look-up ended with, from which each caller makes its resolution.
    ///
    /// It goes through many hands, and is large: so there is one.
    final class Landing: Sendable {
        let entry: AnswerCache.Entry
        let source: Resolution.Source
        let time: Moment

        init(entry: AnswerCache.Entry, source: Resolution.Source, time: Moment) {
            self.entry = entry
            self.source = source
            self.time = time
        }
    }

    /// Hands out the part of an answer that is there; the look-up goes on for the cache.
    func deliver(_ outcome: Inquiry.Outcome, _ flight: Flight, _ now: Moment) {
        // Another thread may have ended the look-up with the whole answer meanwhile.
        guard flight.errand.realm.isKept, !state.withLockedValue({ _ in flight.isOver }) else { return }
        let result = land(outcome, flight.errand, now)
        let callers = state.withLockedValue { _ in
            flight.isOwn = true
            return flight.takeCallers()
        }
        for caller in callers { caller.resume(returning: result) }
    }

    /// Hands out what is past its TTL to those who have waited long enough for a new answer (RFC 8767 §5).
    func handOutStale(_ flight: Flight, _ now: Moment) {
        let landing = flight.errand.realm.isKept ? fallBack(flight.errand, [], now, isFailure: false) : nil
        guard let landing else { return state.withLockedValue { _ in flight.keepLateCallers() } }
        let callers = state.withLockedValue { _ in
            flight.isOwn = true
            return flight.takeLateCallers(now)
        }
        for caller in callers { caller.resume(returning: .success(landing)) }
    }

    /// Ends a look-up.
    func end(_ outcome: Inquiry.Outcome, _ flight: Flight, _ now: Moment) {
        // First into the cache, then out of the table: who comes in between finds one of the two.
        let result = flight.errand.realm.isKept ? land(outcome, flight.errand, now) : nil
        let callers = state.withLockedValue { $0.flights.land(flight) }
        guard let result else { return }
        for caller in callers { caller.resume(returning: result) }
    }

    private func land(
        _ outcome: Inquiry.Outcome,
        _ errand: Errand,
        _ now: Moment
    ) -> Result<Landing, ResolutionError> {
        let failures = outcome.failures.map {
            ResolutionError.Failure(upstream: self.upstream($0.upstream).name, error: $0.error)
        }
        let isDenial = !outcome.answer.families.isEmpty && outcome.answer.isUnvouchedDenial
        guard let index = outcome.upstream, !(isDenial && isUsable(errand, now)) else {
            if let landing = fallBack(errand, failures, now, isFailure: true) { return .success(landing) }
            return .failure(outcome.isOverdue ? overdue(errand, failures) : .failed(errand.wanted.host, failures))
        }
        let upstream = upstream(index)
        let provenance = Provenance(
            upstream: upstream.name,
            kind: upstream.kind,
            network: errand.network,
            failures: failures,
            extra: outcome.answer.extra
        )
        var entry = AnswerCache.Entry(provenance: provenance)
        (entry.v4, entry.v6) = configuration.keepingRules(for: errand.wanted.host)
            .kept(outcome.answer, asked: errand.wanted.families, now: now)
        let guessed = errand.wanted.families.subtracting(outcome.answer.families)
        let stale = store(errand.wanted, errand.realm, &entry, guessed: guessed, now)
        let source: Resolution.Source =
            switch upstream.kind {
            case _ where !stale.isEmpty: .stale
            case .system: .system
            case .fixed: .fixed
            default: outcome.answer.isShared ? .cached : .fresh
            }
        return .success(Landing(entry: entry, source: source, time: now))
    }

    /// Whether an address is kept that may be used, if only past its TTL.
    private func isUsable(_ errand: Errand, _ now: Moment) -> Bool {
        let key = AnswerCache.Key(errand.wanted, errand.realm)
        return shard(key.hash).withLockedValue { shard in
            shard.cache.peek(key)?.isUsable(errand.wanted.families, now, maxStale: configuration.maxStale) ?? false
        }
    }

    private func overdue(_ errand: Errand, _ failures: [ResolutionError.Failure]) -> ResolutionError {
        ResolutionError(
            .timeLimit,
            "\(errand.wanted.host): no upstream answered within \(configuration.timeLimit)",
            failures: failures
        )
    }

    /// What may still be used of a name although its TTL is over and nobody has a new answer. After a failure it is
    /// used without asking again for a while; where there is nothing, the failure itself is kept.
    private func fallBack(
        _ errand: Errand,
        _ failures: [ResolutionError.Failure],
        _ now: Moment,
        isFailure: Bool
    ) -> Landing? {
        let key = AnswerCache.Key(errand.wanted, errand.realm)
        return shard(key.hash).withLockedValue { shard in
            let kept = shard.cache.find(key) { entry -> Landing? in
                guard entry.isUsable(errand.wanted.families, now, maxStale: configuration.maxStale) else { return nil }
                if isFailure {
                    // The pause ends with what is kept: then callers would only be given the old failure.
                    let end = entry.usableUntil(errand.wanted.families, maxStale: configuration.maxStale)
                    let pause = max(now + configuration.failureTTL, min(now + configuration.staleRecheck, end))
                    entry.pause(errand.wanted.families, until: pause)
                }
                return Landing(entry: entry, source: entry.source(errand.wanted.families, now), time: now)
            }
            if let landing = kept ?? nil { return landing }
            // Where no upstream was asked, because we had too many questions under way, nothing is known of the name.
            guard isFailure, failures.isEmpty || failures.contains(where: { $0.error.code != .busy }) else {
                return nil
            }
            var entry = AnswerCache.Entry(
                provenance: Provenance(upstream: "", kind: .service, network: errand.network, failures: failures)
            )
            // What is known of the other family stays.
            if let old = shard.cache.peek(key), old.v4 != nil || old.v6 != nil {
                entry = old
                entry.provenance = old.provenance.with(failures)
            }
            entry.pause(errand.wanted.families, until: now + configuration.failureTTL)
            shard.cache.store(key, entry)
            return nil
        }
    }

    /// What a look-up of a name that has just ended left in the cache, or one before.
    ///
    /// - Returns: What a caller is given without asking, if anything; and whether there is an address that could be
    ///   handed out where the upstreams take too long.
    func atHand(_ wanted: Wanted, _ now: Moment) -> (result: Result<Landing, ResolutionError>?, isUsable: Bool) {
        let entry = shard(wanted.hash).withLockedValue { shard in
            shard.cache.peek(AnswerCache.Key(wanted, shard.realm))
        }
        guard let entry else { return (nil, false) }
        let isUsable = entry.isUsable(wanted.families, now, maxStale: configuration.maxStale)
        if entry.expiry(wanted.families) > now {
            return (.success(Landing(entry: entry, source: .cached, time: now)), isUsable)
        }
        guard !entry.mayAsk(wanted.families, now) else { return (nil, isUsable) }
        let failure = ResolutionError.failed(wanted.host, entry.provenance.failures)
        let stale = Landing(entry: entry, source: entry.source(wanted.families, now), time: now)
        return (isUsable ? .success(stale) : .failure(failure), isUsable)
    }

    /// Keeps what a look-up brought, and makes the entry what is kept.
    ///
    /// - Parameter guessed: The families of which the upstream said nothing, and which the entry has as "none". What is
    ///   known of them and can be used stays.
    /// - Returns: Families that stay although their TTL is over.
    @discardableResult
    func store(
        _ wanted: Wanted,
        _ realm: Realm,
        _ entry: inout AnswerCache.Entry,
        guessed: Families = [],
        _ now: Moment
    ) -> Families {
        book.withLockedValue { book in
            if let v4 = entry.v4 { book.note(v4.addresses, of: wanted.host) }
            if let v6 = entry.v6 { book.note(v6.addresses, of: wanted.host) }
        }
        let key = AnswerCache.Key(wanted, realm)
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
            // A question for one family leaves the other as it was.
            entry.v4 = entry.v4 ?? old?.v4
            entry.v6 = entry.v6 ?? old?.v6
            entry.forceAt = old?.forceAt ?? .past
            if let old, old.failed.isDisjoint(with: wanted.families) { entry.pause(old.failed, until: old.retryAt) }
            if !stale.isEmpty { entry.pause(stale, until: now + configuration.staleRecheck) }
            entry.provenance = shard.provenances.first { $0 == entry.provenance } ?? entry.provenance
            shard.cache.store(key, entry)
            return stale
        }
    }
}

extension Answer {
    /// Whether there is nothing in it but "there is none", and nobody vouches for that.
    var isUnvouchedDenial: Bool {
        let isOfUse = { (records: Records) in !records.addresses.isEmpty || records.ttl != nil }
        return !(v4.map(isOfUse) ?? false) && !(v6.map(isOfUse) ?? false)
    }
}
