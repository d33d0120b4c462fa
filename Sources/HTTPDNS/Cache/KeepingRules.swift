// SPDX-License-Identifier: Apache-2.0

import Names

/// Determines how long answers are cached.
struct KeepingRules {
    /// See ``ResolverConfiguration`` for this and the other bounds.
    var ttlRange = Duration.zero...Duration.seconds(86_400)
    var defaultTTL = Duration.seconds(60)
    var maxNegativeTTL = Duration.seconds(300)
    var defaultNegativeTTL = Duration.seconds(5)

    /// The two parts of a cache entry for an answer to a question for `families`.
    ///
    /// If the answer has addresses of one family and no data about the other, the other is cached as "none" for at most
    /// the same time. A name with one family is therefore not looked up at each use.
    ///
    /// - Parameter arrivals: When each family arrived, if not now; its TTL counts from then.
    func kept(
        _ answer: Answer,
        asked families: Families,
        arrivals: [IPAddress.Family: Moment] = [:],
        now: Moment
    ) -> (v4: AnswerCache.Kept?, v6: AnswerCache.Kept?) {
        var partner: Duration?
        for family in families.members {
            guard case .addresses(_, let ttl) = answer[family] else { continue }
            let time = clamped(ttl ?? defaultTTL)
            partner = min(partner ?? time, time)
        }
        func part(_ family: IPAddress.Family) -> AnswerCache.Kept? {
            guard families.contains(Families(family)) else { return nil }
            let now = arrivals[family] ?? now
            switch answer[family] {
            case .addresses(let addresses, let ttl):
                return AnswerCache.Kept(
                    addresses: addresses,
                    absence: nil,
                    storedAt: now,
                    expiresAt: now + clamped(ttl ?? defaultTTL)
                )
            case .absent(let absence, let confirmed):
                let ttl = min(confirmed ?? partner ?? defaultNegativeTTL, maxNegativeTTL)
                return AnswerCache.Kept(
                    addresses: [],
                    absence: absence,
                    isConfirmed: confirmed != nil,
                    storedAt: now,
                    expiresAt: now + ttl
                )
            case nil:
                guard let partner else { return nil }
                let ttl = min(partner, defaultTTL, maxNegativeTTL)
                return AnswerCache.Kept(
                    addresses: [],
                    absence: .noRecord,
                    isConfirmed: false,
                    storedAt: now,
                    expiresAt: now + ttl
                )
            }
        }
        return (part(.v4), part(.v6))
    }

    private func clamped(_ ttl: Duration) -> Duration {
        min(max(ttl, ttlRange.lowerBound), ttlRange.upperBound)
    }
}
