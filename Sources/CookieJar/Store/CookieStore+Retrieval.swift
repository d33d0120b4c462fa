// SPDX-License-Identifier: Apache-2.0

import Names

/// The retrieval model (RFC 6265bis §5.8.3).
extension CookieStore {
    /// Calls `body` with the cookies that a request gets, in the order of the Cookie header.
    ///
    /// Nothing is allocated where they are few, and nothing in the store changes but the times of last access.
    func withMatches<Result>(
        for url: HTTPURL,
        context: CookieContext,
        now: CookieTime,
        onAnyConnection: Bool = false,
        _ body: (borrowing CookieMatches) -> Result
    ) -> Result {
        CookieRequest.with(url) { request in
            CookieMatches.with { matches in
                var request = request
                request.isSecure = request.isSecure || onAnyConnection
                if let filter = configuration.matchFilter, filter.widens {
                    collectAll(now: now, into: &matches)
                } else {
                    collect(request, context, partition: Octets(start: nil, count: 0), now: now, into: &matches)
                    if partitionedCount > 0 {
                        context.withPartition(true, of: url) { partition in
                            collect(request, context, partition: partition, now: now, into: &matches)
                        }
                    }
                }
                if let filter = configuration.matchFilter {
                    matches.removeAll(from: 0) { !filter.matches(Cookie($0, in: $1), url) }
                }
                // Step 5.
                let seconds = CookieRecord.seconds(now)
                for index in 0..<matches.count { CookieRecord.access(matches[index].record, at: seconds) }
                return body(matches)
            }
        }
    }

    private func collect(
        _ request: CookieRequest,
        _ context: CookieContext,
        partition: Octets,
        now: CookieTime,
        into matches: inout CookieMatches
    ) {
        // Step 3: what excludes a cookie, whichever it is.
        var excluded: CookieRecord.Flags = []
        if !request.isSecure { excluded.insert(.secure) }
        if context.api == .dom { excluded.insert(.httpOnly) }
        if context.site != .same {
            for sameSite in Cookie.SameSite.allCases where !context.sends(sameSite) { excluded.insert(.init(sameSite)) }
        }
        PathPrefixes.with(request.path) { prefixes in
            table.forEachBucket(of: request.host, isAddress: request.isAddress, partition: partition) {
                bucket,
                isHost in
                let excluded = isHost ? excluded : excluded.union(.hostOnly)
                let middle = matches.count
                var record = bucket.records
                for _ in 0..<bucket.count {
                    // One condition without branches, for which cookies match cannot be foreseen.
                    let isExcluded = record.pointee.flags.rawValue & excluded.rawValue
                    let isWanted =
                        isExcluded == 0 && record.pointee.expires > now.microseconds
                        && prefixes.mayContain(record.pointee)
                    matches.append(record, of: bucket, if: isWanted)
                    record += 1
                }
                matches.removeAll(from: middle) { !PathMatch.matches(request.path, cookiePath: $1.path($0)) }
                // Step 4: each bucket is in order already.
                matches.merge(from: middle)
            }
        }
    }

    /// All cookies that have not expired, for a filter that widens.
    private func collectAll(now: CookieTime, into matches: inout CookieMatches) {
        for case let bucket? in table.buckets {
            for index in 0..<bucket.count {
                let record = bucket.records + index
                matches.append(record, of: bucket, if: !record.pointee.isExpired(at: now.microseconds))
            }
        }
        matches.sort()
    }
}
