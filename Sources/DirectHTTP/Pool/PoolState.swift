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
        /// Connections that serve no request.
        var resting: Int { idle.count + shared.count { $0.lent == 0 } }

        func sharedIndex(_ connection: Connection) -> Int? {
            shared.firstIndex { $0.connection === connection }
        }

        /// A connection that can serve one caller more.
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

        /// Wakes as many as can be served now.
        mutating func wakeAll(limit: Int) -> [Wake] {
            guard !waiters.isEmpty else { return [] }
            var wakes: [Wake] = []
            for index in shared.indices {
                while shared[index].lent < shared[index].capacity, let waiter = waiters.popFirst() {
                    shared[index].lent += 1
                    wakes.append(.reuse(waiter, shared[index].connection))
                }
            }
            // Where connections are shared, one more at a time is opened; else as many as there is room for.
            while count < limit, shares == false || opening == 0, let waiter = waiters.popFirst() {
                busy += 1
                opening += 1
                wakes.append(.open(waiter))
            }
            return wakes
        }
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

    /// The connection that somebody who asked now would most likely be given; nil where it would have to be opened.
    func next(_ key: Key) -> Connection? {
        origins[key].flatMap { $0.shared.first?.connection ?? $0.idle.last }
    }

    /// Whether no connection of an origin stands, and one is being opened: others than it need not be waited for.
    func isOpeningFirst(_ key: Key) -> Bool {
        guard let origin = origins[key] else { return false }
        return origin.opening > 0 && origin.count == origin.opening
    }

    /// Asks for a connection.
    ///
    /// - Parameters:
    ///   - fresh: whether a kept connection that serves one at a time will not do.
    ///   - mayShare: whether the origin may turn out to speak HTTP/2.
    ///   - isPreferred: a connection that suits the caller best, e.g. one on its own event loop.
    ///   - isAvoided: a connection that the caller takes only where it would have to wait for another; nil: none.
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
            if isAvoided != nil,
                let connection = origin.reuse(fresh: fresh, isPreferred: isPreferred, isAvoided: nil)
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

    /// A connection stands, and is lent to its opener.
    ///
    /// - Parameters:
    ///   - capacity: how many it can be lent to at a time; nil where it serves one.
    ///   - isRetired: whether it is lent to its opener only, and to no other request after that.
    mutating func opened(_ connection: Connection, _ key: Key, capacity: Int?, isRetired: Bool = false) -> [Wake] {
        changeAndWake(key) { origin in
            origin.opening -= 1
            origin.shares = capacity != nil
            guard let capacity else { return }
            origin.busy -= 1
            guard !isRetired else { return }
            origin.shared.append(Shared(connection: connection, lent: 1, capacity: max(1, capacity)))
        }
    }

    /// A shared connection can be lent to another number at a time.
    mutating func resize(_ connection: Connection, _ key: Key, capacity: Int) -> [Wake] {
        changeAndWake(key) { origin in
            guard let index = origin.sharedIndex(connection) else { return }
            origin.shared[index].capacity = capacity
        }
    }

    /// A lent connection is free again. Returns who gets it, or false where it should be closed instead.
    mutating func release(_ connection: Connection, _ key: Key, isShared: Bool) -> (wakes: [Wake], keep: Bool) {
        let (limit, hasRoom) = (connectionsPerOrigin, idleCount < maximumIdle)
        let released = change(key) { origin -> (wakes: [Wake], keep: Bool) in
            if let index = origin.sharedIndex(connection) {
                origin.shared[index].lent -= 1
                let wakes = origin.wakeAll(limit: limit)
                guard origin.shared[index].lent == 0, !hasRoom else { return (wakes, true) }
                origin.shared.remove(at: index)
                return (wakes, false)
            }
            // A shared one that was withdrawn goes on to serve those that it serves, and nobody else.
            if isShared { return ([], true) }
            if let waiter = origin.waiters.popFirst() { return ([.reuse(waiter, connection)], true) }
            // One that is not kept stays busy until it says that it closed.
            guard hasRoom else { return ([], false) }
            origin.busy -= 1
            origin.idle.append(connection)
            return ([], true)
        }
        return released ?? ([], false)
    }

    /// A shared connection is lent to nobody any more.
    mutating func withdraw(_ connection: Connection, _ key: Key) -> [Wake] {
        changeAndWake(key) { origin in
            guard let index = origin.sharedIndex(connection) else { return }
            origin.shared.remove(at: index)
        }
    }

    /// A connection that was opened is gone.
    mutating func closed(_ connection: Connection, _ key: Key, isShared: Bool) -> [Wake] {
        if isShared { return withdraw(connection, key) }
        return changeAndWake(key) { origin in
            if let index = origin.idle.lastIndex(where: { $0 === connection }) {
                origin.idle.remove(at: index)
            } else {
                origin.busy -= 1
            }
        }
    }

    /// Opening failed, or the opener left.
    mutating func openingFailed(_ key: Key) -> [Wake] {
        changeAndWake(key) { origin in
            origin.busy -= 1
            origin.opening -= 1
        }
    }

    /// Somebody who waited left. Returns false where the wake was already on its way.
    mutating func leave(_ waiter: WaiterID, _ key: Key) -> Bool {
        change(key) { origin in
            guard let index = origin.waiters.firstIndex(of: waiter) else { return false }
            origin.waiters.remove(at: index)
            return true
        } ?? false
    }

    /// Takes the connections that serve no request out of the pool, to be closed.
    mutating func takeIdle() -> [Connection] {
        take { $0.lent == 0 }
    }

    /// Takes every connection that could serve another request out of the pool, to be closed when it serves none.
    mutating func takeAll() -> [Connection] {
        take { _ in true }
    }

    private mutating func take(_ condition: (Shared) -> Bool) -> [Connection] {
        var taken: [Connection] = []
        for key in Array(origins.keys) {
            change(key) { origin in
                taken += origin.idle
                taken += origin.shared.filter(condition).map(\.connection)
                // Their sockets are open until they say that they closed, and ``closed(_:_:isShared:)`` then counts one busy less.
                origin.busy += origin.idle.count
                origin.idle = []
                origin.shared.removeAll(where: condition)
            }
        }
        return taken
    }

    /// Changes an origin where it stands, for a copy would copy its lists; one that is empty afterwards is forgotten.
    ///
    /// - Parameter makes: whether an origin that nobody knows is made.
    @discardableResult
    private mutating func change<Value>(
        _ key: Key,
        makes: Bool = false,
        _ body: (inout Origin) -> Value
    ) -> Value? {
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

    /// Changes it, counts what rests, and looks whether it is empty: in one access, for a second one would copy its lists.
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
