// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// What the cache says of a name.
    enum Found {
        /// Within its TTL; `isDue`: in use, and soon over.
        case current(Resolution, isDue: Bool)
        /// It is known that there is no address, or that nobody could say just now.
        case absent(ResolutionError)
        /// The TTL is over; `mayAsk`: the upstreams have not just failed.
        case stale(Resolution, mayAsk: Bool)
        /// Nothing of use.
        case unknown
    }

    /// What a look-up ended with, from which each caller makes its resolution.
    struct Landing {
        var entry: AnswerCache.Entry
        var source: Resolution.Source
    }

    func shard(_ hash: Int) -> NIOLockedValueBox<Shard> {
        // The low bits choose the place in the shard.
        shards[Int(truncatingIfNeeded: UInt(bitPattern: hash) >> 48) & (shards.count - 1)]
    }

    /// Looks a name up: one lock, one hash, nothing allocated while an order of its addresses holds.
    func find(_ host: Host, _ port: UInt16, _ families: Families) -> Found {
        let now = time.now()
        let hash = AnswerCache.Key.hash(of: host.text)
        return shard(hash).withLockedValue { shard in
            shard.cache.find(AnswerCache.Key(host.text, realm: shard.realm, hash: hash)) { entry in
                judge(&entry, host, port, families, now)
            } ?? .unknown
        }
    }

    private func judge(
        _ entry: inout AnswerCache.Entry,
        _ host: Host,
        _ port: UInt16,
        _ families: Families,
        _ now: Moment
    ) -> Found {
        let expiry = entry.expiry(families)
        let source: Resolution.Source = entry.provenance.kind == .fixed ? .fixed : .cached
        if expiry > now {
            entry.uses &+= 1
            guard let resolution = resolution(&entry, source, host, port, families, now) else {
                return .absent(entry.absenceError(host, families))
            }
            let isDue = entry.uses > 2 && now >= entry.retryAt && entry.isNearlyOver(expiry, now)
            if isDue { entry.retryAt = now + configuration.failureTTL }
            return .current(resolution, isDue: isDue)
        }
        let mayAsk = entry.retryAt <= now
        if let resolution = stale(&entry, host, port, families, now) { return .stale(resolution, mayAsk: mayAsk) }
        return mayAsk ? .unknown : .absent(.failed(host, entry.provenance.failures))
    }

    /// What is left of an entry after its TTL; nil where it is too old.
    private func stale(
        _ entry: inout AnswerCache.Entry,
        _ host: Host,
        _ port: UInt16,
        _ families: Families,
        _ now: Moment
    ) -> Resolution? {
        let expiry = families.members.compactMap { entry[$0] }.filter { !$0.addresses.isEmpty }.map(\.expiresAt).min()
        guard let expiry, now < expiry + configuration.maxStale else { return nil }
        return resolution(&entry, .stale, host, port, families, now)
    }

    /// The resolution that an entry gives; nil where it has no address of the families.
    private func resolution(
        _ entry: inout AnswerCache.Entry,
        _ source: Resolution.Source,
        _ host: Host,
        _ port: UInt16,
        _ families: Families,
        _ now: Moment
    ) -> Resolution? {
        if entry.order.until <= now || entry.order.port != port || entry.order.families != families {
            let ordered = ranking.withLockedValue { ranking in
                ranking.order(
                    v4: families.contains(.v4) ? entry.v4?.addresses ?? [] : [],
                    v6: families.contains(.v6) ? entry.v6?.addresses ?? [] : [],
                    port: port,
                    now: now
                )
            }
            entry.ordered = ordered.addresses
            entry.order = AnswerCache.Order(families: families, port: port, until: ordered.until)
        }
        guard !entry.ordered.isEmpty else { return nil }
        return Resolution(
            host: host,
            addresses: entry.ordered,
            port: port,
            source: source,
            provenance: entry.provenance,
            age: now.nanoseconds - entry.storedAt(families).nanoseconds,
            ttl: entry.expiry(families).nanoseconds - now.nanoseconds
        )
    }

    /// The resolution that a look-up gives to a caller.
    func resolution(
        _ landing: Landing,
        _ host: Host,
        _ port: UInt16,
        _ families: Families
    ) throws(ResolutionError) -> Resolution {
        var entry = landing.entry
        guard let resolution = resolution(&entry, landing.source, host, port, families, time.now()) else {
            throw entry.absenceError(host, families)
        }
        return resolution
    }

    /// Keeps what a look-up brought.
    func store(_ host: Host, _ realm: UInt32, _ entry: AnswerCache.Entry) {
        book.withLockedValue { $0.note((entry.v4?.addresses ?? []) + (entry.v6?.addresses ?? []), of: host) }
        let hash = AnswerCache.Key.hash(of: host.text)
        let key = AnswerCache.Key(host.text, realm: realm, hash: hash)
        shard(hash).withLockedValue { shard in
            var entry = entry
            let old = shard.cache.peek(key)
            // A question for one family leaves the other as it was.
            entry.v4 = entry.v4 ?? old?.v4
            entry.v6 = entry.v6 ?? old?.v6
            entry.forceAt = old?.forceAt ?? .past
            entry.provenance = shard.provenances.first { $0 == entry.provenance } ?? entry.provenance
            shard.cache.store(key, entry)
        }
    }

    /// What may still be used of a name although its TTL is over and nobody has a new answer; it is then used without
    /// asking again for a while. Otherwise the failure is kept.
    func fallBack(
        _ host: Host,
        _ realm: UInt32,
        _ families: Families,
        _ failures: [ResolutionError.Failure],
        _ now: Moment
    ) -> Landing? {
        let hash = AnswerCache.Key.hash(of: host.text)
        let key = AnswerCache.Key(host.text, realm: realm, hash: hash)
        return shard(hash).withLockedValue { shard in
            let kept = shard.cache.find(key) { entry -> Landing? in
                entry.retryAt = now + configuration.failureTTL
                let isFresh = entry.expiry(families) > now
                let hasAddress = families.members.contains { family in
                    entry[family].map { !$0.addresses.isEmpty && now < $0.expiresAt + configuration.maxStale } ?? false
                }
                return hasAddress ? Landing(entry: entry, source: isFresh ? .cached : .stale) : nil
            }
            if let landing = kept ?? nil { return landing }
            var entry = AnswerCache.Entry(provenance: Provenance(upstream: "", kind: .service, failures: failures))
            entry.retryAt = now + configuration.failureTTL
            shard.cache.store(key, entry)
            return nil
        }
    }
}

