// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// Which connection serves whom, as a value: no lock, no timer, no socket.
///
/// Connections of HTTP/1.1 are lent by origin, the youngest first, so that the rest can grow old and be closed. One of HTTP/2 is
/// lent to many at a time. A caller that finds none opens one itself while the origin has room, else waits its turn; while
/// nobody knows yet whether an origin speaks HTTP/2, the second caller waits for what the first one learns.
struct PoolState<Key: Hashable & Sendable, Connection: AnyObject & Sendable>: Sendable {
    typealias WaiterID = Int

    enum Lease {
        /// Use this one.
        case reuse(Connection)
        /// Open one, then say ``opened(_:_:capacity:)`` or ``openingFailed(_:)``.
        case open
        /// Wait: ``Wake`` names the waiter later.
        case wait(WaiterID)
        /// The queue is full.
        case full
    }

    /// What somebody who waits is told.
    enum Wake {
        case reuse(WaiterID, Connection)
        case open(WaiterID)
    }

    /// A connection that is lent to many.
    private struct Shared: Sendable {
        let connection: Connection
        var lent: Int
        var capacity: Int
    }

    private struct Origin: Sendable {
        var idle: [Connection] = []
        var shared: [Shared] = []
        /// Connections lent to one caller or being opened.
        var busy = 0
        /// Those of `busy` that are being opened.
        var opening = 0
        /// Whether its connections can be shared; nil before the first one was opened.
        var shares: Bool?
        var waiters = Deque<WaiterID>()

        var isEmpty: Bool { idle.isEmpty && shared.isEmpty && busy == 0 && waiters.isEmpty }
        var count: Int { idle.count + shared.count + busy }
    }

    let connectionsPerOrigin: Int
    let waitersPerOrigin: Int
    let maximumIdle: Int
    private var origins: [Key: Origin] = [:]
    private var nextWaiter = 0
    private(set) var idleCount = 0

    init(connectionsPerOrigin: Int, waitersPerOrigin: Int, maximumIdle: Int) {
        self.connectionsPerOrigin = connectionsPerOrigin
        self.waitersPerOrigin = waitersPerOrigin
        self.maximumIdle = maximumIdle
    }

    /// Asks for a connection.
    ///
    /// - Parameters:
    ///   - fresh: whether a kept connection that serves one at a time will not do.
    ///   - mayShare: whether the origin may turn out to speak HTTP/2.
    ///   - isPreferred: a connection that suits the caller best, e.g. one on its own event loop.
    mutating func lease(_ key: Key, fresh: Bool, mayShare: Bool, isPreferred: (Connection) -> Bool) -> Lease {
        var origin = origins[key] ?? Origin()
        defer { origins[key] = origin }
        if let index = origin.shared.firstIndex(where: { $0.lent < $0.capacity }) {
            origin.shared[index].lent += 1
            return .reuse(origin.shared[index].connection)
        }
        if !fresh, let last = origin.idle.last {
            idleCount -= 1
            origin.busy += 1
            if !isPreferred(last), let index = origin.idle.lastIndex(where: isPreferred) {
                return .reuse(origin.idle.remove(at: index))
            }
            return .reuse(origin.idle.removeLast())
        }
        let waitsForFirst = mayShare && origin.shares != false && origin.opening > 0
        if !waitsForFirst, origin.count < connectionsPerOrigin {
            origin.busy += 1
            origin.opening += 1
            return .open
        }
        guard origin.waiters.count < waitersPerOrigin else { return .full }
        nextWaiter += 1
        origin.waiters.append(nextWaiter)
        return .wait(nextWaiter)
    }

    /// A connection stands, and is lent to its opener.
    ///
    /// - Parameter capacity: how many it can be lent to at a time; nil where it serves one.
    mutating func opened(_ connection: Connection, _ key: Key, capacity: Int?) -> [Wake] {
        guard origins[key] != nil else { return [] }
        origins[key]?.opening -= 1
        origins[key]?.shares = capacity != nil
        if let capacity {
            origins[key]?.busy -= 1
            origins[key]?.shared.append(Shared(connection: connection, lent: 1, capacity: max(1, capacity)))
        }
        return wakeAll(key)
    }

