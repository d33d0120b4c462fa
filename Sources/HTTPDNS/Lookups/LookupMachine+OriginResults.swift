// SPDX-License-Identifier: Apache-2.0

import Names

/// The results for callers that wait for an origin.
extension LookupMachine {
    // MARK: The cache

    /// The resolution of a cached answer with the origin's records; nil if the caller must wait for the records.
    /// `isDue`: they should be asked for in the background.
    ///
    /// If the origin had no records when they were last known, the caller does not wait for a new answer. Expired
    /// records are used for ``ResolverConfiguration/Cache/staleWhileRefresh``, as addresses are.
    mutating func completed(
        _ resolution: Resolution,
        for request: OriginRequest,
        now: Moment
    ) -> (resolution: Resolution?, isDue: Bool) {
        guard resolution.provenance.kind == .service, isOn else { return (resolution.plain, false) }
        guard let known = answers.services(of: request.service, scope: scope) else { return (nil, false) }
        var isDue = known.expiresAt <= now
        // An absence is used beyond its time, a failure is not: it says nothing about the records.
        if isDue, known.failures > 0 { return (nil, false) }
        if known.records.isEmpty { return (resolution.plain, isDue) }
        let families = request.addresses.families
        let over = now - configuration.cache.staleWhileRefresh
        guard known.expiresAt > over else { return (nil, false) }
        let routes = usableRoutes(of: known, for: request)
        var targets: [Host: AnswerCache.Entry] = [:]
        for target in routes.compactMap(\.target).prefix(OriginSchedule.maxTargets) {
            let key = AnswerCache.Key(LookupRequest(host: target, families: families), scope: scope)
            guard let entry = answers.cache.peek(key) else { return (nil, false) }
            // Do not wait again for a target whose lookup has just failed.
            let isPaused = !entry.mayAsk(for: families, now: now)
            guard entry.expiry(of: families) > over || isPaused else { return (nil, false) }
            if entry.expiry(of: families) <= now, !isPaused { isDue = true }
            if entry.provenance.kind == .service { targets[target] = entry }
        }
        let own = answers.cache.peek(AnswerCache.Key(request.addresses, scope: scope))
        let plan = plan(known, for: request, own: own, targets: targets, now: now)
        if plan == nil, request.needsRoutes(routes) { return (nil, false) }
        return (resolution.with(known, plan: plan), isDue)
    }

    /// Whether the cache has an HTTPS record for an `http` origin, so that it has `https`. Records do not apply to
    /// addresses from a table or from the system.
    func offersHTTPS(_ request: OriginRequest, now: Moment) -> Bool {
        guard isOn, let answer = answers.services(of: request.service, scope: scope), !answer.routes.isEmpty,
            let own = answers.cache.peek(AnswerCache.Key(request.addresses, scope: scope))
        else { return false }
        return answer.expiresAt > now && own.provenance.kind == .service
    }

    // MARK: Results

    /// The result for a caller, from what has arrived for it.
    func result(of lookup: OriginLookup, now: Moment) -> Result<LookupResult, ResolutionError> {
        let request = lookup.request
        var own: LookupResult?
        if let addresses = lookup.addresses, isUsable(addresses, for: request) { own = try? addresses.get() }
        // Records do not apply to addresses from a table or from the system.
        guard let answer = lookup.services, own.map({ $0.entry.provenance.kind == .service }) ?? true else {
            return own.map { .success($0) } ?? lookup.addresses
                ?? .failure(.allFailed(request.addresses.host, failures: []))
        }
        let targets = lookup.targets.mapValues(\.entry)
        let plan = plan(answer, for: request, own: own?.entry, targets: targets, now: now)
        if plan == nil, request.needsRoutes(usableRoutes(of: answer, for: request)) {
            let host = request.addresses.host
            return .failure(
                ResolutionError(
                    .noAddress,
                    "\(host): all HTTPS records of the name have ECH, and no address of their targets is known"
                )
            )
        }
        if let own { return .success(own.with(answer, plan: plan)) }
        guard let plan else {
            return lookup.addresses ?? .failure(.allFailed(request.addresses.host, failures: []))
        }
        // The origin has no addresses of its own yet. Use the addresses of the records instead.
        var entry = AnswerCache.Entry(
            provenance: Provenance(upstream: answer.upstream, kind: .service, network: ranking.network.id)
        )
        if let target = lookup.targets.values.first { entry.provenance = target.entry.provenance }
        for family in request.addresses.families.members {
            let addresses = plan.endpoints.map(\.address).filter { $0.family == family }
            entry[family] = AnswerCache.Part(addresses: addresses, storedAt: now, expiresAt: answer.expiresAt)
        }
        return .success(LookupResult(entry: entry, source: .fresh, time: now, answer: answer, plan: plan))
    }

    func isOfService(_ result: Result<LookupResult, ResolutionError>) -> Bool {
        guard case .success(let found) = result else { return false }
        return found.entry.provenance.kind == .service
    }

    func isUsable(_ result: Result<LookupResult, ResolutionError>, for request: OriginRequest) -> Bool {
        guard case .success(let found) = result else { return false }
        return !found.entry.addresses(of: request.addresses.families).isEmpty
    }

    /// When the first address of a result arrived. An address from the cache counts as just arrived.
    func firstArrival(
        of result: Result<LookupResult, ResolutionError>,
        for request: OriginRequest,
        now: Moment
    ) -> Moment {
        guard case .success(let found) = result, found.source == .fresh else { return now }
        let arrived = request.addresses.families.members.compactMap { found.entry[$0] }
            .filter { !$0.addresses.isEmpty && $0.expiresAt > now }
        return arrived.map(\.storedAt).min() ?? now
    }

    /// Whether records cannot help: the name does not exist, or the lookup was refused.
    static func isFinal(_ result: Result<LookupResult, ResolutionError>) -> Bool {
        switch result {
        case .success(let found): found.entry.v4?.absence == .noName || found.entry.v6?.absence == .noName
        case .failure(let error): error.code != .noAddress && error.code != .allUpstreamsFailed
        }
    }

    /// The routes of an answer that lead to where this origin may connect, with hints of the requested families. A target
    /// that only the system may resolve is refused: a record could otherwise lead to a host of the local network.
    func usableRoutes(of answer: ServiceAnswer?, for request: OriginRequest) -> [ServiceRoute] {
        guard let answer, request.usesRoutes else { return [] }
        let routes = answer.routes.filter { $0.target.map(policy.isForUpstreams) ?? true }
        let families = request.addresses.families
        return families == .both ? routes : routes.map { $0.hinting(families) }
    }

    private func plan(
        _ answer: ServiceAnswer,
        for request: OriginRequest,
        own: AnswerCache.Entry?,
        targets: [Host: AnswerCache.Entry],
        now: Moment
    ) -> ServicePlan? {
        let families = request.addresses.families
        let routes = usableRoutes(of: answer, for: request)
        return ServicePlan(
            routes,
            own: own?.addresses(of: families) ?? HostAddresses(),
            hasFallback: !request.needsRoutes(routes),
            targets: targets.mapValues { $0.addresses(of: families) },
            port: request.port,
            ranking: ranking,
            random: random,
            now: now
        )
    }
}
