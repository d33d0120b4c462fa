// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import Names

extension WebCookieStore {
    /// Moves the cookies stored under an address to the host that the address served, as `CookieJar.rehome(from:to:now:)` does
    /// in a jar. Each cookie keeps its attributes. A cookie of the host with the same name and path stays if it is not older.
    /// The old cookie is deleted only when the store shows the new one.
    ///
    /// `Resolver.hosts(of:)` returns the hosts of an address. While a store is followed,
    /// ``WebCookieFollowing/Configuration/hostOfAddress`` moves every incoming cookie.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - host: The host that it served.
    ///   - limit: How long to wait for the store to accept, show or delete the next cookie.
    ///   - clock: The clock for that limit.
    /// - Throws: ``WebViewError``. A cookie of the address is then still there, unless the host has it.
    @discardableResult
    public func rehome(
        from address: IPAddress,
        to host: Host,
        within limit: Duration = .seconds(10),
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws(WebViewError) -> CookieRehoming {
        let late = WebViewError(.timedOut, "the cookie store did not answer for \(limit)")
        let all = try await withTimeLimit(limit, by: clock, else: { late }) { try await cookies() }
        let plan = RehomingPlan(all, from: address, to: host, now: .now)
        var result = CookieRehoming()
        result.refused = plan.refused
        result.superseded = plan.superseded.count
        var wanted: [(cookie: Cookie, kept: Cookie)] = []
        var old = plan.superseded.map { all[$0] }
        for (index, new) in plan.moves {
            if let kept = kept(of: new) {
                wanted.append((new, kept))
                old.append(all[index])
            } else {
                result.refused.append(.policy)
            }
        }
        result.moved = wanted.count
        if old.isEmpty { return result }
        let seen = Dictionary(all.map { (CookiePlace($0), $0) }) { _, last in last }
        for delivery in [CookieDelivery(set: wanted, seen: seen), CookieDelivery(delete: old, seen: seen)] {
            let failures = try await carryOut(delivery, within: limit, by: clock)
            if let failure = failures.first { throw failure.error }
        }
        return result
    }
}
