// SPDX-License-Identifier: Apache-2.0

import Names

/// A caller that waits for the endpoints of an origin, and what has arrived for it.
struct OriginLookup {
    let request: OriginRequest
    var schedule: OriginSchedule
    /// Whether cached answers are ignored.
    let isFresh: Bool
    /// Whether the records are asked for only after the addresses, because a table may have the name.
    var holdsServices = false
    /// The callers that represent this one in lookups of addresses.
    var parts: [CallerID] = []
    var addresses: Result<LookupResult, ResolutionError>?
    var services: ServiceAnswer?
    var targets: [Host: LookupResult] = [:]
}

/// The callers that wait for the endpoints of origins.
///
/// Each joins shared lookups of addresses as a caller with a negative number. The results of these lookups are
/// collected in ``arrived`` and handled at the end of the event.
struct OriginLookups {
    /// A result that an origin's caller waited for.
    enum Arrival {
        case addresses(Result<LookupResult, ResolutionError>)
        case target(Host, Result<LookupResult, ResolutionError>)
        case services(ServiceAnswer?)
    }

    var all: [CallerID: OriginLookup] = [:]
    /// For each part, the origin's caller and the target that the part waits for. The target is nil for the origin's
    /// own addresses.
    private var parts: [CallerID: (caller: CallerID, target: Host?)] = [:]
    private var lastPart: CallerID = 0
    var arrived: [(caller: CallerID, Arrival)] = []

    /// When the first caller should get its results.
    var nextTick: Moment { all.values.lazy.map(\.schedule.deadline).min() ?? .never }

    func due(at now: Moment) -> [CallerID] { all.filter { $0.value.schedule.deadline <= now }.map(\.key).sorted() }

    /// Adds a part of a caller.
    mutating func addPart(of caller: CallerID, target: Host? = nil) -> CallerID {
        lastPart -= 1
        parts[lastPart] = (caller, target)
        all[caller]?.parts.append(lastPart)
        return lastPart
    }

    /// Records the results for parts, and returns the callers that are not parts.
    mutating func take(_ callers: [CallerID], with result: Result<LookupResult, ResolutionError>) -> [CallerID] {
        guard callers.contains(where: { $0 < 0 }) else { return callers }
        return callers.filter { caller in
            guard caller < 0 else { return true }
            if let part = parts.removeValue(forKey: caller) {
                all[part.caller]?.parts.removeAll { $0 == caller }
                arrived.append((part.caller, part.target.map { .target($0, result) } ?? .addresses(result)))
            }
            return false
        }
    }

    /// Removes a caller; nil if it did not wait. Its parts are removed too.
    mutating func remove(_ caller: CallerID) -> OriginLookup? {
        guard let lookup = all.removeValue(forKey: caller) else { return nil }
        for part in lookup.parts { parts[part] = nil }
        return lookup
    }
}
