// SPDX-License-Identifier: Apache-2.0

import Names

extension CachedAnswers {
    /// Adds an answer of a store. Skips answers that are more than ``ResolverConfiguration/Cache/maxStale`` past their
    /// TTL, and names that are already cached, because the cached answers are newer. Also skips answers of upstreams
    /// that are not configured, and names that are not for the upstreams now.
    ///
    /// - Parameters:
    ///   - policy: The name policy now, with the rules of the remote switch.
    ///   - wall: Seconds since 1970.
    mutating func restore(
        _ answer: StoredAnswer,
        policy: NamePolicy,
        scopes: inout CacheScopeTable,
        wall: Int64,
        now: Moment
    ) {
        guard let name = answer.name.split(separator: "/").first, let host = try? Host(name),
            upstreams.dropLast().contains(where: { $0.name == answer.upstream && $0.kind == .service }),
            policy.isForUpstreams(host),
            let scope = scopes.scope(for: answer.network)
        else { return }
        var entry = AnswerCache.Entry(
            provenance: Provenance(upstream: answer.upstream, kind: .service, network: answer.network)
        )
        let longest = configuration.cache.ttlRange(of: host).upperBound
        let check = configuration.check
        entry.v4 = answer.v4?.kept(.v4, check: check, longest: longest, wall: wall, now: now)
        entry.v6 = answer.v6?.kept(.v6, check: check, longest: longest, wall: wall, now: now)
        guard entry.isUsable(for: .both, now: now, maxStale: rules.maxStale) else { return }
        let key = AnswerCache.Key(answer.name, scope: scope, hash: AnswerCache.Key.hash(of: answer.name))
        let old = cache.peek(key)
        // The records of a name may have arrived before the store was read.
        guard old?.v4 == nil, old?.v6 == nil else { return }
        entry.services = old?.services
        cache.store(entry, for: key)
    }
}

extension StoredAnswer {
    /// An entry of the cache as a stored answer; nil if it is not from a service or can no longer be used.
    init?(
        _ entry: AnswerCache.Entry,
        name: String,
        network: String,
        maxStale: Duration,
        wall: Int64,
        now: Moment
    ) {
        // Answers of the system and of tables are not stored.
        guard entry.provenance.kind == .service, entry.isUsable(for: .both, now: now, maxStale: maxStale)
        else { return nil }
        self.init(
            name: name,
            network: network,
            upstream: entry.provenance.upstream,
            v4: entry.v4.map { Part($0, wall: wall, now: now) },
            v6: entry.v6.map { Part($0, wall: wall, now: now) }
        )
    }
}

extension StoredAnswer.Part {
    fileprivate init(_ kept: AnswerCache.Part, wall: Int64, now: Moment) {
        let seconds = { (moment: Moment) in wall + (moment - now).nanoseconds / 1_000_000_000 }
        self.init(
            addresses: kept.addresses.map(\.description),
            storedAt: seconds(kept.storedAt),
            expiresAt: seconds(kept.expiresAt)
        )
    }

    /// The part as it is cached; nil if it is damaged or fails the checks.
    fileprivate func kept(
        _ family: IPAddress.Family,
        check: AnswerCheck,
        longest: Duration,
        wall: Int64,
        now: Moment
    ) -> AnswerCache.Part? {
        // An answer from the future was written under a wrong clock; its age is unknown.
        guard storedAt <= wall + 60, expiresAt >= storedAt else { return nil }
        // A damaged file may hold any number.
        let (age, isDamaged) = wall.subtractingReportingOverflow(storedAt)
        let (left, isEndDamaged) = expiresAt.subtractingReportingOverflow(wall)
        guard !isDamaged, !isEndDamaged else { return nil }
        var answer = Answer()
        answer[family] = .addresses(addresses.compactMap { IPAddress($0) }, ttl: nil)
        guard let checked = try? check.checked(answer)[family] else { return nil }
        return AnswerCache.Part(
            addresses: checked.addresses,
            absence: checked.addresses.isEmpty ? .noRecord : nil,
            // The store does not say whether an upstream confirmed it.
            isConfirmed: !checked.addresses.isEmpty,
            storedAt: now + .seconds(-age),
            expiresAt: min(now + .seconds(left), now + longest)
        )
    }
}
