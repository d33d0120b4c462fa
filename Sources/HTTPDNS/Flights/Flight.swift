// SPDX-License-Identifier: Apache-2.0

extension Resolver {
    /// A look-up under way and its waiting callers. Callers with the same question share one. It lives while a caller
    /// waits, or while the resolver needs it for the cache.
    ///
    /// `@unchecked`: mutable state is accessed only under the lock of ``Resolver/state``.
    final class Flight: @unchecked Sendable {
        let key: FlightKey
        let errand: Errand
        var inquiry: Inquiry
        /// Questions to upstreams under way.
        var tasks: [(upstream: Int, task: Task<Void, Never>)] = []
        /// Whether the look-up continues without callers: to refresh the cache, or to complete a delivered answer.
        var isOwn = false
        /// Whether the look-up has left the table; later results are ignored.
        fileprivate(set) var isOver = false
        /// Waiting callers, unordered.
        private(set) var callers: [Caller] = []
        /// When the first caller should get a stale answer; ``Moment/never`` if there is none.
        private(set) var staleAt = Moment.never

        /// When the look-up must be ticked.
        var nextTick: Moment {
            guard !isOver else { return .never }
            return inquiry.hasAnswer ? inquiry.nextTick : min(inquiry.nextTick, staleAt)
        }

        init(_ key: FlightKey, _ errand: Errand, _ inquiry: Inquiry) {
            self.key = key
            self.errand = errand
            self.inquiry = inquiry
        }

        /// Adds a caller. At `staleAt` it gets the stale answer, if no new one has arrived.
        func add(_ caller: Caller, _ waiter: Caller.Waiter, staleAt moment: Moment) {
            caller.waiter = waiter
            caller.flight = self
            caller.staleAt = moment
            staleAt = min(staleAt, moment)
            caller.place = callers.count
            callers.append(caller)
        }

        /// Removes a caller that no longer waits.
        func remove(_ caller: Caller) {
            caller.flight = nil
            let last = callers.removeLast()
            guard last !== caller else { return }
            last.place = caller.place
            callers[caller.place] = last
        }

        /// Removes and returns all callers. Resume them after the lock is released.
        func takeCallers() -> [Caller] {
            for caller in callers { caller.flight = nil }
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

    /// A caller that waits for a look-up.
    ///
    /// `@unchecked`: as ``Flight``. Only the code that removed it from its look-up resumes it.
    final class Caller: @unchecked Sendable {
        typealias Waiter = CheckedContinuation<Result<Landing, ResolutionError>, Never>

        fileprivate(set) var flight: Flight?
        fileprivate var place = 0
        fileprivate var staleAt = Moment.never
        fileprivate var waiter: Waiter?

        func resume(returning result: Result<Landing, ResolutionError>) {
            waiter?.resume(returning: result)
        }
    }

    /// The look-ups under way, one per key.
    struct FlightTable {
        private var flights: [FlightKey: Flight] = [:]

        /// The number of look-ups under way.
        var count: Int { flights.count }

        /// All look-ups under way.
        var all: some Collection<Flight> { flights.values }

        subscript(key: FlightKey) -> Flight? { flights[key] }

        /// Adds a look-up whose key has none.
        mutating func start(_ flight: Flight) { flights[flight.key] = flight }

        /// Ends a look-up and returns its callers.
        mutating func land(_ flight: Flight) -> [Caller] {
            guard !flight.isOver else { return [] }
            flight.isOver = true
            flights[flight.key] = nil
            return flight.takeCallers()
        }
    }
}
