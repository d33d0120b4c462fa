// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DirectHTTP

@Suite("Decisions of the pool")
struct PoolStateTests {
    private final class Line: Sendable {}

    private typealias Pool = PoolState<String, Line>

    /// A pool with one connection for each origin, which up to `capacity` requests share.
    private func pool(_ line: Line, capacity: Int) -> Pool {
        var pool = Pool(connectionsPerOrigin: 1, waitersPerOrigin: 10, maxIdle: 10)
        #expect(lease(&pool) == "open")
        #expect(pool.opened(line, key: "a", capacity: capacity).isEmpty)
        return pool
    }

    private func lease(_ pool: inout Pool, fresh: Bool = false, isAvoided: ((Line) -> Bool)? = nil) -> String {
        text(pool.lease("a", fresh: fresh, mayShare: true, isPreferred: { _ in true }, isAvoided: isAvoided))
    }

    private func text(_ lease: Pool.Lease) -> String {
        switch lease {
        case .reuse: return "reuse"
        case .open: return "open"
        case .wait: return "wait"
        case .full: return "full"
        }
    }

    private func texts(_ wakes: [Pool.Wake]) -> [String] {
        wakes.map { "\(text($0.lease)) \($0.waiter)" }
    }

    @Test("a withdrawn shared connection is not lent again when its requests return it")
    func withdrawn() {
        let line = Line()
        var pool = pool(line, capacity: 2)
        #expect(lease(&pool) == "reuse")
        #expect(lease(&pool) == "wait" && lease(&pool) == "wait")
        // After GOAWAY the first waiter opens a connection, and the second waits for it.
        #expect(texts(pool.withdraw(line, key: "a")) == ["open 1"])
        for _ in 0..<2 {
            let released = pool.release(line, key: "a", isShared: true)
            #expect(texts(released.wakes).isEmpty && released.keep)
        }
        #expect(pool.idleCount == 0)
        let next = Line()
        #expect(texts(pool.opened(next, key: "a", capacity: 2)) == ["reuse 2"])
        #expect(texts(pool.closed(line, key: "a", isShared: true)).isEmpty)
        for _ in 0..<2 { _ = pool.release(next, key: "a", isShared: true) }
        #expect(lease(&pool) == "reuse")
    }

    @Test(
        "idle connections that are taken out count until they close, and a lent one keeps its place",
        arguments: [true, false]
    )
    func countAfterTaking(retires: Bool) {
        let (idle, lent) = (Line(), Line())
        var pool = Pool(connectionsPerOrigin: 2, waitersPerOrigin: 10, maxIdle: 10)
        for line in [idle, lent] {
            #expect(lease(&pool) == "open")
            _ = pool.opened(line, key: "a", capacity: nil)
        }
        _ = pool.release(idle, key: "a", isShared: false)
        #expect((retires ? pool.takeAll() : pool.takeIdle()).count == 1)
        #expect(pool.idleCount == 0)
        #expect(lease(&pool) == "wait", "its socket is still open")
        #expect(texts(pool.closed(idle, key: "a", isShared: false)) == ["open 1"])
        #expect(lease(&pool) == "wait", "one is lent, one is being opened")
        #expect(texts(pool.openingFailed("a")) == ["open 2"])
        #expect(pool.openingFailed("a").isEmpty)
        #expect(pool.release(lent, key: "a", isShared: false).keep)
        #expect(pool.idleCount == 1)
    }

    @Test("a shared connection that was opened before a retirement serves its opener only")
    func retiredWhileDialled() {
        let (old, new) = (Line(), Line())
        var pool = Pool(connectionsPerOrigin: 2, waitersPerOrigin: 10, maxIdle: 10)
        #expect(lease(&pool) == "open")
        #expect(lease(&pool) == "wait")
        #expect(pool.takeAll().isEmpty)
        #expect(texts(pool.opened(old, key: "a", capacity: 100, isRetired: true)) == ["open 1"])
        #expect(pool.resize(old, key: "a", capacity: 100).isEmpty)
        #expect(pool.opened(new, key: "a", capacity: 100).isEmpty)
        #expect(pool.next("a") === new)
        #expect(pool.closed(old, key: "a", isShared: true).isEmpty)
        #expect(lease(&pool) == "reuse")
    }

    @Test("shared connections without requests count as idle, and are closed above the limit")
    func idleShared() {
        var pool = Pool(connectionsPerOrigin: 2, waitersPerOrigin: 10, maxIdle: 1)
        for key in ["a", "b"] {
            let line = Line()
            _ = pool.lease(key, fresh: false, mayShare: true, isPreferred: { _ in true })
            #expect(pool.opened(line, key: key, capacity: 100).isEmpty)
            #expect(pool.idleCount == (key == "a" ? 0 : 1))
            #expect(pool.release(line, key: key, isShared: true).keep == (key == "a"))
            #expect(pool.idleCount == 1)
        }
        #expect(pool.next("a") != nil && pool.next("b") == nil)
        #expect(lease(&pool) == "reuse")
        #expect(pool.idleCount == 0)
    }

    @Test("requests wait for the first connection only while an origin has none")
    func openingFirst() {
        var pool = Pool(connectionsPerOrigin: 2, waitersPerOrigin: 10, maxIdle: 1)
        #expect(!pool.isOpeningFirst("a"))
        #expect(lease(&pool) == "open" && pool.isOpeningFirst("a"))
        _ = pool.opened(Line(), key: "a", capacity: nil)
        #expect(!pool.isOpeningFirst("a"))
        #expect(lease(&pool) == "open" && !pool.isOpeningFirst("a"), "one is busy")
    }

    @Test("an avoided connection is lent only if the request would have to wait for another")
    func avoided() {
        let line = Line()
        var pool = pool(line, capacity: 2)
        #expect(lease(&pool, isAvoided: { $0 === line }) == "reuse", "the origin has room for no other")
        var roomy = Pool(connectionsPerOrigin: 2, waitersPerOrigin: 10, maxIdle: 10)
        #expect(lease(&roomy) == "open")
        _ = roomy.opened(line, key: "a", capacity: nil)
        _ = roomy.release(line, key: "a", isShared: false)
        #expect(lease(&roomy, isAvoided: { $0 === line }) == "open")
        #expect(lease(&roomy) == "reuse")
    }

    @Test("a new connection starts with the number of streams that the origin allowed last")
    func announcedCapacity() {
        let (first, second) = (Line(), Line())
        var pool = Pool(connectionsPerOrigin: 2, waitersPerOrigin: 10, maxIdle: 10)
        #expect(lease(&pool) == "open")
        #expect(pool.opened(first, key: "a", capacity: 100).isEmpty)
        #expect(pool.resize(first, key: "a", capacity: 1).isEmpty)
        #expect(lease(&pool) == "open")
        #expect(lease(&pool) == "wait")
        #expect(texts(pool.opened(second, key: "a", capacity: 100)).isEmpty)
        #expect(texts(pool.resize(second, key: "a", capacity: 2)) == ["reuse 1"])
    }

    @Test("a request for a new connection takes an idle one if the origin has no room, instead of waiting for ever")
    func freshWithoutRoom() {
        let line = Line()
        var pool = Pool(connectionsPerOrigin: 1, waitersPerOrigin: 10, maxIdle: 10)
        #expect(lease(&pool) == "open")
        #expect(pool.opened(line, key: "a", capacity: nil).isEmpty)
        #expect(pool.release(line, key: "a", isShared: false).keep)
        #expect(lease(&pool, fresh: true) == "reuse")
        #expect(pool.idleCount == 0)
        #expect(lease(&pool, fresh: true) == "wait", "the only connection is busy")
    }
}
