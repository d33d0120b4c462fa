// SPDX-License-Identifier: Apache-2.0

import Names

/// Identifies a caller that waits for a lookup; no two have the same.
typealias CallerID = Int

/// The parameters of a lookup.
struct LookupContext: Sendable {
    let request: LookupRequest
    let scope: CacheScope
    let network: String
    /// Whether answers of the system are not checked, for names that belong to it.
    let isTrusted: Bool
    /// Whether to ignore shared answers.
    let isFresh: Bool
    /// The ``UpstreamHealth/generation`` when the lookup started.
    let generation: Int
}

/// A question of a lookup to one upstream.
struct UpstreamQuestion: Sendable {
    /// Identifies the question. A lookup asks an upstream once for a family.
    struct ID: Hashable, Sendable {
        let lookup: LookupID
        let upstream: Int
        let families: Families
    }

    let id: ID
    /// The parameters of the lookup.
    let context: LookupContext

    /// The question that the upstream gets.
    var question: Question {
        Question(context.request.host, families: id.families, subnet: context.request.subnet)
    }
}

/// A lookup under way and its waiting callers. It lives while a caller waits, or while it is needed for the cache.
struct Lookup: KeyedLookup {
    let key: LookupKey
    let context: LookupContext
    var schedule: UpstreamSchedule
    /// Questions to upstreams under way.
    var questions: [UpstreamQuestion.ID] = []
    /// Whether the lookup continues without callers: to refresh the cache, or to complete a delivered answer.
    var isForCache = false
    /// Waiting callers, unordered, and when each gets a stale answer.
    fileprivate(set) var callers: [(id: CallerID, staleAt: Moment)] = []
    /// When the first caller should get a stale answer; ``Moment/never`` if there is none.
    fileprivate(set) var staleAt = Moment.never

    /// When the lookup must be ticked.
    var nextTick: Moment { schedule.hasAnswer ? schedule.nextTick : min(schedule.nextTick, staleAt) }
}

/// The lookups of addresses under way, one for each key, and their callers.
struct OngoingLookups {
    private var lookups = LookupTable<Lookup>()
    /// The lookup of each caller, and the caller's place in it.
    private var callers: [CallerID: (lookup: LookupID, place: Int)] = [:]

    // MARK: Lookups, as in `LookupTable`

    var count: Int { lookups.count }
    var ids: [LookupID] { lookups.ids }
    var nextTick: Moment { lookups.nextTick }

    subscript(key: LookupKey) -> LookupID? { lookups[key] }
    subscript(id: LookupID) -> Lookup? { lookups[id] }

    @discardableResult
    mutating func change<Value>(_ id: LookupID, _ body: (inout Lookup) -> Value) -> Value? {
        lookups.change(id, body)
    }

    func due(at now: Moment) -> [LookupID] { lookups.due(at: now) }

    mutating func start(_ lookup: Lookup) -> LookupID { lookups.start(lookup) }

    /// Removes a lookup; nil if it has ended. Its callers then wait for no lookup.
    mutating func remove(_ id: LookupID) -> Lookup? {
        guard let lookup = lookups.remove(id) else { return nil }
        for caller in lookup.callers { callers[caller.id] = nil }
        return lookup
    }

    // MARK: Callers

    /// The number of callers that wait.
    var callerCount: Int { callers.count }

    /// Adds a caller to a lookup. At `staleAt` it gets the stale answer, if no new one has arrived.
    mutating func add(_ caller: CallerID, to id: LookupID, staleAt moment: Moment) {
        let place = change(id) { lookup in
            lookup.staleAt = min(lookup.staleAt, moment)
            lookup.callers.append((caller, moment))
            return lookup.callers.count - 1
        }
        if let place { callers[caller] = (id, place) }
    }

    /// Removes a caller that no longer waits.
    ///
    /// - Returns: Its lookup; nil if the caller did not wait.
    mutating func remove(caller: CallerID) -> LookupID? {
        guard let (id, place) = callers.removeValue(forKey: caller) else { return nil }
        // The last caller takes the free place, so that removing a thousand cancelled callers takes only a thousand
        // steps.
        let moved = lookups.change(id) { lookup -> CallerID? in
            guard let last = lookup.callers.popLast(), last.id != caller else { return nil }
            lookup.callers[place] = last
            return last.id
        }
        if let moved = moved.flatMap(\.self) { callers[moved]?.place = place }
        return id
    }

    /// Removes and returns all callers of a lookup.
    mutating func takeCallers(of id: LookupID) -> [CallerID] {
        let taken = lookups.change(id) { lookup in
            defer { (lookup.callers, lookup.staleAt) = ([], .never) }
            return lookup.callers.map(\.id)
        }
        for caller in taken ?? [] { callers[caller] = nil }
        return taken ?? []
    }

    /// Removes and returns the callers of a lookup that should get a stale answer now.
    mutating func takeLateCallers(of id: LookupID, now: Moment) -> [CallerID] {
        let late = (lookups[id]?.callers ?? []).filter { $0.staleAt <= now }.map(\.id)
        for caller in late { _ = remove(caller: caller) }
        // Thousands of callers may have joined at different times. Scan them at most 100 times a second.
        lookups.change(id) { lookup in
            lookup.staleAt = lookup.callers.map(\.staleAt).min().map { max($0, now + .milliseconds(10)) } ?? .never
        }
        return late
    }

    /// Lets the callers of a lookup continue to wait, because there is no usable stale answer.
    mutating func keepLateCallers(of id: LookupID) { lookups.change(id) { $0.staleAt = .never } }

    /// Removes and returns the questions of a lookup to an upstream.
    mutating func takeQuestions(of id: LookupID, to upstream: Int) -> [UpstreamQuestion.ID] {
        lookups.change(id) { lookup in
            defer { lookup.questions.removeAll { $0.upstream == upstream } }
            return lookup.questions.filter { $0.upstream == upstream }
        } ?? []
    }
}
