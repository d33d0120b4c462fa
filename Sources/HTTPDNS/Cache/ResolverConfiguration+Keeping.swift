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
    ) -> (v4: AnswerCache.Part?, v6: AnswerCache.Part?) {
        let range = ttlRange(of: host)
        let clamped = { (ttl: Duration) in min(max(ttl, range.lowerBound), range.upperBound) }
        var partner: Duration?
        for family in families.members {
            guard case .addresses(_, let ttl) = answer[family] else { continue }
            let time = clamped(ttl ?? defaultTTL)
            partner = min(partner ?? time, time)
        }
        func part(_ family: IPAddress.Family) -> AnswerCache.Part? {
            guard families.contains(Families(family)) else { return nil }
            let arrival = arrivals[family] ?? now
            var part = AnswerCache.Part(storedAt: arrival, expiresAt: arrival)
            switch answer[family] {
            case .addresses(let addresses, let ttl):
                part.addresses = addresses
                part.expiresAt = arrival + clamped(ttl ?? defaultTTL)
            case .absent(let absence, let ttl):
                (part.absence, part.isConfirmed) = (absence, ttl != nil)
                part.expiresAt = arrival + min(ttl ?? partner ?? defaultNegativeTTL, maxNegativeTTL)
            case nil:
                guard let partner else { return nil }
                (part.absence, part.isConfirmed) = (.noRecord, false)
                part.expiresAt = arrival + min(partner, defaultTTL, maxNegativeTTL)
            }
            return part
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