extension AnswerCache.Entry {
    /// Until when the entry answers for all these families.
    func expiry(_ families: Families) -> Moment {
        var expiry = Moment.never
        if families.contains(.v4) { expiry = v4?.expiresAt ?? .past }
        if families.contains(.v6) { expiry = min(expiry, v6?.expiresAt ?? .past) }
        return expiry
    }

    /// When the older of these families was stored.
    func storedAt(_ families: Families) -> Moment {
        var stored = Moment.never
        if families.contains(.v4), let v4 { stored = v4.storedAt }
        if families.contains(.v6), let v6 { stored = min(stored, v6.storedAt) }
        return stored
    }

    /// Whether a tenth or less of the TTL is left.
    func isNearlyOver(_ expiry: Moment, _ now: Moment) -> Bool {
        let stored = storedAt(.both).nanoseconds
        return (expiry.nanoseconds - now.nanoseconds) < (expiry.nanoseconds - stored) / 10
    }

    /// The error that says that there is no address.
    func absenceError(_ host: Host, _ families: Families) -> ResolutionError {
        let hasNoName = families.members.contains { self[$0]?.absence == .noName }
        return hasNoName
            ? ResolutionError(
                .noSuchName,
                "\(host): there is no such name, says \(provenance.upstream); check its spelling",
                failures: provenance.failures
            )
            : ResolutionError(
                .noAddress,
                "\(host): the name has no \(families) address, says \(provenance.upstream)",
                failures: provenance.failures
            )
    }
}

extension ResolutionError {
    /// The error of a name for which no upstream had an answer.
    static func failed(_ host: Host, _ failures: [Failure]) -> ResolutionError {
        guard !failures.isEmpty else {
            return ResolutionError(
                .allUpstreamsFailed,
                "\(host): no upstream can be asked now; all have failed lately, or none is configured"
            )
        }
        let isBogus = failures.contains { $0.error.code == .bogusAnswer }
        let list = failures.map(\.description).joined(separator: "; ")
        return ResolutionError(
            isBogus ? .bogusAnswer : .allUpstreamsFailed,
            "\(host): no upstream has an answer that can be used: \(list)",
            failures: failures
        )
    }
}
