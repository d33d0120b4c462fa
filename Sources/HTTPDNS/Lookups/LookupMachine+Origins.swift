// SPDX-License-Identifier: Apache-2.0

import Names

/// Callers that wait for the endpoints of an origin: its addresses together with its HTTPS records.
extension LookupMachine {
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
        let schedule = OriginSchedule(delay: delay, limit: configuration.limits.total, now: now)
        var lookup = OriginLookup(request: request, schedule: schedule, isFresh: isFresh)
        lookup.holdsServices = tablesComeFirst
        origins.all[caller] = lookup
        let part = origins.addPart(of: caller)
        lookUp(request.addresses, for: part, checksCache: !isFresh, isFresh: isFresh, now: now)
        if !lookup.holdsServices {
            lookUpServices(of: request.service, origin: request.addresses.host, for: caller, isFresh: isFresh, now: now)
        }
    }

    /// Whether a table that must be read first may have a name. Only after that is the name sent to a service.
    private var tablesComeFirst: Bool {
        configuration.upstreams.indices.contains { isTable($0) && upstreams[$0].table == nil }
    }

    /// Handles the moments that callers of origins waited for.
    mutating func originTimePassed(now: Moment) {
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
            // Records that are only asked for now have the whole delay.
            let since = lookup.holdsServices ? now : firstArrival(of: result, for: lookup.request, now: now)
            if lookup.holdsServices {
                lookup.holdsServices = false
                lookUpHeldServices(of: lookup, for: caller, after: result, now: now)
            }
            let isUsable = isUsable(result, for: lookup.request)
            // Records do not apply to addresses from a table or from the system.
            let isForeign = isUsable && !isOfService(result)
            event = .addresses(
                areUsable: isUsable && !isForeign,
                isFinal: isForeign || Self.isFinal(result),
                since: since
            )
        case .target(let host, let result):
            // An address from a table or from the system may belong to the local network.
            let isUsable = isUsable(result, for: lookup.request) && isOfService(result)
            if isUsable { lookup.targets[host] = try? result.get() }
            event = .target(host, isUsable: isUsable, since: firstArrival(of: result, for: lookup.request, now: now))
        case .services(let answer):
            lookup.services = answer
            let routes = usableRoutes(of: answer, for: lookup.request)
            event = .services(routes, areNeeded: lookup.request.needsRoutes(routes))
        }
        origins.all[caller] = lookup
        advance(caller, event, now: now)
    }

    /// Asks for records that waited for the addresses, but only if a service answered.
    private mutating func lookUpHeldServices(
        of lookup: OriginLookup,
        for caller: CallerID,
        after result: Result<LookupResult, ResolutionError>,
        now: Moment
    ) {
        guard isOfService(result) else { return origins.arrived.append((caller, .services(nil))) }
        let request = lookup.request
        let host = request.addresses.host
        lookUpServices(of: request.service, origin: host, for: caller, isFresh: lookup.isFresh, now: now)
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

    private mutating func deliver(to caller: CallerID, now: Moment) {
        guard let lookup = origins.remove(caller) else { return }
        // Lookups that have not ended continue for the cache.
        for part in lookup.parts {
            if let id = lookups.remove(caller: part) { lookups.change(id) { $0.isForCache = true } }
        }
        actions.append(.resume([caller], result(of: lookup, now: now)))
    }

    /// Removes a cancelled caller; false if it did not wait for an origin.
    mutating func cancelledOrigin(_ caller: CallerID) -> Bool {
        guard let lookup = origins.remove(caller) else { return false }
        for part in lookup.parts { cancelled(part) }
        return true
    }
}
