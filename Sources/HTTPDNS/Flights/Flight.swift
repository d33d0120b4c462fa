// SPDX-License-Identifier: Apache-2.0

extension Resolver {
    /// A look-up under way, and who waits for it: callers with the same question share one. It lives while one of them
    /// waits, or while it is the resolver's own.
    ///
    /// `@unchecked`: what changes is read and changed under the lock of ``Resolver/state`` alone.
    final class Flight: @unchecked Sendable {
        let key: FlightKey
        let errand: Errand
        var inquiry: Inquiry
        /// Questions to upstreams under way.
        var tasks: [(upstream: Int, task: Task<Void, Never>)] = []
        /// The resolver wants the answer itself: to refresh the cache, or to complete an answer that was handed out.
        var isOwn = false
        /// It has left the table: nothing that comes counts any more.
        fileprivate(set) var isOver = false
        /// In no order.
        private(set) var callers: [Caller] = []
        /// When the first of the callers has waited as long as it should for a new answer, where an old one is at hand.
        private(set) var staleAt = Moment.never

        /// When the clock must be looked at.
        var nextTick: Moment {
            guard !isOver else { return .never }
            return inquiry.hasAnswer ? inquiry.nextTick : min(inquiry.nextTick, staleAt)
        }

        init(_ key: FlightKey, _ errand: Errand, _ inquiry: Inquiry) {
            self.key = key
            self.errand = errand
            self.inquiry = inquiry
        }

        /// Adds a caller, who waits for a new answer until `staleAt` where an old one is at hand.
        func add(_ caller: Caller, _ waiter: Caller.Waiter, staleAt moment: Moment) {
            caller.waiter = waiter
            caller.flight = self
            caller.staleAt = moment
            staleAt = min(staleAt, moment)
            caller.place = callers.count
            callers.append(caller)
        }

        /// Takes a caller out who does not want to wait any more.
        func remove(_ caller: Caller) {
            caller.flight = nil
            let last = callers.removeLast()
            guard last !== caller else { return }
            last.place = caller.place
            callers[caller.place] = last
        }

        /// Takes all callers out, to be resumed when the lock is free.
        func takeCallers() -> [Caller] {
            for caller in callers { caller.flight = nil }
            defer { (callers, staleAt) = ([], .never) }
            return callers
        }

        /// Takes out the callers who have waited long enough for a new answer.
        func takeLateCallers(_ now: Moment) -> [Caller] {
            let late = callers.filter { $0.staleAt <= now }
            for caller in late { remove(caller) }
            // Thousands may have joined one after the other: they are looked through a hundred times a second at the most.
            staleAt = callers.map(\.staleAt).min().map { max($0, now + .milliseconds(10)) } ?? .never
            return late
        }

        /// The callers wait on: no old answer can be used.
        func keepLateCallers() { staleAt = .never }
    }

    /// Somebody who waits for a look-up.
    ///
    /// `@unchecked`: as ``Flight``. Who took it out of its flight resumes it, nobody else.
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

    /// The look-ups under way, one for each question.
    struct FlightTable {
        private var flights: [FlightKey: Flight] = [:]

        /// Look-ups under way.
        var count: Int { flights.count }

        /// All look-ups under way.
        var all: some Collection<Flight> { flights.values }

        subscript(key: FlightKey) -> Flight? { flights[key] }

        /// Takes in a flight for a question that has none.
        mutating func start(_ flight: Flight) { flights[flight.key] = flight }

        /// Ends a flight; gives those who wait for it.
        mutating func land(_ flight: Flight) -> [Caller] {
            guard !flight.isOver else { return [] }
            flight.isOver = true
            flights[flight.key] = nil
            return flight.takeCallers()
        }
    }
}
