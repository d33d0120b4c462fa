// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
package import Names

extension Resolver {
    /// The result of a cache lookup.
    enum Found {
        /// Within its TTL. `isDue`: in frequent use and about to expire, so it should be refreshed.
        case current(Resolution, isDue: Bool)
        /// The name is known to have no address, or all upstreams failed recently.
        case absent(ResolutionError)
        /// Past its TTL. `mayAsk`: the upstreams have not failed recently.
        case stale(Resolution, mayAsk: Bool)
        /// No usable entry.
        case unknown

        var isCurrent: Bool {
            if case .current = self { true } else { false }
        }
    }

    func shard(_ hash: Int) -> NIOLockedValueBox<Shard> {
        // The low bits of the hash choose the slot within the shard.
        shards[Int(truncatingIfNeeded: UInt(bitPattern: hash) >> 48) & (shards.count - 1)]
    }

    /// Looks up a name under one lock with one hash. Allocates nothing while the stored order of the addresses is
    /// valid.
    func find(_ request: LookupRequest, _ port: UInt16, _ now: Moment, countsMisses: Bool = true) -> Found {
        shard(request.hash).withLockedValue { shard in
            let found =
                shard.cache.find(AnswerCache.Key(request, shard.realm)) { entry in
                    judge(&entry, request, port, now)
                } ?? .unknown
            if countsMisses || found.isCurrent { shard.counts.add(found) }
            return found
        }
    }

    /// The cached resolution of a name within its TTL; nil otherwise. Starts a refresh in the background if the TTL is
    /// nearly over.
    ///
    /// A miss asks no upstream and is not counted: ``resolve(_:port:families:subnet:fresh:)`` does both.
    package func current(_ host: Host, families: Families, subnet: IPNetwork?) -> Resolution? {
        if let known = own(host, 0) { return known }
        let request = LookupRequest(host: host, families: families, subnet: subnet)
        guard case .current(let resolution, let isDue) = find(request, 0, time.now(), countsMisses: false) else {
            return nil
        }
        if isDue { refresh(request) }
        return resolution
    }

    private func judge(
        _ entry: inout AnswerCache.Entry,
        _ request: LookupRequest,
        _ port: UInt16,
        _ now: Moment
    ) -> Found {
        let expiry = entry.expiry(request.families)
        if expiry > now {
            entry.uses &+= 1
            let source: Resolution.Source = entry.provenance.kind == .fixed ? .fixed : .cached
            guard let resolution = resolution(&entry, source, request, port, now) else {
                return .absent(entry.absenceError(request.host, request.families))
            }
            let isDue =
                entry.uses >= configuration.refreshUses && now >= entry.retryAt && entry.isNearlyOver(expiry, now)
            // The pause excludes no family, because nothing has failed: after the TTL, callers join the refresh under
            // way.
            if isDue { entry.pause([], until: now + configuration.failureTTL) }
            return .current(resolution, isDue: isDue)
        }
        let mayAsk = entry.mayAsk(request.families, now)
        if entry.isUsable(request.families, now, maxStale: configuration.maxStale),
            let resolution = resolution(&entry, entry.source(request.families, now), request, port, now)
        {
            return .stale(resolution, mayAsk: mayAsk)
        }
        return mayAsk ? .unknown : .absent(.failed(request.host, entry.provenance.failures))
    }

    /// The resolution of an entry; nil if it has no address of the families.
    private func resolution(
        _ entry: inout AnswerCache.Entry,
        _ source: Resolution.Source,
        _ request: LookupRequest,
        _ port: UInt16,
        _ now: Moment
    ) -> Resolution? {
        let families = request.families
        if entry.order.until <= now || entry.order.port != port || entry.order.families != families {
            let ordered = order(entry, families, port, now)
            entry.ordered = ordered.addresses
            entry.order = AnswerCache.Order(families: families, port: port, until: ordered.until)
        }
        guard !entry.ordered.isEmpty else { return nil }
        return resolution(of: entry, entry.ordered, source, request, port, now)
    }

    private func order(
        _ entry: AnswerCache.Entry,
        _ families: Families,
        _ port: UInt16,
        _ now: Moment
    ) -> (addresses: [IPAddress], until: Moment) {
        ranking.withLockedValue { ranking in
            ranking.order(
                v4: families.contains(.v4) ? entry.v4?.addresses ?? [] : [],
                v6: families.contains(.v6) ? entry.v6?.addresses ?? [] : [],
                port: port,
                now: now
            )
        }
    }

