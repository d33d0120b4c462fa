// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineRedis

@Suite(
    "A shared login while the server is away",
    .enabled(if: !RedisServer.programs.isEmpty, "neither redis-server nor valkey-server is installed"),
    .timeLimit(.minutes(2))
)
struct LoginOutageTests {
    private static func server() throws -> RedisServer { try RedisServer(try #require(RedisServer.programs.first)) }

    /// Waits until a text was swallowed twice: by a call that failed, and by the next attempt.
    private static func secondAttempt(_ text: String, at relay: Relay) async throws {
        try await eventually("the second attempt", within: .seconds(40)) {
            relay.dropped.split(separator: text, omittingEmptySubsequences: false).count >= 3
        }
    }

    @Test("a login that ends while the server is away is written when it returns")
    func writtenLater() async throws {
        let server = try Self.server()
        let relay = try await Relay.start(to: server.port)
        let jar = try await server.jar {
            $0.redis.port = relay.port
            $0.redis.timeout = .seconds(1)
            $0.leaseLifetime = .seconds(60)
        }
        async let login = jar.logInAtShop { copy in
            copy.insert(.session("finished"))
            relay.drop(true)
        }
        do {
            try await Self.secondAttempt("finished", at: relay)
        } catch {
            Issue.record(error)
        }
        relay.drop(false)
        await relay.cut()
        #expect(try await login == .loggedIn)
        let later = try await server.jar()
        #expect(later.pairs == ["session=finished"])
        for jar in [jar, later] { try await jar.close(within: .seconds(30)) }
        await relay.stop()
        server.stop()
    }

    @Test("a process that waits for another's login goes on after its server was away")
    func waiting() async throws {
        let server = try Self.server()
        let relay = try await Relay.start(to: server.port)
        let holder = try await server.jar()
        let waiter = try await server.jar {
            $0.redis.port = relay.port
            $0.redis.timeout = .seconds(1)
        }
        let holding = try await holder.beginEndlessLogin()
        let checks = NIOLockedValueBox(0)
        let origin = try HTTPURL("https://shop.test/").origin
        async let outcome = waiter.ensureLoggedIn(to: origin) { jar in
            checks.withLockedValue { $0 += 1 }
            return !jar.allCookies().isEmpty
        } logIn: { copy in
            copy.insert(.session("next"))
        }
        // The second check follows the first attempt to take the lease.
        try await eventually("the wait", within: .seconds(30)) { checks.withLockedValue { $0 } >= 2 }
        relay.drop(true)
        do {
            try await Self.secondAttempt(":lease:", at: relay)
        } catch {
            Issue.record(error)
        }
        relay.drop(false)
        await relay.cut()
        holding.cancel()
        await #expect(throws: CancellationError.self) { _ = try await holding.value }
        #expect(try await outcome == .loggedIn)
        for jar in [holder, waiter] { try await jar.close(within: .seconds(30)) }
        await relay.stop()
        server.stop()
    }
}
#endif
