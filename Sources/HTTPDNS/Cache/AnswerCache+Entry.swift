// SPDX-License-Identifier: Apache-2.0

import Names

extension AnswerCache.Entry {
    /// Whether the upstreams may be asked for these families: the pause is over, or an expired family was not part of
    /// the last failure.
    func mayAsk(for families: Families, now: Moment) -> Bool {
        retryAt <= now
            || families.members.contains { family in
                (self[family]?.expiresAt ?? .past) <= now && !failed.contains(Families(family))
            }
    }

    /// Keeps the upstreams from being asked for these families before `moment`.
    mutating func pause(_ families: Families, until moment: Moment) { (failed, retryAt) = (families, moment) }

    /// Lets the answers for these families expire at `moment`, unless they expire earlier.
    mutating func expire(_ families: Families, at moment: Moment) {
        for family in families.members {
            if let kept = self[family] { self[family]?.expiresAt = min(kept.expiresAt, moment) }
        }
    }

    /// The time until which the entry answers for all these families.
    func expiry(of families: Families) -> Moment {
        var expiry = Moment.never
        if families.contains(.v4) { expiry = v4?.expiresAt ?? .past }
        if families.contains(.v6) { expiry = min(expiry, v6?.expiresAt ?? .past) }
        return expiry
    }

    /// The time until which the entry answers for the families that it knows.
    func knownExpiry(of families: Families) -> Moment {
        families.members.compactMap { self[$0]?.expiresAt }.min() ?? .past
    }

    /// Whether the entry has an address of the families that is at most `maxStale` past its TTL.
    func isUsable(for families: Families, now: Moment, maxStale: Duration) -> Bool {
        families.members.contains { self[$0]?.isUsable(now: now, maxStale: maxStale) ?? false }
    }

    /// The time until which an address of the families may be used.
    func usableUntil(_ families: Families, maxStale: Duration) -> Moment {
        families.members.compactMap { self[$0] }.filter { !$0.addresses.isEmpty }.map { $0.expiresAt + maxStale }.max()
            ?? .past
    }

    /// `cached` while the known parts of these families are within their TTL, `stale` after.
    func source(for families: Families, now: Moment) -> Resolution.Source {
        knownExpiry(of: families) > now ? .cached : .stale
    }

    /// The HTTPS records within their TTL. Records do not apply to addresses from a table or from the system.
    func currentServices(now: Moment) -> ServiceAnswer? {
        guard let services, services.expiresAt > now, provenance.kind == .service else { return nil }
        return services
    }

    /// The earlier of the times at which these families were stored.
    func storedAt(_ families: Families) -> Moment {
        var stored = Moment.never
        if families.contains(.v4), let v4 { stored = v4.storedAt }
        if families.contains(.v6), let v6 { stored = min(stored, v6.storedAt) }
        return stored
    }

    /// Whether less than a tenth of the TTL that ends at `expiry` is left.
    func isNearlyOver(_ expiry: Moment, now: Moment) -> Bool {
        expiry.nanoseconds(since: now) < expiry.nanoseconds(since: storedAt(.both)) / 10
    }

    /// The addresses of these families.
    func addresses(of families: Families) -> HostAddresses {
        HostAddresses(
            v4: families.contains(.v4) ? v4?.addresses ?? [] : [],
            v6: families.contains(.v6) ? v6?.addresses ?? [] : []
        )
    }
}

extension AnswerCache.Part {
    /// Whether there is an address at most `maxStale` past its TTL.
    func isUsable(now: Moment, maxStale: Duration) -> Bool { !addresses.isEmpty && now < expiresAt + maxStale }
}
