// SPDX-License-Identifier: Apache-2.0

import Names

/// The retrieval model (RFC 6265bis §5.8.3).
extension CookieStore {
    /// Calls `body` with the cookies that a request gets, in the order of the Cookie header.
    ///
    /// Nothing is allocated where they are few, and nothing in the store changes but the times of last access. The time is asked
    /// for once at the most, while memory is on its way.
    func withMatches<Result>(
        for url: HTTPURL,
        context: CookieContext,
        onAnyConnection: Bool = false,
        now clock: () -> CookieTime,
        _ body: (borrowing CookieMatches) -> Result
    ) -> Result {
        CookieRequest.with(url) { request in
            CookieMatches.with { matches in
                var request = request
                var time: CookieTime?
                request.isSecure = request.isSecure || onAnyConnection
                if let filter = configuration.matchFilter, filter.widens {
                    collectAll(now: Self.time(&time, clock), into: &matches)
                } else {
                    collect(request, context, partition: Octets(start: nil, count: 0), at: &time, clock, into: &matches)
                    if partitionedCount > 0 {
                        context.withPartition(true, of: url) { partition in
                            collect(request, context, partition: partition, at: &time, clock, into: &matches)
                        }
                    }
                }
                if let filter = configuration.matchFilter {
                    matches.removeAll { !filter.matches(Cookie(at: $0.index, of: $0.bucket), url) }
                }
                if matches.count > 0 { matches.finish(at: Self.time(&time, clock)) }
                return body(matches)
            }
        }
    }

    /// The time, which is asked for when it is first needed.
    @inline(__always)
    private static func time(_ asked: inout CookieTime?, _ clock: () -> CookieTime) -> CookieTime {
        let time = asked ?? clock()
        asked = time
        return time
    }

    @inline(__always)
    private func collect(
        _ request: CookieRequest,
        _ context: CookieContext,
        partition: Octets,
        at time: inout CookieTime?,
        _ clock: () -> CookieTime,
        into matches: inout CookieMatches
    ) {
        // Step 3: what excludes a cookie, whichever it is.
        var excluded: CookieRecord.Flags = []
        if !request.isSecure { excluded.insert(.secure) }
        if context.api == .dom { excluded.insert(.httpOnly) }
        if context.site != .same {
            for sameSite in Cookie.SameSite.allCases where !context.sends(sameSite) { excluded.insert(.init(sameSite)) }
        }
        table.withDomains(of: request.host, isAddress: request.isAddress, partition: partition) { domains in
            let known = table.known(domains)
            guard !known.isEmpty else { return }
            // What needs no memory that is on its way.
            PathPrefixes.with(request.path) { paths in
                let now = Self.time(&time, clock)
                for domain in known {
                    guard let bucket = table.bucket(of: domain, in: request.host, partition) else { continue }
                    let middle = matches.count
                    let excluded = domain.isHost ? excluded : excluded.union(.hostOnly)
                    matches.append(bucket, without: excluded, after: now.microseconds, paths)
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
