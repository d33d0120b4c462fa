// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOCore
import NIOEmbedded
import NIOPosix
import Names
import Testing

@testable import DirectHTTP

@Suite("Pool waits and connections that end before they are registered", .timeLimit(.minutes(1)))
struct PoolEndingTests {
    private static func key(_ scheme: Scheme = .http) throws -> PoolKey {
        var tls = TLSSettings()
        tls.trustsSystemRoots = false
        return PoolKey(origin: Origin(scheme: scheme, host: try Host("a.test")), tls: tls, route: .direct)
    }

    /// The timer fires at once, sometimes before the waiter is registered and sometimes after.
    @Test("a wait for the pool ends even if its time limit passes before it is registered")
    func deadlineBeforeRegistration() async throws {
        var configuration = EngineConfiguration()
        configuration.connectionsPerOrigin = 1
        let pool = ConnectionPool(configuration: configuration, group: MultiThreadedEventLoopGroup.singleton)
        let key = try Self.key()
        guard case .open = try pool.lease(key, fresh: false) else {
            Issue.record("the pool is empty")
            return
        }
        for _ in 0..<500 {
            guard case .wait(let waiter) = try pool.lease(key, fresh: false) else {
                Issue.record("the origin has room for one connection")
                return
            }
            let error = await #expect(throws: DirectHTTPError.self) {
                _ = try await pool.turn(of: waiter, key: key, deadline: .now())
            }
            #expect(error?.code == .connectTimeout, "none is busy: the first one is being opened")
        }
        #expect(pool.waitingCount == 0)
    }

    /// Closes its channel at the first write, like a socket that its peer has reset.
    private final class BrokenSocket: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            promise?.fail(ChannelError.ioOnClosedChannel)
            context.close(promise: nil)
        }
    }

    @Test("an HTTP/2 connection whose preface cannot be written leaves the pool")
    func brokenPreface() throws {
        let channel = EmbeddedChannel()
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        try channel.pipeline.syncOperations.addHandler(BrokenSocket())
        let engine = Engine()
        let pool = engine.pool
        let key = try Self.key(.https)
        guard case .open = try pool.lease(key, fresh: false) else {
            Issue.record("the pool is empty")
            return
        }
        let target = try DialTarget(key: key, contexts: engine.contexts, proxies: engine.proxies, ech: engine.ech)
        let attempt = Attempt(endpoint: Endpoint(IPAddress(v4: 0x7f00_0001), port: 1), outcome: .connected)
        let won = DialRace.RaceResult(
            channel: channel,
            secured: Handshake.HandshakeResult(applicationProtocol: "h2"),
            attempts: [attempt],
            winner: attempt
        )
        let info = ConnectionInfo(won, context: nil, resolveTime: .zero)
        let made = engine.connection(from: won, info, to: target, epoch: pool.epoch)
        #expect(throws: DirectHTTPError.self) { _ = try made.get() }
        #expect(pool.openCount == 0, "a shutdown would wait for it for ever")
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }
}