    /// A shared connection can be lent to another number at a time.
    mutating func resize(_ connection: Connection, _ key: Key, capacity: Int) -> [Wake] {
        guard let index = sharedIndex(connection, key) else { return [] }
        origins[key]?.shared[index].capacity = capacity
        return wakeAll(key)
    }

    /// A lent connection is free again. Returns who gets it, or false where it should be closed instead.
    mutating func release(_ connection: Connection, _ key: Key) -> (wakes: [Wake], keep: Bool) {
        if let index = sharedIndex(connection, key) {
            origins[key]?.shared[index].lent -= 1
            return (wakeAll(key), true)
        }
        guard var origin = origins[key] else { return ([], false) }
        defer { store(origin, key) }
        if let waiter = origin.waiters.popFirst() { return ([.reuse(waiter, connection)], true) }
        // One that is not kept stays busy until it says that it closed.
        guard idleCount < maximumIdle else { return ([], false) }
        origin.busy -= 1
        origin.idle.append(connection)
        idleCount += 1
        return ([], true)
    }

    /// A shared connection is lent to nobody any more.
    mutating func withdraw(_ connection: Connection, _ key: Key) -> [Wake] {
        guard let index = sharedIndex(connection, key) else { return [] }
        origins[key]?.shared.remove(at: index)
        return wakeAll(key)
    }

    /// A connection that was opened is gone.
    mutating func closed(_ connection: Connection, _ key: Key, isShared: Bool) -> [Wake] {
        if isShared { return withdraw(connection, key) }
        if let index = origins[key]?.idle.lastIndex(where: { $0 === connection }) {
            origins[key]?.idle.remove(at: index)
            idleCount -= 1
        } else {
            origins[key]?.busy -= 1
        }
        return wakeAll(key)
    }

    /// Opening failed, or the opener left.
    mutating func openingFailed(_ key: Key) -> [Wake] {
        origins[key]?.busy -= 1
        origins[key]?.opening -= 1
        return wakeAll(key)
    }

    /// Somebody who waited left. Returns false where the wake was already on its way.
    mutating func leave(_ waiter: WaiterID, _ key: Key) -> Bool {
        guard var origin = origins[key], let index = origin.waiters.firstIndex(of: waiter) else { return false }
        origin.waiters.remove(at: index)
        store(origin, key)
        return true
    }

    /// Forgets the connections that serve nobody and gives them out, to be closed.
    mutating func takeIdle() -> [Connection] {
        take { $0.lent == 0 }
    }

    /// Forgets every connection that could serve another caller and gives them out, to be closed when they serve nobody.
    mutating func takeAll() -> [Connection] {
        take { _ in true }
    }

    private mutating func take(_ condition: (Shared) -> Bool) -> [Connection] {
        var taken: [Connection] = []
        for (key, var origin) in origins where !origin.idle.isEmpty || !origin.shared.isEmpty {
            taken += origin.idle
            taken += origin.shared.filter(condition).map(\.connection)
            origin.idle = []
            origin.shared.removeAll(where: condition)
            store(origin, key)
        }
        idleCount = 0
        return taken
    }

    private func sharedIndex(_ connection: Connection, _ key: Key) -> Int? {
        origins[key]?.shared.firstIndex { $0.connection === connection }
    }

    /// Wakes as many as can be served now.
    private mutating func wakeAll(_ key: Key) -> [Wake] {
        guard var origin = origins[key] else { return [] }
        defer { store(origin, key) }
        var wakes: [Wake] = []
        for index in origin.shared.indices {
            while origin.shared[index].lent < origin.shared[index].capacity, let waiter = origin.waiters.popFirst() {
                origin.shared[index].lent += 1
                wakes.append(.reuse(waiter, origin.shared[index].connection))
            }
        }
        // Where connections are shared, one more at a time is opened; else as many as there is room for.
        while origin.count < connectionsPerOrigin, origin.shares == false || origin.opening == 0,
            let waiter = origin.waiters.popFirst()
        {
            origin.busy += 1
            origin.opening += 1
            wakes.append(.open(waiter))
        }
        return wakes
    }

    private mutating func store(_ origin: Origin, _ key: Key) {
        origins[key] = origin.isEmpty ? nil : origin
    }
}
