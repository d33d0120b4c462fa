// SPDX-License-Identifier: Apache-2.0

extension Resolver {
    /// A lookup under way and its waiting callers. Callers with the same question share one. It lives while a caller
    /// waits, or while the resolver needs it for the cache.
    ///
    /// `@unchecked`: mutable state is accessed only under the lock of ``Resolver/state``.
    final class Lookup: @unchecked Sendable {
        let key: LookupKey
        let context: LookupContext
        var schedule: UpstreamSchedule
        /// Questions to upstreams under way.
        var tasks: [(upstream: Int, task: Task<Void, Never>)] = []
        /// Whether the lookup continues without callers: to refresh the cache, or to complete a delivered answer.
        var isOwn = false
        /// Whether the lookup has left the table; later results are ignored.
        fileprivate(set) var isOver = false
        /// Waiting callers, unordered.
        private(set) var callers: [Caller] = []
        /// When the first caller should get a stale answer; ``Moment/never`` if there is none.
        private(set) var staleAt = Moment.never

        /// When the lookup must be ticked.
        var nextTick: Moment {
            guard !isOver else { return .never }
            return schedule.hasAnswer ? schedule.nextTick : min(schedule.nextTick, staleAt)
        }

        init(_ key: LookupKey, _ context: LookupContext, _ schedule: UpstreamSchedule) {
            self.key = key
            self.context = context
            self.schedule = schedule
        }

        /// Adds a caller. At `staleAt` it gets the stale answer, if no new one has arrived.
        func add(_ caller: Caller, _ waiter: Caller.Waiter, staleAt moment: Moment) {
            caller.waiter = waiter
            caller.lookup = self
            caller.staleAt = moment
            staleAt = min(staleAt, moment)
            caller.place = callers.count
            callers.append(caller)
        }

        /// Removes a caller that no longer waits.
        func remove(_ caller: Caller) {
            caller.lookup = nil
            let last = callers.removeLast()
            guard last !== caller else { return }
            last.place = caller.place
            callers[caller.place] = last
        }

        /// Removes and returns all callers. Resume them after the lock is released.
        func takeCallers() -> [Caller] {
            for caller in callers { caller.lookup = nil }
            defer { (callers, staleAt) = ([], .never) }
            return callers
        }

        /// Removes and returns the callers whose `staleAt` has passed.
        func takeLateCallers(_ now: Moment) -> [Caller] {
            let late = callers.filter { $0.staleAt <= now }
            for caller in late { remove(caller) }
            // Thousands of callers may have joined at different times; scan them at most 100 times a second.
            staleAt = callers.map(\.staleAt).min().map { max($0, now + .milliseconds(10)) } ?? .never
            return late
        }

        /// Lets the callers wait on, because there is no usable stale answer.
        func keepLateCallers() { staleAt = .never }
    }

    /// A caller that waits for a lookup.
    ///
    /// `@unchecked`: as ``Lookup``. Only the code that removed it from its lookup resumes it.
    final class Caller: @unchecked Sendable {
        typealias Waiter = CheckedContinuation<Result<LookupResult, ResolutionError>, Never>

        fileprivate(set) var lookup: Lookup?
        fileprivate var place = 0
        fileprivate var staleAt = Moment.never
        fileprivate var waiter: Waiter?

        func resume(returning result: Result<LookupResult, ResolutionError>) {
            waiter?.resume(returning: result)
        }
    }

    /// The lookups under way, one per key.
    struct OngoingLookups {
        private var lookups: [LookupKey: Lookup] = [:]

        /// The number of lookups under way.
        var count: Int { lookups.count }

        /// All lookups under way.
        var all: some Collection<Lookup> { lookups.values }

        subscript(key: LookupKey) -> Lookup? { lookups[key] }

        /// Adds a lookup whose key has none.
        mutating func start(_ lookup: Lookup) { lookups[lookup.key] = lookup }

        /// Ends a lookup and returns its callers.
        mutating func land(_ lookup: Lookup) -> [Caller] {
            guard !lookup.isOver else { return [] }
            lookup.isOver = true
            lookups[lookup.key] = nil
            return lookup.takeCallers()
        }
    }
}
