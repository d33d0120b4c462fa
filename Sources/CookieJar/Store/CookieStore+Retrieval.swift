// SPDX-License-Identifier: Apache-2.0

/// The retrieval model (RFC 6265bis §5.8.3).
extension CookieStore {
    /// The Cookie header field of a request (step 6). Nil if no cookie matches.
    mutating func header(for query: CookieQuery) -> [UInt8]? {
        guard count > 0 else { return nil }
        let (found, matches) = matches(for: query)
        guard let first = matches.first else { return nil }
        var header: [UInt8] = []
        header.reserveCapacity(matches.reduce(0) { $0 + $1.pairEnd - $1.place.pair })
        // Copies adjacent pairs together.
        var (domain, start, end) = (first.domain, first.place.pair, first.place.pair)
        for match in matches {
            if match.domain != domain || match.place.pair != end {
                header += domains.values[found[domain]].pairs[start..<end]
                (domain, start) = (match.domain, match.place.pair)
            }
            end = match.pairEnd
        }
        header += domains.values[found[domain]].pairs[start..<end]
        // The last pair also ends with a separator.
        header.removeLast(Cookie.separator.count)
        return header
    }

    /// The cookies that match a request, in the order of the Cookie header field.
    mutating func cookies(for query: CookieQuery) -> [Cookie] {
        let (found, matches) = matches(for: query)
        return matches.map {
            Cookie(at: $0.place, of: domains.values[found[$0.domain]], in: domains.keys[found[$0.domain]])
        }
    }

    /// The cookies that match a request in the order of step 4, and their domains. Updates their access times (step 5).
    private mutating func matches(for query: CookieQuery) -> (domains: [Domains.Index], matches: [CookieMatch]) {
        var found: [Domains.Index] = []
        found.reserveCapacity(4)
        if query.widens {
            found = Array(domains.indices)
        } else {
            let partition = partitionedCount > 0 ? query.context.partition(for: query.url) : nil
            query.request.forEachDomain { domain in
                if let place = domains.index(forKey: DomainKey(domain: domain, partition: nil)) { found.append(place) }
                guard let partition else { return }
                if let place = domains.index(forKey: DomainKey(domain: domain, partition: partition)) {
                    found.append(place)
                }
            }
        }
        var matches: [CookieMatch] = []
        matches.reserveCapacity(found.reduce(0) { $0 + domains.values[$1].cookies.count })
        for (number, place) in found.enumerated() {
            domains.values[place].collect(query, key: domains.keys[place], number: number, into: &matches)
        }
        // The cookies of one domain are already in order.
        if found.count > 1 { matches.sort { $0.order < $1.order } }
        return (found, matches)
    }
}
