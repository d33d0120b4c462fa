// SPDX-License-Identifier: Apache-2.0

/// Removing excess cookies (RFC 6265bis §5.7, after step 24).
extension CookieStore {
    /// A cookie that may have to go. The smallest goes first.
    private struct Candidate: Comparable {
        /// 0 expired, 1 not Secure, 2 Secure; in a full jar 1 and 2 are for crowded domains, and 3 is the rest.
        let priority: Int
        let accessed: CookieTime
        let sequence: UInt64
        let key: DomainKey

        static func < (left: Candidate, right: Candidate) -> Bool {
            (left.priority, left.accessed, left.sequence) < (right.priority, right.accessed, right.sequence)
        }
    }

    /// Keeps the bounds after a cookie was added.
    ///
    /// - Parameter crowded: A domain with more cookies than one may have.
    /// - Returns: Whether the added cookie is still there.
    mutating func evictExcess(of crowded: DomainKey?, stored sequence: UInt64, now: CookieTime) -> Bool {
        var isKept = true
        if let key = crowded, let cookies = domains[key]?.cookies {
            let excess = cookies.count - configuration.maximumCookiesPerDomain
            for candidate in candidates(in: key, cookies, now: now, isCrowded: true).sorted().prefix(excess) {
                isKept = isKept && candidate.sequence != sequence
                remove(candidate)
            }
        }
        guard count - configuration.maximumCookies > configuration.maximumCookies / 10 else { return isKept }
        let all = domains.flatMap { key, cookies in
            candidates(
                in: key,
                cookies.cookies,
                now: now,
                isCrowded: cookies.cookies.count > configuration.crowdedDomainCount
            )
        }
        for candidate in all.sorted().prefix(count - configuration.maximumCookies) {
            isKept = isKept && candidate.sequence != sequence
            remove(candidate)
        }
        return isKept
    }

    private func candidates(
        in key: DomainKey,
        _ cookies: [StoredCookie],
        now: CookieTime,
        isCrowded: Bool
    ) -> [Candidate] {
        cookies.map { cookie in
            let priority = cookie.isExpired(at: now) ? 0 : !isCrowded ? 3 : cookie.isSecure ? 2 : 1
            return Candidate(priority: priority, accessed: cookie.accessed, sequence: cookie.sequence, key: key)
        }
    }

    private mutating func remove(_ candidate: Candidate) {
        guard let domain = domains.index(forKey: candidate.key),
            let place = domains.values[domain].firstPlace(where: { cookie, _ in cookie.sequence == candidate.sequence })
        else { return }
        remove(Place(domain: domain, place: place), cause: candidate.priority == 0 ? .expired : .evicted)
    }
}
