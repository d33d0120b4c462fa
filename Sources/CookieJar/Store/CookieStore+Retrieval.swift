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
                    matches.removeAll { !filter.matches(Cookie(at: $0.index, of: $0.bucket), url) }
                }
                matches.finish(at: now)
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
        table.withBuckets(of: request.host, isAddress: request.isAddress, partition: partition) { found in
            PathPrefixes.with(request.path) { paths in
                for found in found {
                    let middle = matches.count
                    let excluded = found.isOfHostItself ? excluded : excluded.union(.hostOnly)
                    matches.append(found.bucket, without: excluded, after: now.microseconds, paths)
                    matches.verifyPaths(from: middle, request.path)
                    // Step 4: each bucket is in order already.
                    matches.merge(from: middle)
                }
            }
        }
    }

    /// All cookies that have not expired, for a filter that widens.
    private func collectAll(now: CookieTime, into matches: inout CookieMatches) {
        for case let bucket? in table.buckets { matches.append(bucket, without: [], after: now.microseconds) }
        matches.sort()
    }
}
