// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// Assigns connections to requests, as a value without locks, timers or sockets.
///
/// HTTP/1.1 connections are lent to one request at a time, the most recently used first, so that the others can expire. An HTTP/2
/// connection is lent to many. If no connection is free, the caller opens one while the origin has room, and waits otherwise.
/// While it is unknown whether the origin supports HTTP/2, later callers wait for the first connection.
struct PoolState<Key: Hashable & Sendable, Connection: AnyObject & Sendable>: Sendable {
    typealias WaiterID = Int

    enum Lease {
        case reuse(Connection)
        /// Open a connection, then call ``opened(_:key:capacity:isRetired:)`` or ``openingFailed(_:)``.
        case open
        /// Wait: a ``Wake`` names the waiter later.
        case wait(WaiterID)
        case full
    }

    /// Tells a waiter to use a connection or to open one.
    typealias Wake = (waiter: WaiterID, lease: Lease)

    /// A connection that is lent to several callers.
    private struct SharedConnection: Sendable {
        let connection: Connection
        var lent: Int
        var capacity: Int
    }

    private struct Origin: Sendable {
        var idle: [Connection] = []
        var shared: [SharedConnection] = []
        /// Connections that are lent to one caller or being opened.
        var busy = 0
        /// How many of `busy` are being opened.
        var opening = 0
        /// Whether connections can be shared; nil before the first one was opened.
        var shares: Bool?
        /// The capacity that a shared connection announced last; nil before. A new connection starts with no more,
        /// because its own announcement may come after its first requests.
        var announcedCapacity: Int?
        var waiters = Deque<WaiterID>()

        var isEmpty: Bool { idle.isEmpty && shared.isEmpty && busy == 0 && waiters.isEmpty }
        var count: Int { idle.count + shared.count + busy }
        /// The number of connections without a request.
        var resting: Int { idle.count + shared.count { $0.lent == 0 } }

        func sharedIndex(_ connection: Connection) -> Int? {
            shared.firstIndex { $0.connection === connection }
        }

        /// Takes a connection that can serve one more caller.
        mutating func reuse(
            fresh: Bool,
            isPreferred: (Connection) -> Bool,
            isAvoided: ((Connection) -> Bool)?
        ) -> Connection? {
            if let index = shared.firstIndex(where: { $0.lent < $0.capacity && !(isAvoided?($0.connection) ?? false) })
            {
                shared[index].lent += 1
                return shared[index].connection
            }
            guard !fresh, let last = idle.last else { return nil }
            if let isAvoided {
                guard let index = idle.lastIndex(where: { !isAvoided($0) }) else { return nil }
                busy += 1
                return idle.remove(at: index)
            }
            busy += 1
            if !isPreferred(last), let index = idle.lastIndex(where: isPreferred) { return idle.remove(at: index) }
            return idle.removeLast()
        }

        /// Wakes as many waiters as can be served now.
        mutating func wakeAll(limit: Int) -> [Wake] {
            guard !waiters.isEmpty else { return [] }
            var wakes: [Wake] = []
            for index in shared.indices {
                while shared[index].lent < shared[index].capacity, let waiter = waiters.popFirst() {
                    shared[index].lent += 1
                    wakes.append((waiter: waiter, lease: .reuse(shared[index].connection)))
                }
            }
            // If connections may be shared, open one at a time; otherwise as many as there is room for.
            while count < limit, shares == false || opening == 0, let waiter = waiters.popFirst() {
                busy += 1
                opening += 1
                wakes.append((waiter: waiter, lease: .open))
            }
            return wakes
        }
    }

    let connectionsPerOrigin: Int
    let waitersPerOrigin: Int
    let maxIdle: Int
    private var origins: [Key: Origin] = [:]
    private var nextWaiter = 0
    private(set) var idleCount = 0

