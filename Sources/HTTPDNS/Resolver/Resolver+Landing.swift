// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// The result of a look-up, from which each caller makes its resolution.
    ///
    /// A class, because the value is large and is passed to every caller.
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

    /// Delivers the family that has arrived; the look-up continues for the cache.
    func deliver(_ outcome: Inquiry.Outcome, _ flight: Flight, _ now: Moment) {
        // Another thread may have ended the look-up with the whole answer.
        guard flight.errand.realm.isKept, !state.withLockedValue({ _ in flight.isOver }) else { return }
        let result = land(outcome, flight.errand, now)
        let callers = state.withLockedValue { _ in
            flight.isOwn = true
            return flight.takeCallers()
        }
        for caller in callers { caller.resume(returning: result) }
    }

    /// Delivers a stale answer to callers that have waited ``ResolverConfiguration/staleAnswerDelay`` for a new one
    /// (RFC 8767 §5).
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
        // Store in the cache before removing from the table, so that a new caller finds one of the two.
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

    /// Whether the cache has a usable address, possibly past its TTL.
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

    /// The cached answer that may be used past its TTL because no upstream has a new one; nil if there is none.
    ///
    /// After a failure, the answer is used for ``ResolverConfiguration/staleRecheck`` before the upstreams are asked
    /// again. If there is no answer, the failure is cached.
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
                    // The pause ends with the usable answer: after that, callers would only get the old failure.
                    let end = entry.usableUntil(errand.wanted.families, maxStale: configuration.maxStale)
                    let pause = max(now + configuration.failureTTL, min(now + configuration.staleRecheck, end))
                    entry.pause(errand.wanted.families, until: pause)
                }
                return Landing(entry: entry, source: entry.source(errand.wanted.families, now), time: now)
            }
            if let landing = kept ?? nil { return landing }
            // If all questions failed because too many were under way, no upstream was asked, so the failure says
            // nothing about the name.
            guard isFailure, failures.isEmpty || failures.contains(where: { $0.error.code != .busy }) else {
                return nil
            }
            var entry = AnswerCache.Entry(
                provenance: Provenance(upstream: "", kind: .service, network: errand.network, failures: failures)
            )
            // Keep what is known of the other family.
            if let old = shard.cache.peek(key), old.v4 != nil || old.v6 != nil {
                entry = old
                entry.provenance = old.provenance.with(failures)
            }
            entry.pause(errand.wanted.families, until: now + configuration.failureTTL)
            shard.cache.store(key, entry)
            return nil
        }
    }

    /// The cached result of a look-up that has just ended, or of an earlier one.
    ///
    /// - Returns: The result for a caller without asking, if any; and whether there is an address to fall back on if
    ///   the upstreams take too long.
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

    /// Stores the result of a look-up, and updates `entry` to the stored one.
    ///
    /// - Parameter guessed: The families that the upstream did not mention and that the entry has as "none". A usable
    ///   cached answer for them is kept.
    /// - Returns: The families whose cached answer is kept although its TTL is over.
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
            // A question for one family leaves the other unchanged.
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
    /// Whether the answer only denies records, without an SOA that confirms it (RFC 2308 §5).
    var isUnvouchedDenial: Bool {
        let isOfUse = { (records: Records) in !records.addresses.isEmpty || records.ttl != nil }
        return !(v4.map(isOfUse) ?? false) && !(v6.map(isOfUse) ?? false)
    }
}
