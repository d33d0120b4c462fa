// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// Reads the store's answers into the cache. Skips answers that are more than ``ResolverConfiguration/maxStale``
    /// past their TTL, and names that are already cached, because those are newer. ``run()`` calls it at its start.
    public func restore() async {
        guard let store = configuration.store else { return }
        guard let answers = try? await store.load() else {
            return state.withLockedValue { if let failed = $0.failedRestores { $0.failedRestores = failed + 1 } }
        }
        state.withLockedValue { $0.failedRestores = nil }
        let wall = time.wall()
        let now = time.now()
        for answer in answers.prefix(configuration.maxCachedNames) { restore(answer, wall, now) }
    }

    /// Failed reads after which a store is overwritten.
    private static let maxRestores = 5

    /// Writes the answers of services to the store. ``run()`` calls it every ``ResolverConfiguration/storeInterval``
    /// and at its end.
    public func save() async {
        guard let store = configuration.store else { return }
        // A store that is temporarily unreadable must not be replaced by the few names of this run; a damaged one must.
        if state.withLockedValue({ $0.failedRestores }) != nil {
            await restore()
            if let failed = state.withLockedValue({ $0.failedRestores }), failed < Self.maxRestores { return }
        }
        let wall = time.wall()
        let now = time.now()
        let networks = state.withLockedValue { state in
            Dictionary(state.realms.all.map { ($0.realm, $0.id) }, uniquingKeysWith: { first, _ in first })
        }
        var answers: [StoredAnswer] = []
        for shard in shards {
            for (key, entry) in shard.withLockedValue({ $0.cache.all() }) {
                // Answers of the system and of tables are not stored.
                guard let network = networks[key.realm], entry.provenance.kind == .service,
                    entry.isUsable(.both, now, maxStale: configuration.maxStale)
                else { continue }
                answers.append(
                    StoredAnswer(
                        name: key.name,
                        network: network,
                        upstream: entry.provenance.upstream,
                        v4: entry.v4.map { Self.stored($0, wall, now) },
                        v6: entry.v6.map { Self.stored($0, wall, now) }
                    )
                )
            }
        }
        try? await store.save(answers)
    }

    private static func stored(_ kept: AnswerCache.Kept, _ wall: Int64, _ now: Moment) -> StoredAnswer.Part {
        let seconds = { (moment: Moment) in wall + (moment - now).nanoseconds / 1_000_000_000 }
        return StoredAnswer.Part(
            addresses: kept.addresses.map(\.description),
            storedAt: seconds(kept.storedAt),
            expiresAt: seconds(kept.expiresAt)
        )
    }

    private func restore(_ answer: StoredAnswer, _ wall: Int64, _ now: Moment) {
        // Skip answers of upstreams that are not configured, and names that are not for the upstreams now.
        guard let name = answer.name.split(separator: "/").first, let host = try? Host(name),
            configuration.upstreams.contains(where: { $0.name == answer.upstream && $0.kind == .service }),
            configuration.names.isForUpstreams(host),
            let realm = state.withLockedValue({ $0.realms.realm(for: answer.network) })
        else { return }
        var entry = AnswerCache.Entry(
            provenance: Provenance(upstream: answer.upstream, kind: .service, network: answer.network)
        )
        let longest = configuration.keepingRules(for: host).ttlRange.upperBound
        entry.v4 = kept(answer.v4, .v4, longest, wall, now)
        entry.v6 = kept(answer.v6, .v6, longest, wall, now)
        guard entry.isUsable(.both, now, maxStale: configuration.maxStale) else { return }
        let hash = AnswerCache.Key.hash(of: answer.name)
        let key = AnswerCache.Key(answer.name, realm: realm, hash: hash)
        shard(hash).withLockedValue { shard in
            if shard.cache.peek(key) == nil { shard.cache.store(key, entry) }
        }
    }

    private func kept(
        _ part: StoredAnswer.Part?,
        _ family: IPAddress.Family,
        _ longest: Duration,
        _ wall: Int64,
        _ now: Moment
    ) -> AnswerCache.Kept? {
        // An answer from the future was written under a wrong clock; its age is unknown.
        guard let part, part.storedAt <= wall + 60, part.expiresAt >= part.storedAt else { return nil }
        // A damaged file may hold any number.
        let (age, isDamaged) = wall.subtractingReportingOverflow(part.storedAt)
        let (left, isEndDamaged) = part.expiresAt.subtractingReportingOverflow(wall)
        guard !isDamaged, !isEndDamaged else { return nil }
        let addresses = part.addresses.compactMap { IPAddress($0) }
        var answer = Answer()
        answer[family] = .addresses(addresses, ttl: nil)
        guard let checked = try? configuration.check.checked(answer)[family] else { return nil }
        return AnswerCache.Kept(
            addresses: checked.addresses,
            absence: checked.addresses.isEmpty ? .noRecord : nil,
            storedAt: now + .seconds(-age),
            expiresAt: min(now + .seconds(left), now + longest)
        )
    }
}
