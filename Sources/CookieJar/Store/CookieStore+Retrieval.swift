// SPDX-License-Identifier: Apache-2.0

import Names

/// The retrieval model (RFC 6265bis §5.8.3).
extension CookieStore {
    /// Calls `body` with the cookies that a request gets, in the order of the Cookie header.
    ///
    /// Nothing is allocated where they are few, and nothing in the store changes but the times of last access.
    @inline(__always)
    func withMatches<Result>(
        for url: HTTPURL,
        context: CookieContext,
        now: CookieTime,
        _ body: (borrowing CookieMatches) -> Result
    ) -> Result {
        CookieRequest.with(url) { request in
            CookieMatches.with { matches in
                let nowhere = Octets(start: nil, count: 0)
                collect(request, context, partition: nowhere, now: now, into: &matches)
                if partitionedCount > 0 {
                    context.withPartition(true, of: url) { partition in
                        collect(request, context, partition: partition, now: now, into: &matches)
                    }
                }
                return body(matches)
            }
        }
    }

    @inline(__always)
    private func collect(
        _ request: CookieRequest,
        _ context: CookieContext,
        partition: Octets,
        now: CookieTime,
        into matches: inout CookieMatches
    ) {
        // Step 3, the parts that are the same for all cookies.
        var excluded: CookieRecord.Flags = []
        if !request.isSecure { excluded.insert(.secure) }
        if context.api == .dom { excluded.insert(.httpOnly) }
        let isSameSite = context.site == .same
        table.forEachBucket(of: request.host, isAddress: request.isAddress, partition: partition) { bucket, isHost in
            let excluded = isHost ? excluded : excluded.union(.hostOnly)
            let records = bucket.records
            let texts = bucket.texts
            let start = matches.count
            // Cookies of one path stand together, so a path is seldom compared twice.
            var path = UInt32.max
            var matchesPath = false
            for index in 0..<bucket.count {
                let record = records + index
                guard record.pointee.flags.isDisjoint(with: excluded), record.pointee.expires > now.microseconds,
                    isSameSite || context.sends(record.pointee.flags.sameSite)
                else { continue }
                if record.pointee.path != path {
                    path = record.pointee.path
                    matchesPath = PathMatch.matches(request.path, cookiePath: bucket.path(record.pointee))
                }
                guard matchesPath else { continue }
                // Step 5.
                CookieRecord.access(record, at: now.microseconds)
                matches.append(CookieMatches.Element(record: record, texts: texts, bucket: bucket))
            }
            // Step 4: each bucket is in order already.
            matches.merge(from: start)
        }
    }
}
