// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import Names

extension Resolver {
    /// The endpoints of an origin, with its HTTPS records (RFC 9460) if the upstreams carry them. The call waits for
    /// the records at most ``ResolverConfiguration/Limits/resolutionDelay`` after the first usable address.
    ///
    /// - Throws: ``ResolutionError``; see ``resolve(_:port:families:subnet:fresh:)``.
    public func resolve(_ origin: Origin) async throws(ResolutionError) -> Resolution {
        try await resolve(origin, fresh: false)
    }

    /// The endpoints of an origin.
    ///
    /// - Parameters:
    ///   - fresh: Whether to ask the upstreams even if the cache has an answer.
    ///   - waitsForServices: Whether to wait for the records as long as for addresses, to report them.
    ///   - usesECH: Whether the connection uses the records' keys of Encrypted Client Hello. If it does, and all records
    ///     have one, the origin's own addresses are no endpoints (RFC 9848 §5.1).
    package func resolve(
        _ origin: Origin,
        fresh: Bool,
        waitsForServices: Bool = false,
        usesECH: Bool = true
    ) async throws(ResolutionError) -> Resolution {
        guard let request = request(origin, usesECH: usesECH) else {
            return try await resolve(origin.host, port: origin.port, fresh: fresh)
        }
        let now = time.now()
        if !fresh, let known = try known(request, now: now) { return known }
        let limits = configuration.limits
        let delay = waitsForServices ? limits.upstream : limits.resolutionDelay
        let result = try await result(now: now) { .askedOrigin(request, by: $0, isFresh: fresh, delay: delay) }
        return try resolution(of: result, for: request.addresses, port: origin.port)
    }

    /// The cached endpoints of an origin, with its HTTPS records; never waits. Nil if addresses or records are missing
    /// in the cache.
    package func cached(_ origin: Origin, usesECH: Bool = true) -> Resolution? {
        guard let request = request(origin, usesECH: usesECH) else {
            return cached(origin.host, port: origin.port)
        }
        return try? known(request, now: time.now())
    }

    /// Whether the cache has an HTTPS record for an `http` origin. A miss asks no upstream.
    package func hasCachedHTTPS(_ origin: Origin) -> Bool {
        guard let request = request(origin) else { return false }
        let now = time.now()
        return state.withLockedValue { $0.machine.offersHTTPS(request, now: now) }
    }

    /// Reports that no endpoint of an origin's HTTPS records could be reached. The upstreams are asked again for the
    /// records and for the addresses of their targets.
    package func reportFailedRecords(of origin: Origin) {
        guard let request = request(origin) else { return }
        handle(.servicesFailed(request), now: time.now())
    }

    /// Resolves a name in advance, together with the HTTPS records of its `https` origin.
    func resolveAhead(_ host: Host, fresh: Bool = false) async throws(ResolutionError) -> Resolution {
        try await resolve(Origin(scheme: .https, host: host), fresh: fresh)
    }

    /// Nil if no upstream carries records, or the origin can have none.
    private func request(_ origin: Origin, usesECH: Bool = true) -> OriginRequest? {
        carriesRecords ? OriginRequest(origin, families: configuration.families, usesECH: usesECH) : nil
    }

    /// The answer that needs no upstream; nil if there is none.
    @inline(never)
    private func known(_ request: OriginRequest, now: Moment) throws(ResolutionError) -> Resolution? {
        let found: Resolution?
        do {
            found = try known(request.addresses, port: request.port, isFresh: false, now: now)
        } catch {
            // A name without addresses may be an alias in its records.
            guard error.code == .noAddress else { throw error }
            found = nil
        }
        guard let found else { return nil }
        // The common case: the name is known to have no records, or they could not be had just now.
        if request.isOfHost, let answer = found.answer, answer.records.isEmpty, answer.expiresAt > now { return found }
        let (completed, isDue) = state.withLockedValue { $0.machine.completed(found, for: request, now: now) }
        if isDue { handle(.servicesMissed(request), now: now) }
        return completed
    }
}
