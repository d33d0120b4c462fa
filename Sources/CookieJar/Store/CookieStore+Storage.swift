// SPDX-License-Identifier: Apache-2.0

import Names

/// The storage model (RFC 6265bis §5.7).
extension CookieStore {
    /// Stores what one Set-Cookie header field of a response from `url` says.
    mutating func store(
        _ field: Octets,
        from url: HTTPURL,
        context: CookieContext,
        now: CookieTime
    ) -> CookieOutcome {
        let parsed: ParsedSetCookie
        do throws(CookieRejection) {
            parsed = try SetCookieParser(ageLimit: configuration.maximumAge.components.seconds, now: now).parse(field)
        } catch {
            return .rejected(error)
        }
        return CookieRequest.with(url) { request in
            field.part(parsed.domain).withLowercased { domain in
                context.withPartition(parsed.isPartitioned, of: url) { partition in
                    do throws(CookieRejection) {
                        let cookie = try ReceivedCookie(
                            parsed,
                            of: field,
                            domain: domain,
                            request: request,
                            context: context,
                            acceptsInsecureNone: configuration.acceptsInsecureSameSiteNone
                        )
                        try checkPolicy(cookie, partition, from: url, context: context, now: now)
                        // Step 16.
                        if !request.isSecure, !cookie.isSecure, overlaysSecureCookie(cookie, partition, now) {
                            throw .overlaysSecureCookie
                        }
                        return try insert(cookie, partition: partition, api: context.api, now: now)
                    } catch {
                        return .rejected(error)
                    }
                }
            }
        }
    }

    /// Steps 23 and 24: the cookie takes the place of the one with its name, domain, host-only flag and path.
    mutating func insert(
        _ cookie: ReceivedCookie,
        partition: Octets,
        api: CookieContext.API,
        now: CookieTime
    ) throws(CookieRejection) -> CookieOutcome {
        let isExpired = cookie.expires.map { $0 <= now } ?? false
        if let number = table.find(cookie.domain, partition), let bucket = table.buckets[number],
            let index = bucket.find(name: cookie.name, path: cookie.path, isHostOnly: cookie.isHostOnly)
        {
            let old = bucket.records[index]
            if old.isExpired(at: now.microseconds) {
                remove(index, of: number, cause: .expired)
            } else {
                guard api == .http || !old.flags.contains(.httpOnly) else { throw .overwritesHTTPOnly }
                if isExpired {
                    remove(index, of: number, cause: .overwritten)
                    table.removeIfEmpty(number)
                    return .deleted
                }
                replace(index, of: number, by: cookie, now: now)
                return .replaced
            }
        }
        guard !isExpired else { return .deleted }
        return add(cookie, partition: partition, now: now)
    }

    private mutating func replace(_ index: Int, of number: Int, by cookie: ReceivedCookie, now: CookieTime) {
        _ = table.withBucket(number) { bucket, arena in
            bucket.replaceValue(at: index, with: cookie.value, in: arena)
            bucket.records[index].expires = cookie.expires?.microseconds ?? CookieRecord.session
            bucket.records[index].accessed = CookieRecord.seconds(cookie.accessed ?? now)
            bucket.records[index].flags = cookie.flags
        }
        note(.replaced, index, of: number)
    }

    private mutating func add(_ cookie: ReceivedCookie, partition: Octets, now: CookieTime) -> CookieOutcome {
        let sequence = nextSequence
        nextSequence += 1
        let created = (cookie.created ?? now).microseconds
        let rank = rank(created: created, sequence)
        let number = table.make(cookie.domain, partition)
        let place = table.withBucket(number) { bucket, arena in
            bucket.insert(
                CookieRecord(
                    accessed: CookieRecord.seconds(cookie.accessed ?? now),
                    rank: rank,
                    expires: cookie.expires?.microseconds ?? CookieRecord.session,
                    flags: cookie.flags
                ),
                CookieBirth(created: created, sequence: sequence),
                name: cookie.name,
                value: cookie.value,
                path: cookie.path,
                in: arena
            )
        }
        count += 1
        if !partition.isEmpty { partitionedCount += 1 }
        if let place { note(.added, place, of: number) }
        return evictExcess(of: number, stored: sequence, now: now) ? .kept : .rejected(.noRoom)
    }

    /// The rank of the cookie that comes next: its sequence number, unless one created later came before it.
    private mutating func rank(created: Int64, _ sequence: UInt64) -> UInt32 {
        guard created >= latestRanked, let rank = UInt32(exactly: sequence) else { return CookieRecord.unranked }
        latestRanked = created
        return rank
    }

    /// Step 16: whether a cookie that came over an insecure connection would hide a Secure one.
    private func overlaysSecureCookie(_ cookie: ReceivedCookie, _ partition: Octets, _ now: CookieTime) -> Bool {
        table.containsBucket(relatedTo: cookie.domain, partition) { bucket in
            bucket.first(named: cookie.name) { record in
                record.flags.contains(.secure) && !record.isExpired(at: now.microseconds)
                    && PathMatch.matches(cookie.path, cookiePath: bucket.path(record))
            } != nil
        }
    }

    /// Step 1.
    private func checkPolicy(
        _ cookie: ReceivedCookie,
        _ partition: Octets,
        from url: HTTPURL,
        context: CookieContext,
        now: CookieTime
    ) throws(CookieRejection) {
        let isAccepted =
            switch configuration.acceptPolicy.rule {
            case .all: true
            case .none: false
            case .mainDocumentOnly: context.topLevelSite.map { $0 == Site(of: url) } ?? true
            case .custom(let accepts):
                accepts(Cookie(cookie, partition: Site(String(decoding: partition, as: UTF8.self)), now: now), url)
            }
        guard isAccepted else { throw .policy }
    }
}

extension CookieContext {
    /// Calls `body` with the partition that a cookie is kept in; empty for one that is not Partitioned.
    @inline(__always)
    func withPartition<Result>(_ isPartitioned: Bool, of url: HTTPURL, _ body: (Octets) -> Result) -> Result {
        guard isPartitioned else { return body(Octets(start: nil, count: 0)) }
        return (topLevelSite ?? Site(of: url)).description.withOctets(body)
    }
}

extension ReceivedCookie {
    var flags: CookieRecord.Flags {
        var flags = CookieRecord.Flags(sameSite)
        if isSecure { flags.insert(.secure) }
        if isHTTPOnly { flags.insert(.httpOnly) }
        if isHostOnly { flags.insert(.hostOnly) }
        if isOfThisSession { flags.insert(.ofThisSession) }
        return flags
    }
}

extension Cookie {
    /// The cookie that was received, as it is stored if there is none of its name, domain and path.
    init(_ cookie: ReceivedCookie, partition: Site?, now: CookieTime) {
        self.init(
            nameOctets: Array(cookie.name),
            valueOctets: Array(cookie.value),
            domain: String(decoding: cookie.domain, as: UTF8.self),
            isHostOnly: cookie.isHostOnly,
            path: String(decoding: cookie.path, as: UTF8.self),
            expires: cookie.expires,
            created: cookie.created ?? now,
            lastAccessed: cookie.accessed ?? now,
            isSecure: cookie.isSecure,
            isHTTPOnly: cookie.isHTTPOnly,
            sameSite: cookie.sameSite,
            partition: partition
        )
    }
}
