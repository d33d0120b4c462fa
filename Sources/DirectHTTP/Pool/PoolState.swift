// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// Which connection serves whom, as a value: no lock, no timer, no socket.
///
/// Connections are lent by origin, the youngest first, so that the rest can grow old and be closed. A caller that finds none
/// opens one itself while the origin has room, else waits its turn.
struct PoolState<Key: Hashable & Sendable, Connection: AnyObject & Sendable>: Sendable {
    typealias WaiterID = Int

    enum Lease {
        /// Use this one.
        case reuse(Connection)
        /// Open one, then say ``opened(_:)`` or ``openingFailed(_:)``.
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

    private struct Origin: Sendable {
        var idle: [Connection] = []
        /// Connections lent or being opened.
        var busy = 0
        var waiters = Deque<WaiterID>()

        var isEmpty: Bool { idle.isEmpty && busy == 0 && waiters.isEmpty }
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
    ///   - fresh: whether a kept connection will not do.
    ///   - isPreferred: a connection that suits the caller best, e.g. one on its own event loop.
    mutating func lease(_ key: Key, fresh: Bool, isPreferred: (Connection) -> Bool) -> Lease {
        var origin = origins[key] ?? Origin()
        defer { origins[key] = origin }
        if !fresh, let last = origin.idle.last {
            idleCount -= 1
            origin.busy += 1
            if !isPreferred(last), let index = origin.idle.lastIndex(where: isPreferred) {
                return .reuse(origin.idle.remove(at: index))
            }
            return .reuse(origin.idle.removeLast())
        }
        if origin.busy + origin.idle.count < connectionsPerOrigin {
            origin.busy += 1
            return .open
        }
        guard origin.waiters.count < waitersPerOrigin else { return .full }
        nextWaiter += 1
        origin.waiters.append(nextWaiter)
        return .wait(nextWaiter)
    }

    /// A lent connection is free again. Returns who gets it, or false where it should be closed instead.
    mutating func release(_ connection: Connection, _ key: Key) -> (wake: Wake?, keep: Bool) {
        guard var origin = origins[key] else { return (nil, false) }
        defer { store(origin, key) }
        if let waiter = origin.waiters.popFirst() { return (.reuse(waiter, connection), true) }
        // One that is not kept stays busy until it says that it closed.
        guard idleCount < maximumIdle else { return (nil, false) }
        origin.busy -= 1
        origin.idle.append(connection)
        idleCount += 1
        return (nil, true)
    }

    /// A connection that was opened is gone.
    mutating func closed(_ connection: Connection, _ key: Key) -> Wake? {
        guard let index = origins[key]?.idle.lastIndex(where: { $0 === connection }) else { return vacated(key) }
        origins[key]?.idle.remove(at: index)
        idleCount -= 1
        return wakeNext(key)
    }

    /// Opening failed, or the opener left.
    mutating func openingFailed(_ key: Key) -> Wake? { vacated(key) }

    /// Somebody who waited left. Returns false where the wake was already on its way.
    mutating func leave(_ waiter: WaiterID, _ key: Key) -> Bool {
        guard var origin = origins[key], let index = origin.waiters.firstIndex(of: waiter) else { return false }
        origin.waiters.remove(at: index)
        store(origin, key)
        return true
    }

    /// Forgets all kept connections and gives them out, to be closed.
    mutating func takeIdle() -> [Connection] {
        var taken: [Connection] = []
        for (key, var origin) in origins where !origin.idle.isEmpty {
            taken += origin.idle
            origin.idle = []
            store(origin, key)
        }
        idleCount = 0
        return taken
    }

    private mutating func vacated(_ key: Key) -> Wake? {
        origins[key]?.busy -= 1
        return wakeNext(key)
    }

    private mutating func wakeNext(_ key: Key) -> Wake? {
        guard var origin = origins[key] else { return nil }
        defer { store(origin, key) }
        guard origin.busy + origin.idle.count < connectionsPerOrigin, let waiter = origin.waiters.popFirst() else {
            return nil
        }
        origin.busy += 1
        return .open(waiter)
    }

    private mutating func store(_ origin: Origin, _ key: Key) {
        origins[key] = origin.isEmpty ? nil : origin
    }
}
