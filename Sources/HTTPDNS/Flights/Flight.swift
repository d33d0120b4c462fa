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

        init(_ key: FlightKey, _ errand: Errand, _ inquiry: Inquiry) {
            self.key = key
            self.errand = errand
            self.inquiry = inquiry
        }

        func add(_ caller: Caller, _ waiter: Caller.Waiter) {
            caller.waiter = waiter
            caller.flight = self
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
            defer { callers = [] }
            return callers
        }
    }

    /// Somebody who waits for a look-up.
    ///
    /// `@unchecked`: as ``Flight``. Who took it out of its flight resumes it, nobody else.
    final class Caller: @unchecked Sendable {
        typealias Waiter = CheckedContinuation<Result<Landing, ResolutionError>, Never>

        fileprivate(set) var flight: Flight?
        fileprivate var place = 0
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
