// SPDX-License-Identifier: Apache-2.0

import Names

/// A question of a lookup of HTTPS records to one upstream.
struct PendingServiceQuestion: Sendable {
    /// Identifies the question.
    struct ID: Hashable, Sendable {
        let lookup: LookupID
        let upstream: Int
        /// The number of the question in its lookup.
        let number: Int
    }

    let id: ID
    let question: ServiceQuestion
}

/// A lookup of HTTPS records under way, and the callers that wait for it. Without callers it continues for the cache.
struct ServiceLookup {
    let key: LookupKey
    /// The request for the name that has the records.
    let request: LookupRequest
    let scope: CacheScope
    let network: String
    var schedule: ServiceSchedule
    var callers: [CallerID] = []
    /// The question under way.
    var question: PendingServiceQuestion.ID?
    var questions = 0
}

/// The upstreams that drop questions for HTTPS records. They are not asked for records for a while, so that not every
/// new name is delayed.
struct ServiceSilence {
    /// The number of consecutive dropped questions after which an upstream is not asked.
    static let maxTimeouts = 3
    /// How long such an upstream is not asked.
    static let pause = Duration.seconds(120)

    private var timeouts: [Int: Int] = [:]
    private var pausedUntil: [Int: Moment] = [:]

    mutating func timedOut(_ upstream: Int, now: Moment) {
        timeouts[upstream, default: 0] += 1
        guard timeouts[upstream, default: 0] >= Self.maxTimeouts else { return }
        timeouts[upstream] = 0
        pausedUntil[upstream] = now + Self.pause
    }

    mutating func answered(_ upstream: Int) {
        timeouts[upstream] = nil
        pausedUntil[upstream] = nil
    }

    func isPaused(_ upstream: Int, now: Moment) -> Bool { now < pausedUntil[upstream] ?? .past }
}

/// The lookups of HTTPS records under way, one for each name.
struct ServiceLookups {
    private(set) var all: [LookupID: ServiceLookup] = [:]
    private var ids: [LookupKey: LookupID] = [:]
    private var lastID = 0

    subscript(key: LookupKey) -> LookupID? { ids[key] }

    subscript(id: LookupID) -> ServiceLookup? {
        get { all[id] }
        set { if all[id] != nil, let newValue { all[id] = newValue } }
    }

    /// When the first lookup must be ticked.
    var nextTick: Moment { all.values.lazy.map(\.schedule.nextTick).min() ?? .never }

    /// The lookups that must be ticked now, in the order in which they started.
    func due(at now: Moment) -> [LookupID] { all.filter { $0.value.schedule.nextTick <= now }.map(\.key).sorted() }

    mutating func start(_ lookup: ServiceLookup) -> LookupID {
        lastID += 1
        ids[lookup.key] = lastID
        all[lastID] = lookup
        return lastID
    }

    mutating func remove(_ id: LookupID) -> ServiceLookup? {
        guard let lookup = all.removeValue(forKey: id) else { return nil }
        ids[lookup.key] = nil
        return lookup
    }
}

/// A caller that waits for the endpoints of an origin, and the results that have arrived for it.
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
