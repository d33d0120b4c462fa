// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import Names

extension WebCookieStore {
    /// Moves the cookies that are filed under an address to the host that it served, as
    /// `CookieJar.rehome(from:to:now:)` does in a jar: each keeps its attributes, gives way to one of the same name and
    /// path that is not older, and is deleted under the address only when the store shows it under the host.
    ///
    /// Which host an address served must be known: `Resolver.onlyHost(of:)` knows it, and refuses to guess where there
    /// were several. While a store is followed, ``WebCookieFollowing/Configuration/hostOfAddress`` does this for every
    /// cookie that comes in.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - host: The host that it served.
    ///   - limit: How long the store has for each of both steps.
    ///   - clock: By which that is measured.
    /// - Throws: ``WebViewError``. What was under the address is still there then, unless it is under the host.
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
        try await carryOut(CookieDelivery(set: wanted, seen: seen), within: limit, by: clock)
        try await carryOut(CookieDelivery(delete: old, seen: seen), within: limit, by: clock)
        return result
    }
}