    private func resolution(
        of entry: AnswerCache.Entry,
        _ ordered: [IPAddress],
        _ source: Resolution.Source,
        _ request: LookupRequest,
        _ port: UInt16,
        _ now: Moment
    ) -> Resolution {
        Resolution(
            host: request.host,
            addresses: ordered,
            port: port,
            source: source,
            provenance: entry.provenance,
            age: now.nanoseconds(since: entry.storedAt(request.families)),
            ttl: entry.knownExpiry(request.families).nanoseconds(since: now)
        )
    }

    /// The resolution of a lookup's result, for one caller.
    func resolution(
        _ found: LookupResult,
        _ request: LookupRequest,
        _ port: UInt16
    ) throws(ResolutionError) -> Resolution {
        let ordered = order(found.entry, request.families, port, found.time).addresses
        guard !ordered.isEmpty else { throw found.entry.absenceError(request.host, request.families) }
        return resolution(of: found.entry, ordered, found.source, request, port, found.time)
    }
}

extension AnswerCache.Entry {
    /// Whether the upstreams may be asked for these families: the pause is over, or an expired family was not part of
    /// the last failure.
    func mayAsk(_ families: Families, _ now: Moment) -> Bool {
        retryAt <= now
            || families.members.contains { family in
                (self[family]?.expiresAt ?? .past) <= now && !failed.contains(Families(family))
            }
    }

    /// Keeps the upstreams from being asked for these families before `moment`.
    mutating func pause(_ families: Families, until moment: Moment) { (failed, retryAt) = (families, moment) }

    /// The time until which the entry answers for all these families.
    func expiry(_ families: Families) -> Moment {
        var expiry = Moment.never
        if families.contains(.v4) { expiry = v4?.expiresAt ?? .past }
        if families.contains(.v6) { expiry = min(expiry, v6?.expiresAt ?? .past) }
        return expiry
    }

    /// The time until which the entry answers for those of these families that it knows.
    func knownExpiry(_ families: Families) -> Moment {
        families.members.compactMap { self[$0]?.expiresAt }.min() ?? .past
    }

    /// Whether the entry has an address of the families that is at most `maxStale` past its TTL.
    func isUsable(_ families: Families, _ now: Moment, maxStale: Duration) -> Bool {
        families.members.contains { self[$0]?.isUsable(now, maxStale: maxStale) ?? false }
    }

    /// The time until which an address of the families may be used.
    func usableUntil(_ families: Families, maxStale: Duration) -> Moment {
        families.members.compactMap { self[$0] }.filter { !$0.addresses.isEmpty }.map { $0.expiresAt + maxStale }.max()
            ?? .past
    }

    /// `cached` while the known parts of these families are within their TTL, `stale` after.
    func source(_ families: Families, _ now: Moment) -> Resolution.Source {
        knownExpiry(families) > now ? .cached : .stale
    }

    /// The earlier of the times at which these families were stored.
    func storedAt(_ families: Families) -> Moment {
        var stored = Moment.never
        if families.contains(.v4), let v4 { stored = v4.storedAt }
        if families.contains(.v6), let v6 { stored = min(stored, v6.storedAt) }
        return stored
    }

    /// Whether less than a tenth of the TTL is left.
    func isNearlyOver(_ expiry: Moment, _ now: Moment) -> Bool {
        expiry.nanoseconds(since: now) < expiry.nanoseconds(since: storedAt(.both)) / 10
    }

    /// The error for a name without an address.
    func absenceError(_ host: Host, _ families: Families) -> ResolutionError {
        let hasNoName = families.members.contains { self[$0]?.absence == .noName }
        return hasNoName
            ? ResolutionError(
                .noSuchName,
                "\(host): there is no such name, according to \(provenance.upstream); check the spelling",
                failures: provenance.failures
            )
            : ResolutionError(
                .noAddress,
                "\(host): the name has no \(families) address, according to \(provenance.upstream)",
                failures: provenance.failures
            )
    }
}

extension AnswerCache.Kept {
    /// Whether there is an address at most `maxStale` past its TTL.
    func isUsable(_ now: Moment, maxStale: Duration) -> Bool { !addresses.isEmpty && now < expiresAt + maxStale }
}

extension ResolutionError {
    /// The error for a name that no upstream could answer.
    static func failed(_ host: Host, _ failures: [Failure]) -> ResolutionError {
        guard !failures.isEmpty else {
            return ResolutionError(
                .allUpstreamsFailed,
                "\(host): no upstream can be asked now; all have failed lately, or none is configured"
            )
        }
        let isBogus = failures.contains { $0.error.code == .bogusAnswer }
        let list = failures.map(\.description).joined(separator: "; ")
        return ResolutionError(
            isBogus ? .bogusAnswer : .allUpstreamsFailed,
            "\(host): no upstream gave a usable answer: \(list)",
            failures: failures
        )
    }
}