    init(connectionsPerOrigin: Int, waitersPerOrigin: Int, maxIdle: Int) {
        self.connectionsPerOrigin = connectionsPerOrigin
        self.waitersPerOrigin = waitersPerOrigin
        self.maxIdle = maxIdle
    }

    /// The connection that a new caller would most likely get; nil if one would have to be opened.
    func next(_ key: Key) -> Connection? {
        origins[key].flatMap { $0.shared.first?.connection ?? $0.idle.last }
    }

    /// Whether the origin has no open connection yet and one is being opened.
    func isOpeningFirst(_ key: Key) -> Bool {
        guard let origin = origins[key] else { return false }
        return origin.opening > 0 && origin.count == origin.opening
    }

    /// Asks for a connection.
    ///
    /// - Parameters:
    ///   - fresh: whether the caller takes an idle unshared connection only if it would have to wait otherwise.
    ///   - mayShare: whether the origin may support HTTP/2.
    ///   - isPreferred: whether a connection suits the caller best, e.g. because it is on the caller's event loop.
    ///   - isAvoided: whether the caller takes a connection only if it would have to wait otherwise; nil: none is avoided.
    mutating func lease(
        _ key: Key,
        fresh: Bool,
        mayShare: Bool,
        isPreferred: (Connection) -> Bool,
        isAvoided: ((Connection) -> Bool)? = nil
    ) -> Lease {
        let (limit, queue, id) = (connectionsPerOrigin, waitersPerOrigin, nextWaiter + 1)
        let lease = change(key, makes: true) { origin -> Lease in
            if let connection = origin.reuse(fresh: fresh, isPreferred: isPreferred, isAvoided: isAvoided) {
                return .reuse(connection)
            }
            let waitsForFirst = mayShare && origin.shares != false && origin.opening > 0
            if !waitsForFirst, origin.count < limit {
                origin.busy += 1
                origin.opening += 1
                return .open
            }
            if fresh || isAvoided != nil,
                let connection = origin.reuse(fresh: false, isPreferred: isPreferred, isAvoided: nil)
            {
                return .reuse(connection)
            }
            guard origin.waiters.count < queue else { return .full }
            origin.waiters.append(id)
            return .wait(id)
        }
        if case .wait? = lease { nextWaiter = id }
        return lease ?? .full
    }

    /// Adds an opened connection and lends it to its opener.
    ///
    /// - Parameters:
    ///   - capacity: how many callers can share it, at most; nil if it serves one at a time.
    ///   - isRetired: whether it serves only its opener's request.
    mutating func opened(_ connection: Connection, key: Key, capacity: Int?, isRetired: Bool = false) -> [Wake] {
        changeAndWake(key) { origin in
            origin.opening -= 1
            origin.shares = capacity != nil
            guard let capacity else { return }
            origin.busy -= 1
            guard !isRetired else { return }
            let presumed = min(capacity, origin.announcedCapacity ?? capacity)
            origin.shared.append(SharedConnection(connection: connection, lent: 1, capacity: max(1, presumed)))
        }
    }

    /// Changes how many callers can share a connection.
    mutating func resize(_ connection: Connection, key: Key, capacity: Int) -> [Wake] {
        changeAndWake(key) { origin in
            // A server that is about to close announces 0.
            if capacity > 0 { origin.announcedCapacity = capacity }
            guard let index = origin.sharedIndex(connection) else { return }
            origin.shared[index].capacity = capacity
        }
    }

