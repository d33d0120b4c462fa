// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOPosix
import Names
import Testing

@testable import DirectHTTP

@Suite("The pool, its clocks and its waiters")
struct PoolClockTests {
    private final class StubHandler: ConnectionHandler {
        var hasDrained = false

        func start(_ exchange: Exchange, now: NIODeadline) {}
        func resumeReading(_ exchange: Exchange) {}
        func abandon(_ exchange: Exchange) {}
        func send(_ piece: ByteBuffer, of exchange: Exchange, done: @escaping @Sendable (Bool) -> Void) {}
        func finishSending(_ exchange: Exchange) {}
        func closeNow() {}
        func drain() { hasDrained = true }
    }

    private static let endpoint = Endpoint(IPAddress(v4: 0x7f00_0001), port: 1)

    private func key() throws -> PoolKey {
        PoolKey(origin: try HTTPURL("http://a.test/").origin, tls: TLSSettings(), route: .direct)
    }

    /// A connection that does nothing.
    private func connection(_ key: PoolKey, epoch: Int, _ handler: StubHandler) -> Connection {
        let attempt = Attempt(endpoint: Self.endpoint, outcome: .connected)
        let won = DialRace.RaceResult(
            channel: EmbeddedChannel(),
            secured: Handshake.HandshakeResult(applicationProtocol: "http/1.1"),
            attempts: [attempt],
            winner: attempt
        )
        let info = ConnectionInfo(won, context: nil, resolveTime: .zero)
        return Connection(info: info, key: key, epoch: epoch, eventLoop: EmbeddedEventLoop(), handler: handler)
    }

    private func word(_ lease: ConnectionPool.Lease) -> String {
        switch lease {
        case .reuse: "reuse"
        case .open: "open"
        case .wait: "wait"
        case .full: "full"
        }
    }

    @Test("connections from before the machine slept are not used, although they look fresh")
    func sleep() throws {
        let elapsed = NIOLockedValueBox(Duration.zero)
        let (awake, start) = (NIODeadline.now(), ContinuousClock.now)
        let pool = ConnectionPool(configuration: EngineConfiguration(), group: MultiThreadedEventLoopGroup.singleton) {
            (awake, start + elapsed.withLockedValue { $0 })
        }
        let key = try key()
        let handler = StubHandler()
        #expect(word(try pool.lease(key, fresh: false)) == "open")
        let kept = connection(key, epoch: pool.epoch, handler)
        pool.opened(kept)
        for _ in 0..<2 {
            pool.release(kept, now: awake)
            elapsed.withLockedValue { $0 += .seconds(4) }
            #expect(word(try pool.lease(key, fresh: false)) == "reuse")
        }
        pool.release(kept, now: awake)
        elapsed.withLockedValue { $0 += .seconds(3_600) }
        #expect(word(try pool.lease(key, fresh: false)) == "open")
        #expect(handler.hasDrained)
    }

    @Test("if a waiter's turn comes too late to dial, the error is a full pool, not failed endpoints")
    func lateTurn() throws {
        let pool = ConnectionPool(configuration: EngineConfiguration(), group: MultiThreadedEventLoopGroup.singleton)
        let key = try key()
        let attempt = Attempt(endpoint: Self.endpoint, outcome: .abandoned)
        let late = DirectHTTPError(.connectTimeout, "late", attempts: [attempt])
        #expect(word(try pool.lease(key, fresh: false)) == "open")
        #expect(pool.blaming(late, key: key).code == .connectTimeout, "it waited for the first connection")
        pool.opened(connection(key, epoch: pool.epoch, StubHandler()))
        #expect(word(try pool.lease(key, fresh: false)) == "open")
        #expect(pool.blaming(late, key: key).code == .poolExhausted)
        let silent = Attempt(endpoint: Self.endpoint, outcome: .failed(.connectTimeout, "did not answer"))
        let failed = DirectHTTPError(.connectTimeout, "late", attempts: [silent])
        #expect(pool.blaming(failed, key: key).code == .connectTimeout)
    }
}
