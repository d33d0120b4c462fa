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
        guard flight.errand.realm.isKept else { return }
        hand(land(outcome, flight.errand, now), to: flight)
    }

    /// Hands out what is past its TTL, for the upstreams take too long (RFC 8767 §5).
    func handOutStale(_ flight: Flight, _ now: Moment) {
        guard flight.errand.realm.isKept,
            let landing = fallBack(flight.errand, [], now, isFailure: false)
        else { return }
        hand(.success(landing), to: flight)
    }

    private func hand(_ result: Result<Landing, ResolutionError>, to flight: Flight) {
        let callers = state.withLockedValue { _ in
            flight.isOwn = true
            return flight.takeCallers()
        }
        for caller in callers { caller.resume(returning: result) }
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
        guard let index = outcome.upstream, !(isDenial && atHand(errand.wanted, now).isUsable) else {
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
        store(errand.wanted, errand.realm, &entry)
        let source: Resolution.Source =
            switch upstream.kind {
            case .system: .system
            case .fixed: .fixed
            default: outcome.answer.isShared ? .cached : .fresh
            }
        return .success(Landing(entry: entry, source: source, time: now))
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
                if isFailure { entry.pause(errand.wanted.families, until: now + configuration.staleRecheck) }
                let isFresh = entry.expiry(errand.wanted.families) > now
                return Landing(entry: entry, source: isFresh ? .cached : .stale, time: now)
            }
            if let landing = kept ?? nil { return landing }
            guard isFailure else { return nil }
            var entry = AnswerCache.Entry(
                provenance: Provenance(upstream: "", kind: .service, network: errand.network, failures: failures)
            )
            // What is known of the other family stays.
            if let old = shard.cache.peek(key), old.v4 != nil || old.v6 != nil { entry = old }
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
        let stale = Landing(entry: entry, source: .stale, time: now)
        return (isUsable ? .success(stale) : .failure(failure), isUsable)
    }

    /// Keeps what a look-up brought, and makes the entry what is kept.
    func store(_ wanted: Wanted, _ realm: Realm, _ entry: inout AnswerCache.Entry) {
        book.withLockedValue { book in
            if let v4 = entry.v4 { book.note(v4.addresses, of: wanted.host) }
            if let v6 = entry.v6 { book.note(v6.addresses, of: wanted.host) }
        }
        let key = AnswerCache.Key(wanted, realm)
        shard(key.hash).withLockedValue { shard in
            let old = shard.cache.peek(key)
            // A question for one family leaves the other as it was.
            entry.v4 = entry.v4 ?? old?.v4
            entry.v6 = entry.v6 ?? old?.v6
            entry.forceAt = old?.forceAt ?? .past
            if let old, old.failed.isDisjoint(with: wanted.families) { entry.pause(old.failed, until: old.retryAt) }
            entry.provenance = shard.provenances.first { $0 == entry.provenance } ?? entry.provenance
            shard.cache.store(key, entry)
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
