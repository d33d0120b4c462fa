// SPDX-License-Identifier: Apache-2.0

/// Removing excess cookies (RFC 6265bis §5.7, after step 24).
extension CookieStore {
    /// A cookie that may have to go. The first to go is the smallest.
    private struct Candidate: Comparable {
        /// 0 expired, 1 not Secure, 2 Secure; in a full jar 1 and 2 are for crowded domains, and 3 is the rest.
        let priority: Int
        let accessed: UInt32
        let sequence: UInt64
        let bucket: Int

        static func < (left: Candidate, right: Candidate) -> Bool {
            (left.priority, left.accessed, left.sequence) < (right.priority, right.accessed, right.sequence)
        }
    }

    /// Keeps the bounds after a cookie was added to a bucket.
    ///
    /// - Returns: Whether the cookie added is still there.
    mutating func evictExcess(of number: Int, stored sequence: UInt64, now: CookieTime) -> Bool {
        var isKept = true
        while let bucket = table.buckets[number], bucket.count > configuration.maximumCookiesPerDomain,
            let candidate = candidates(of: number, now: now, isCrowded: true).min()
        {
            isKept = isKept && candidate.sequence != sequence
            remove(candidate, now: now)
        }
        let slack = configuration.maximumCookies / 10
        if count > configuration.maximumCookies + slack {
            var all: [Candidate] = []
            for number in table.buckets.indices {
                let isCrowded = table.buckets[number].map { $0.count > configuration.crowdedDomainCount } ?? false
                all += candidates(of: number, now: now, isCrowded: isCrowded)
            }
            for candidate in all.sorted().prefix(count - configuration.maximumCookies) {
                isKept = isKept && candidate.sequence != sequence
                remove(candidate, now: now)
            }
        }
        return isKept
    }

    private func candidates(of number: Int, now: CookieTime, isCrowded: Bool) -> [Candidate] {
        guard let bucket = table.buckets[number] else { return [] }
        return (0..<bucket.count).map { index in
            let record = bucket.records[index]
            let priority =
                record.isExpired(at: now.microseconds)
                ? 0 : !isCrowded ? 3 : record.flags.contains(.secure) ? 2 : 1
            return Candidate(
                priority: priority,
                accessed: record.accessed,
                sequence: bucket.births[index].sequence,
                bucket: number
            )
        }
    }

    private mutating func remove(_ candidate: Candidate, now: CookieTime) {
        guard let bucket = table.buckets[candidate.bucket],
            let index = (0..<bucket.count).first(where: { bucket.births[$0].sequence == candidate.sequence })
        else { return }
        remove(index, of: candidate.bucket, cause: candidate.priority == 0 ? .expired : .evicted)
        table.removeIfEmpty(candidate.bucket)
    }

    /// Takes out what has expired. Each look-up passes over expired cookies; this gives their memory back.
    mutating func removeExpired(at now: CookieTime) {
        _ = remove(cause: .expired) { $0.records[$1].isExpired(at: now.microseconds) }
    }
}
