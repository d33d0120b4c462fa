// SPDX-License-Identifier: Apache-2.0

import Names

/// Lookups of HTTPS records: each goes on until it has an answer, for the cache, even if no caller waits.
extension LookupMachine {
    // MARK: A lookup starts

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
    mutating func lookUpServices(
        of name: LookupRequest,
        origin: Host,
        for caller: CallerID?,
        isFresh: Bool,
        now: Moment
    ) {
        var caller = caller
        if !isFresh, let known = answers.services(of: name, scope: scope),
            known.expiresAt > now || known.isAbsence
        {
            if let caller { origins.arrived.append((caller, .services(known))) }
            if known.expiresAt > now { return }
            // The caller did not wait for the records; the answer is for the next caller.
            caller = nil
        }
        let key = LookupKey(name, scope: scope)
        if let id = services[key] {
            if let caller { services.change(id) { $0.callers.append(caller) } }
            return
        }
        let candidates = serviceCandidates(for: origin, now: now)
        guard !isClosed, services.count < configuration.limits.maxLookups, !candidates.isEmpty,
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
            limit: configuration.limits.total,
            now: now
        )
        let first = schedule.start(now: now)
        let id = services.start(
            ServiceLookup(
                key: key,
                request: name,
                scope: scope,
                generation: health.generation,
                schedule: schedule,
                callers: [caller].compactMap { $0 }
            )
        )
        perform(first, of: id, now: now)
    }

    private func isInTable(_ host: Host) -> Bool {
        configuration.upstreams.indices.contains { upstreams[$0].table?[host] != nil }
    }

    /// The upstreams to ask for records: those that carry them, if one of them is also asked first for the addresses. A
    /// name that a vendor's service resolves is therefore not sent to other services, and a name in a table is sent to
    /// none.
    private func serviceCandidates(for host: Host, now: Moment) -> [Int] {
        guard isForUpstreams(host), !isInTable(host) else { return [] }
        let health = health
        let order = configuration.order
            .arrange(configuration.upstreams.count, roundTrip: { health.roundTrip($0) }, random: random)
            .filter { !health.isDown($0, now: now) && !isTable($0) }
        let carriers = order.filter { upstreams[$0].carriesRecords && !silence.isPaused($0, now: now) }
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
        guard let lookup = services[id.lookup], lookup.question == id else { return }
        let event: ServiceSchedule.Event =
            switch result {
            case .success(let reply): .answered(upstream: id.upstream, reply)
            case .failure: .failed(upstream: id.upstream)
            }
        // Results of questions from another network do not count.
        if lookup.generation == health.generation {
            switch result {
            case .failure(let error) where error.code == .timeLimit: silence.timedOut(id.upstream, now: now)
            case .failure: silence.failed(id.upstream)
            case .success: silence.answered(id.upstream)
            }
        }
        let chance = random()
        let next = services.change(id.lookup) { lookup in
            lookup.question = nil
            return lookup.schedule.event(event, chance: chance, now: now)
        }
        perform(next ?? [], of: id.lookup, now: now)
    }

    /// Handles the moments that lookups of records waited for.
    mutating func serviceTimePassed(now: Moment) {
        for id in services.due(at: now) {
            guard let lookup = services[id] else { continue }
            // If the tick is much too late, as after the machine slept, the timeout is not the upstream's fault.
            let isLate = lookup.nextTick + configuration.limits.upstream <= now
            let next = services.change(id) { $0.schedule.event(.tick, chance: 0, now: now) }
            perform(next ?? [], of: id, countsTimeouts: !isLate && lookup.generation == health.generation, now: now)
        }
    }

    private mutating func perform(
        _ decisions: [ServiceSchedule.Action],
        of id: LookupID,
        countsTimeouts: Bool = true,
        now: Moment
    ) {
        for decision in decisions {
            switch decision {
            case .ask(let upstream, let name):
                let question = services.change(id) { lookup in
                    lookup.questions += 1
                    let question = PendingServiceQuestion(
                        id: PendingServiceQuestion.ID(lookup: id, upstream: upstream, number: lookup.questions),
                        question: ServiceQuestion(name, subnet: lookup.request.subnet)
                    )
                    lookup.question = question.id
                    return question
                }
                if let question { actions.append(.askServices(question)) }
            case .cancel(let upstream):
                // The only reason is that the upstream took too long.
                if countsTimeouts { silence.timedOut(upstream, now: now) }
                stopAskingServices(of: id)
            case .end(let outcome):
                guard let lookup = services.remove(id) else { continue }
                // The remote switch may have denied the name since the service was asked.
                let isAllowed = policy.isForUpstreams(lookup.request.host)
                let answer =
                    isAllowed ? answers.keep(outcome, of: lookup.request, scope: lookup.scope, now: now) : nil
                for caller in lookup.callers { origins.arrived.append((caller, .services(answer))) }
            }
        }
        wake(at: services[id]?.schedule.nextTick ?? .never)
    }

    private mutating func stopAskingServices(of id: LookupID) {
        guard let question = services[id]?.question else { return }
        services.change(id) { $0.question = nil }
        actions.append(.stopAskingServices(question))
    }

    /// Ends the lookups of records of names that upstreams must not be asked for any more.
    mutating func endDeniedServices() {
        for id in services.ids {
            guard let lookup = services[id], !isForUpstreams(lookup.request.host) else { continue }
            endWithoutRecords(id)
        }
    }

    /// Ends the lookups of records, because the resolver is shut down.
    mutating func closeServices() {
        for id in services.ids { endWithoutRecords(id) }
    }

    private mutating func endWithoutRecords(_ id: LookupID) {
        stopAskingServices(of: id)
        for caller in services.remove(id)?.callers ?? [] { origins.arrived.append((caller, .services(nil))) }
    }
}
