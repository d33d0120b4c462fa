// SPDX-License-Identifier: Apache-2.0

package import Names

/// How long answers are cached.
extension ResolverConfiguration.Cache {
    /// The bounds for how long an answer for a name is cached.
    package func ttlRange(of host: Host) -> ClosedRange<Duration> { ttlOverrides[host] ?? ttlRange }

    /// The two parts of a cache entry for an answer to a question for `families` of a host.
    ///
    /// If the answer has addresses of one family and no data about the other, the other is cached as "none" for at most
    /// the same time. A name with one family is therefore not looked up at each use.
    ///
    /// - Parameter arrivals: When each family arrived, if not now; its TTL counts from then.
    func kept(
        _ answer: Answer,
        of host: Host,
        asked families: Families,
        arrivals: [IPAddress.Family: Moment] = [:],
        now: Moment
    ) -> (v4: AnswerCache.Kept?, v6: AnswerCache.Kept?) {
        let range = ttlRange(of: host)
        let clamped = { (ttl: Duration) in min(max(ttl, range.lowerBound), range.upperBound) }
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

    /// How long the outcome of a lookup of HTTPS records of a host is cached.
    ///
    /// Most names have no records. Their absence is kept for at least 30 s, so that a negative TTL of 0 does not make
    /// each connection ask.
    func time(of outcome: ServiceSchedule.Outcome, for host: Host) -> Duration {
        if outcome.records.isEmpty, outcome.routes.isEmpty {
            return max(min(outcome.ttl ?? defaultNegativeTTL, maxNegativeTTL), .seconds(30))
        }
        let range = ttlRange(of: host)
        return min(max(outcome.ttl ?? defaultTTL, range.lowerBound), range.upperBound)
    }
}
