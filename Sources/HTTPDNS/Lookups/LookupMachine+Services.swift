// SPDX-License-Identifier: Apache-2.0

import Names

/// Lookups of origins: addresses together with HTTPS records.
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
        if known.records.isEmpty { return (resolution.plain, isDue) }
        let families = request.addresses.families
        let over = now + (.zero - configuration.cache.staleWhileRefresh)
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
        if plan == nil, routes.requireECH { return (nil, false) }
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

    /// The routes of an answer that this origin may use. A target that only the system may resolve is refused.
    /// Otherwise a record could lead to a host of the local network.
    private func usableRoutes(of answer: ServiceAnswer?, for request: OriginRequest) -> [ServiceRoute] {
        guard let answer, request.usesRoutes else { return [] }
        return answer.routes.filter { $0.target.map(policy.isForUpstreams) ?? true }
    }

    private func plan(
        _ answer: ServiceAnswer,
        for request: OriginRequest,
        own: AnswerCache.Entry?,
        targets: [Host: AnswerCache.Entry],
        now: Moment
    ) -> ServicePlan? {
        let families = request.addresses.families
        let addresses = { (entry: AnswerCache.Entry) in
            ServicePlan.Addresses(
                v4: families.contains(.v4) ? entry.v4?.addresses ?? [] : [],
                v6: families.contains(.v6) ? entry.v6?.addresses ?? [] : []
            )
        }
        return ServicePlan(
            usableRoutes(of: answer, for: request),
            own: own.map(addresses) ?? ServicePlan.Addresses(),
            targets: targets.mapValues(addresses),
            families: families,
            port: request.port,
            ranking: ranking,
            random: random,
            now: now
        )
    }

    // MARK: A lookup starts

    /// Lets a caller wait for the endpoints of an origin.
    ///
    /// - Parameter delay: The maximum time to wait for the records after the first usable address.
    mutating func lookUp(
        _ request: OriginRequest,
        for caller: CallerID,
        isFresh: Bool,
        delay: Duration,
        now: Moment
    ) {
        let schedule = OriginSchedule(delay: delay, limit: configuration.limits.whole, now: now)
        var lookup = OriginLookup(request: request, schedule: schedule, isFresh: isFresh)
        lookup.holdsServices = tablesComeFirst && !request.addresses.families.isEmpty
        origins.all[caller] = lookup
        if request.addresses.families.isEmpty {
            let error = ResolutionError(.noAddress, "\(request.addresses.host): no address is asked for")
            origins.arrived.append((caller, .addresses(.failure(error))))
        } else {
            let part = origins.addPart(of: caller)
            lookUp(request.addresses, for: part, checksCache: !isFresh, isFresh: isFresh, now: now)
        }
        if !lookup.holdsServices {
            lookUpServices(of: request.service, origin: request.addresses.host, for: caller, isFresh: isFresh, now: now)
        }
    }

    private func isInTable(_ host: Host) -> Bool {
        configuration.upstreams.indices.contains { upstreams[$0].table?[host] != nil }
    }

    /// Whether a table that must be read first may have a name. Only after that is the name sent to a service.
    private var tablesComeFirst: Bool {
        configuration.upstreams.indices.contains { upstreams[$0].kind == .fixed && upstreams[$0].table == nil }
    }

    /// Asks in the background for records of an origin, and addresses of their targets, that are missing in the cache.
    mutating func servicesMissed(_ request: OriginRequest, now: Moment) {
        lookUpServices(of: request.service, origin: request.addresses.host, for: nil, isFresh: false, now: now)
        let known = answers.services(of: request.service, scope: scope)
        for target in usableRoutes(of: known, for: request).compactMap(\.target).prefix(OriginSchedule.maxTargets) {
            let target = LookupRequest(host: target, families: request.addresses.families)
            lookUp(target, for: nil, checksCache: true, isFresh: false, now: now)
        }
    }

    /// Asks again for the records of a name that is in frequent use, if it had any.
    mutating func refreshServices(of request: LookupRequest, now: Moment) {
        guard let known = answers.services(of: request, scope: scope), !known.records.isEmpty else { return }
        lookUpServices(of: request, origin: request.host, for: nil, isFresh: true, now: now)
    }

    /// Looks up the records of an origin, or adds a caller to that lookup. Without a caller, the answer is only cached.
    ///
    /// - Parameters:
    ///   - name: The name that has the records.
    ///   - origin: The host of the origin.
    private mutating func lookUpServices(
        of name: LookupRequest,
        origin: Host,
        for caller: CallerID?,
        isFresh: Bool,
        now: Moment
    ) {
        var caller = caller
        if !isFresh, let known = answers.services(of: name, scope: scope),
            known.expiresAt > now || known.records.isEmpty
        {
            if let caller { origins.arrived.append((caller, .services(known))) }
            if known.expiresAt > now { return }
            // The caller did not wait for the records; the answer is for the next caller.
            caller = nil
        }
        let key = LookupKey(name, scope: scope)
        if let id = services[key] {
            if let caller { services[id]?.callers.append(caller) }
            return
        }
        let candidates = serviceCandidates(for: origin, now: now)
        guard !isClosed, services.all.count < configuration.limits.maxLookups, !candidates.isEmpty,
            let dnsName = DNSName(name.host.text)
        else {
            var kept: ServiceAnswer?
            if !isClosed, candidates.isEmpty {
                kept = answers.keep(ServiceSchedule.Outcome(isFailure: true), of: name, scope: scope, now: now)
            }
            if let caller { origins.arrived.append((caller, .services(kept))) }
            return
        }
        var schedule = ServiceSchedule(
            origin: origin,
            name: dnsName,
            candidates: candidates,
            budget: configuration.limits.upstream,
            limit: configuration.limits.whole,
            now: now
        )
        let first = schedule.start(now: now)
        let id = services.start(
            ServiceLookup(
                key: key,
                request: name,
                scope: scope,
                network: ranking.network.id,
                schedule: schedule,
                callers: [caller].compactMap { $0 }
            )
        )
        perform(first, of: id, now: now)
    }

    /// The upstreams to ask for records: those that carry them, if one of them is also asked first for the addresses. A
    /// name that a vendor's service resolves is therefore not sent to other services, and a name in a table is sent to
    /// none.
    private func serviceCandidates(for host: Host, now: Moment) -> [Int] {
        guard isOn, policy.isForUpstreams(host), !isInTable(host) else { return [] }
        let health = health
        let order = configuration.order
            .arrange(configuration.upstreams.count, roundTrip: { health.roundTrip($0) }, random: random)
            .filter { !health.isDown($0, now: now) && upstreams[$0].kind != .fixed }
        let carriers = order.filter { upstreams[$0].carriesServices && !silence.isPaused($0, now: now) }
        guard let first = order.first, first == carriers.first else { return [] }
        return carriers
    }

    // MARK: A lookup goes on

    /// Passes the result of a question to its lookup. It does not affect the upstream's health: servers that answer
    /// questions for addresses may drop questions for other types.
    mutating func servicesAnswered(
        _ id: PendingServiceQuestion.ID,
        with result: Result<ServiceReply, UpstreamError>,
        now: Moment
    ) {
        guard var lookup = services[id.lookup], lookup.question == id else { return }
        lookup.question = nil
        let event: ServiceSchedule.Event =
            switch result {
            case .success(let reply): .answered(upstream: id.upstream, reply)
            case .failure: .failed(upstream: id.upstream)
            }
        if case .failure(let error) = result, error.code == .timeLimit {
            silence.timedOut(id.upstream, now: now)
        } else {
            silence.answered(id.upstream)
        }
        let next = lookup.schedule.event(event, chance: random(), now: now)
        services[id.lookup] = lookup
        perform(next, of: id.lookup, now: now)
    }

    /// Handles the times that lookups of records and callers of origins wait for.
    mutating func originTimePassed(now: Moment) {
        for id in services.due(at: now) {
            let next = services[id]?.schedule.event(.tick, chance: 0, now: now) ?? []
            perform(next, of: id, now: now)
        }
        // A result that arrives at this moment counts.
        settleOrigins(now: now)
        for caller in origins.due(at: now) where !useExpiredServices(for: caller, now: now) {
            advance(caller, .tick, now: now)
        }
    }

    /// Gives a caller the expired records of its origin when the new ones take too long. Otherwise the connection would
    /// have no ECH after each TTL.
    ///
    /// - Returns: False if there are none.
    private mutating func useExpiredServices(for caller: CallerID, now: Moment) -> Bool {
        guard let lookup = origins.all[caller], lookup.services == nil, lookup.request.usesRoutes, !lookup.isFresh,
            let known = answers.services(of: lookup.request.service, scope: scope), !known.routes.isEmpty,
            known.usableUntil > now
        else { return false }
        origins.arrived.append((caller, .services(known)))
        return true
    }

    private mutating func perform(_ decisions: [ServiceSchedule.Action], of id: LookupID, now: Moment) {
        for decision in decisions {
            switch decision {
            case .ask(let upstream, let name):
                guard var lookup = services[id] else { continue }
                lookup.questions += 1
                let question = PendingServiceQuestion.ID(lookup: id, upstream: upstream, number: lookup.questions)
                lookup.question = question
                services[id] = lookup
                let asked = ServiceQuestion(name, subnet: lookup.request.subnet)
                actions.append(.askServices(PendingServiceQuestion(id: question, question: asked)))
            case .cancel(let upstream):
                // The only reason is that the upstream took too long.
                silence.timedOut(upstream, now: now)
                stopAskingServices(of: id)
            case .end(let outcome):
                guard let lookup = services.remove(id) else { continue }
                let answer = answers.keep(outcome, of: lookup.request, scope: lookup.scope, now: now)
                for caller in lookup.callers { origins.arrived.append((caller, .services(answer))) }
            }
        }
        wake(at: services[id]?.schedule.nextTick ?? .never)
    }

    private mutating func stopAskingServices(of id: LookupID) {
        guard let question = services[id]?.question else { return }
        services[id]?.question = nil
        actions.append(.stopAskingServices(question))
    }

    /// Gives the callers of origins the results that have arrived.
    mutating func settleOrigins(now: Moment) {
        var callers: [CallerID] = []
        while !origins.arrived.isEmpty {
            let arrived = origins.arrived
            origins.arrived = []
            for (caller, arrival) in arrived {
                record(arrival, for: caller, now: now)
                if callers.last != caller { callers.append(caller) }
            }
        }
        for caller in callers {
            advance(caller, .settled, now: now)
            wake(at: origins.all[caller]?.schedule.deadline ?? .never)
        }
    }

    private mutating func record(_ arrival: OriginLookups.Arrival, for caller: CallerID, now: Moment) {
        guard var lookup = origins.all[caller] else { return }
        let event: OriginSchedule.Event
        switch arrival {
        case .addresses(let result):
            lookup.addresses = result
            if lookup.holdsServices {
                lookup.holdsServices = false
                origins.all[caller] = lookup
                lookUpHeldServices(of: lookup.request, for: caller, after: result, isFresh: lookup.isFresh, now: now)
            }
            let isUsable = isUsable(result, for: lookup.request)
            // Records do not apply to addresses from a table or from the system.
            let isForeign = isUsable && !isOfService(result)
            event = .addresses(areUsable: isUsable && !isForeign, isFinal: isForeign || Self.isFinal(result))
        case .target(let host, let result):
            // An address from a table or from the system may belong to the local network.
            let isUsable = isUsable(result, for: lookup.request) && isOfService(result)
            if isUsable { lookup.targets[host] = try? result.get() }
            event = .target(host, isUsable: isUsable)
        case .services(let answer):
            lookup.services = answer
            event = .services(usableRoutes(of: answer, for: lookup.request))
        }
        origins.all[caller] = lookup
        advance(caller, event, now: now)
    }

    /// Asks for records that waited for the addresses, but only if the addresses are from a service or there are none.
    private mutating func lookUpHeldServices(
        of request: OriginRequest,
        for caller: CallerID,
        after result: Result<LookupResult, ResolutionError>,
        isFresh: Bool,
        now: Moment
    ) {
        if isOfService(result) {
            lookUpServices(of: request.service, origin: request.addresses.host, for: caller, isFresh: isFresh, now: now)
        } else {
            origins.arrived.append((caller, .services(nil)))
        }
    }

    private func isOfService(_ result: Result<LookupResult, ResolutionError>) -> Bool {
        guard case .success(let found) = result else { return false }
        return found.entry.provenance.kind == .service
    }

    private mutating func advance(_ caller: CallerID, _ event: OriginSchedule.Event, now: Moment) {
        let decisions = origins.all[caller]?.schedule.event(event, now: now) ?? []
        for decision in decisions {
            switch decision {
            case .deliver: deliver(to: caller, now: now)
            case .lookUp(let host):
                guard let lookup = origins.all[caller] else { continue }
                let (request, isFresh) = (lookup.request, lookup.isFresh)
                let target = LookupRequest(host: host, families: request.addresses.families)
                let part = origins.addPart(of: caller, target: host)
                lookUp(target, for: part, checksCache: !isFresh, isFresh: isFresh, now: now)
            }
        }
    }

    private func isUsable(_ result: Result<LookupResult, ResolutionError>, for request: OriginRequest) -> Bool {
        guard case .success(let found) = result else { return false }
        return request.addresses.families.members.contains { !(found.entry[$0]?.addresses.isEmpty ?? true) }
    }

    /// Whether records cannot help: the name does not exist, or the lookup was refused.
    private static func isFinal(_ result: Result<LookupResult, ResolutionError>) -> Bool {
        switch result {
        case .success(let found): found.entry.v4?.absence == .noName || found.entry.v6?.absence == .noName
        case .failure(let error): error.code != .noAddress && error.code != .allUpstreamsFailed
        }
    }

    // MARK: A lookup ends

    private mutating func deliver(to caller: CallerID, now: Moment) {
        guard let lookup = origins.remove(caller) else { return }
        // Lookups that have not ended continue for the cache.
        for part in lookup.parts {
            if let id = lookups.remove(caller: part) { lookups.change(id) { $0.isForCache = true } }
        }
        actions.append(.resume([caller], result(of: lookup, now: now)))
    }

    private func result(of lookup: OriginLookup, now: Moment) -> Result<LookupResult, ResolutionError> {
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
        if plan == nil, usableRoutes(of: answer, for: request).requireECH {
            let host = request.addresses.host
            return .failure(
                ResolutionError(
                    .noAddress,
                    "\(host): all HTTPS records of the name have ECH, and no address of their targets is known"
                )
            )
        }
        if let own {
            return .success(
                LookupResult(entry: own.entry, source: own.source, time: own.time, answer: answer, plan: plan)
            )
        }
        guard let plan else {
            return lookup.addresses ?? .failure(.allFailed(request.addresses.host, failures: []))
        }
        // The origin has no addresses of its own yet. Use the addresses of the records instead.
        var entry = AnswerCache.Entry(
            provenance: Provenance(upstream: "", kind: .service, network: ranking.network.id)
        )
        if let target = lookup.targets.values.first { entry.provenance = target.entry.provenance }
        for family in request.addresses.families.members {
            let addresses = plan.endpoints.map(\.address).filter { $0.family == family }
            entry[family] = AnswerCache.Kept(addresses: addresses, storedAt: now, expiresAt: answer.expiresAt)
        }
        return .success(LookupResult(entry: entry, source: .fresh, time: now, answer: answer, plan: plan))
    }

    /// Removes a cancelled caller; false if it did not wait for an origin.
    mutating func cancelledOrigin(_ caller: CallerID) -> Bool {
        guard let lookup = origins.remove(caller) else { return false }
        for part in lookup.parts { cancelled(part) }
        return true
    }

    /// Ends the lookups of records, because the resolver is shut down.
    mutating func closeServices() {
        for id in services.all.keys.sorted() {
            stopAskingServices(of: id)
            for caller in services.remove(id)?.callers ?? [] { origins.arrived.append((caller, .services(nil))) }
        }
    }
}
