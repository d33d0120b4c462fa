// SPDX-License-Identifier: Apache-2.0

/// Who waits for which look-up: callers with the same question share one flight. A caller may leave; the flight lives
/// while one waits or while it is the resolver's own.
struct FlightTable<Key: Hashable & Sendable, Waiter: Sendable, Cargo: Sendable>: Sendable {
    /// One look-up under way.
    struct Flight: Sendable {
        let id: UInt64
        let key: Key
        /// What the shell keeps with it.
        var cargo: Cargo
        fileprivate var waiters = Waiters()
        /// The resolver wants the answer itself: to refresh the cache, or to complete an answer that was handed out.
        fileprivate(set) var isOwn = false
    }

    /// Those who wait for one look-up: mostly one, who needs no table.
    fileprivate struct Waiters: Sendable {
        private var first: (id: UInt64, waiter: Waiter)?
        private var others: [UInt64: Waiter] = [:]

        var ids: [UInt64] { (first.map { [$0.id] } ?? []) + others.keys }
        var all: [Waiter] { (first.map { [$0.waiter] } ?? []) + others.values }
        var isEmpty: Bool { first == nil && others.isEmpty }

        mutating func add(_ id: UInt64, _ waiter: Waiter) {
            if isEmpty { first = (id, waiter) } else { others[id] = waiter }
        }

        mutating func remove(_ id: UInt64) -> Waiter? {
            guard let first, first.id == id else { return others.removeValue(forKey: id) }
            self.first = nil
            return first.waiter
        }
    }

    private var flights: [UInt64: Flight] = [:]
    private var ids: [Key: UInt64] = [:]
    /// The flight of each waiter.
    private var places: [UInt64: UInt64] = [:]
    private var nextID: UInt64 = 0
    private let maxFlights: Int

    init(maxFlights: Int) {
        self.maxFlights = maxFlights
    }

    /// Flights under way.
    var count: Int { flights.count }

    /// All flights under way.
    var all: some Collection<Flight> { flights.values }

    /// A number that no other waiter has.
    mutating func makeID() -> UInt64 {
        nextID += 1
        return nextID
    }

    /// Lets `body` read or change what a flight's shell keeps, in its place; nil where the flight has ended.
    mutating func update<Result>(_ id: UInt64, _ body: (inout Cargo) -> Result) -> Result? {
        guard let index = flights.index(forKey: id) else { return nil }
        return body(&flights.values[index].cargo)
    }

    /// The flight for a key.
    func flight(for key: Key) -> UInt64? { ids[key] }

    /// Whether no more flights may start.
    var isFull: Bool { flights.count >= maxFlights }

    /// Starts a flight for a key that has none.
    mutating func start(_ key: Key, _ cargo: Cargo) -> UInt64 {
        let id = makeID()
        flights[id] = Flight(id: id, key: key, cargo: cargo)
        ids[key] = id
        return id
    }

    /// Adds a waiter to a flight.
    mutating func join(_ id: UInt64, _ waiterID: UInt64, _ waiter: Waiter) {
        guard let index = flights.index(forKey: id) else { return }
        flights.values[index].waiters.add(waiterID, waiter)
        places[waiterID] = id
    }

    /// Makes a flight the resolver's own: it goes on when nobody waits.
    mutating func own(_ id: UInt64) {
        guard let index = flights.index(forKey: id) else { return }
        flights.values[index].isOwn = true
    }

    /// Takes a waiter who does not want to wait any more out of its flight.
    ///
    /// - Returns: The waiter, if it was still there, and the flight's cargo, if nobody is left and it was ended.
    mutating func leave(_ waiterID: UInt64) -> (waiter: Waiter?, abandoned: Cargo?) {
        guard let id = places.removeValue(forKey: waiterID), let index = flights.index(forKey: id),
            let waiter = flights.values[index].waiters.remove(waiterID)
        else { return (nil, nil) }
        let isWanted = flights.values[index].isOwn || !flights.values[index].waiters.isEmpty
        return (waiter, isWanted ? nil : land(id)?.cargo)
    }

    /// Takes all waiters out of a flight, which goes on as the resolver's own.
    mutating func deliver(_ id: UInt64) -> [Waiter] {
        guard let index = flights.index(forKey: id) else { return [] }
        let waiters = flights.values[index].waiters
        flights.values[index].waiters = Waiters()
        flights.values[index].isOwn = true
        for waiter in waiters.ids { places[waiter] = nil }
        return waiters.all
    }

    /// Ends a flight.
    mutating func land(_ id: UInt64) -> Flight? {
        guard let flight = flights.removeValue(forKey: id) else { return nil }
        ids[flight.key] = nil
        for waiter in flight.waiters.ids { places[waiter] = nil }
        return flight
    }

    /// Ends all flights.
    mutating func landAll() -> [Flight] {
        flights.keys.compactMap { land($0) }
    }
}

extension FlightTable.Flight {
    /// The waiters, in no order.
    var allWaiters: [Waiter] { waiters.all }
}
