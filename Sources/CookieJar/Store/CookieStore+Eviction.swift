// SPDX-License-Identifier: Apache-2.0

/// The eviction of excess cookies (RFC 6265bis §5.7, after step 24).
extension CookieStore {
    /// A candidate for eviction. The smallest is evicted first.
    private struct Candidate: Comparable {
        /// 0: expired, 1: not Secure, 2: Secure. When the whole jar is full, 1 and 2 apply to crowded sites and 3 to all others.
        let priority: Int
        let accessed: CookieTime
        let sequence: UInt64
        let key: DomainKey

        static func < (left: Candidate, right: Candidate) -> Bool {
            (left.priority, left.accessed, left.sequence) < (right.priority, right.accessed, right.sequence)
        }
    }

    /// Enforces the limits after a cookie was added.
    ///
    /// - Parameter crowded: The domain of the cookie, if it has more cookies than allowed.
    /// - Returns: Whether the added cookie is still in the store.
    mutating func evictExcess(of crowded: DomainKey?, stored sequence: UInt64, now: CookieTime) -> Bool {
        var isKept = true
        if let key = crowded, let cookies = domains[key]?.cookies {
            let excess = cookies.count - configuration.maxCookiesPerDomain
            for candidate in candidates(in: key, cookies, now: now, isCrowded: true).sorted().prefix(excess) {
                isKept = isKept && candidate.sequence != sequence
                remove(candidate)
            }
        }
        guard count - configuration.maxCookies > configuration.maxCookies / 10 else { return isKept }
        let all = candidatesOfAllDomains(now: now)
        for candidate in all.sorted().prefix(count - configuration.maxCookies) {
            isKept = isKept && candidate.sequence != sequence
            remove(candidate)
        }
        return isKept
    }

    /// The candidates of all domains. A domain is crowded if its registrable domain has too many cookies in all partitions, so
    /// that a site with many hosts cannot displace the other sites.
    private func candidatesOfAllDomains(now: CookieTime) -> [Candidate] {
        var counts: [String: Int] = [:]
        for (site, names) in domainsBySite {
            for name in names {
                let key = DomainKey(domain: name, partition: site.partition)
                counts[site.domain, default: 0] += domains[key]?.cookies.count ?? 0
            }
        }
        return domainsBySite.flatMap { site, names in
            let isCrowded = counts[site.domain, default: 0] > configuration.crowdedDomainCount
            return names.flatMap { name in
                let key = DomainKey(domain: name, partition: site.partition)
                return candidates(in: key, domains[key]?.cookies ?? [], now: now, isCrowded: isCrowded)
            }
        }
    }

    private func candidates(
        in key: DomainKey,
        _ cookies: [StoredCookie],
        now: CookieTime,
        isCrowded: Bool
    ) -> [Candidate] {
        cookies.map { cookie in
            let priority = cookie.isExpired(at: now) ? 0 : !isCrowded ? 3 : cookie.isSecure ? 2 : 1
            // A clock that was ahead for a while must not protect the cookies that were used at that time.
            let accessed = min(cookie.accessed, now)
            return Candidate(priority: priority, accessed: accessed, sequence: cookie.sequence, key: key)
        }
    }

    private mutating func remove(_ candidate: Candidate) {
        guard let domain = domains.index(forKey: candidate.key),
            let place = domains.values[domain].firstPlace(where: { cookie, _ in cookie.sequence == candidate.sequence })
        else { return }
        if candidate.priority != 0 { evicted?.insert(candidate.sequence) }
        remove(Place(domain: domain, place: place), cause: candidate.priority == 0 ? .expired : .evicted)
    }
}