    /// Returns a lent connection. The result has the waiters to wake, and false for `keep` if the connection must be closed.
    mutating func release(_ connection: Connection, key: Key, isShared: Bool) -> (wakes: [Wake], keep: Bool) {
        let (limit, hasRoom) = (connectionsPerOrigin, idleCount < maxIdle)
        let released = change(key) { origin -> (wakes: [Wake], keep: Bool) in
            if let index = origin.sharedIndex(connection) {
                origin.shared[index].lent -= 1
                let wakes = origin.wakeAll(limit: limit)
                guard origin.shared[index].lent == 0, !hasRoom else { return (wakes, true) }
                origin.shared.remove(at: index)
                return (wakes, false)
            }
            // A withdrawn shared connection finishes its exchanges and accepts no more.
            if isShared { return ([], true) }
            if let waiter = origin.waiters.popFirst() { return ([(waiter: waiter, lease: .reuse(connection))], true) }
            // A connection that is not kept counts as busy until it reports that it is closed.
            guard hasRoom else { return ([], false) }
            origin.busy -= 1
            origin.idle.append(connection)
            return ([], true)
        }
        return released ?? ([], false)
    }

    /// Stops lending a shared connection.
    mutating func withdraw(_ connection: Connection, key: Key) -> [Wake] {
        changeAndWake(key) { origin in
            guard let index = origin.sharedIndex(connection) else { return }
            origin.shared.remove(at: index)
        }
    }

    mutating func closed(_ connection: Connection, key: Key, isShared: Bool) -> [Wake] {
        if isShared { return withdraw(connection, key: key) }
        return changeAndWake(key) { origin in
            if let index = origin.idle.lastIndex(where: { $0 === connection }) {
                origin.idle.remove(at: index)
            } else {
                origin.busy -= 1
            }
        }
    }

    /// Frees the place of a connection that was not opened.
    mutating func openingFailed(_ key: Key) -> [Wake] {
        changeAndWake(key) { origin in
            origin.busy -= 1
            origin.opening -= 1
        }
    }

    /// Removes a waiter. Returns false if it has already been woken.
    mutating func leave(_ waiter: WaiterID, key: Key) -> Bool {
        change(key) { origin in
            guard let index = origin.waiters.firstIndex(of: waiter) else { return false }
            origin.waiters.remove(at: index)
            return true
        } ?? false
    }

    /// Removes the connections without requests from the pool. The caller closes them.
    mutating func takeIdle() -> [Connection] {
        take { $0.lent == 0 }
    }

    /// Removes every connection that could serve another request. The caller closes each when its requests have ended.
    mutating func takeAll() -> [Connection] {
        take { _ in true }
    }

    private mutating func take(_ condition: (SharedConnection) -> Bool) -> [Connection] {
        var taken: [Connection] = []
        for key in Array(origins.keys) {
            change(key) { origin in
                taken += origin.idle
                taken += origin.shared.filter(condition).map(\.connection)
                // Their sockets stay open until ``closed(_:key:isShared:)``, which decrements `busy`.
                origin.busy += origin.idle.count
                origin.idle = []
                origin.shared.removeAll(where: condition)
            }
        }
        return taken
    }

    /// Changes an origin in place, because a copy would copy its lists. Removes the origin if it is empty afterwards.
    ///
    /// - Parameter makes: whether to create an unknown origin.
    @discardableResult
    private mutating func change<Value>(_ key: Key, makes: Bool = false, _ body: (inout Origin) -> Value) -> Value? {
        var found = origins.index(forKey: key)
        if found == nil, makes {
            origins[key] = Origin()
            found = origins.index(forKey: key)
        }
        guard let index = found else { return nil }
        let (value, isEmpty) = Self.change(&origins.values[index], count: &idleCount, body)
        if isEmpty { origins.remove(at: index) }
        return value
    }

    /// Changes an origin and the idle count in one access, because a second one would copy its lists.
    private static func change<Value>(
        _ origin: inout Origin,
        count: inout Int,
        _ body: (inout Origin) -> Value
    ) -> (value: Value, isEmpty: Bool) {
        let before = origin.resting
        let value = body(&origin)
        count += origin.resting - before
        return (value, origin.isEmpty)
    }

    private mutating func changeAndWake(_ key: Key, _ body: (inout Origin) -> Void) -> [Wake] {
        let limit = connectionsPerOrigin
        return change(key) { origin in
            body(&origin)
            return origin.wakeAll(limit: limit)
        } ?? []
    }
}
