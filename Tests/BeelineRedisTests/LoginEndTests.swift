// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Names
import Testing

@testable import BeelineRedis

@Suite(
    "The end of a shared login",
    .enabled(if: !RedisServer.programs.isEmpty, "neither redis-server nor valkey-server is installed"),
    .timeLimit(.minutes(2))
)
struct LoginEndTests {
    private static let key = "{beeline:jar:shop}:lease:https://shop.test"

    private static func server() throws -> RedisServer { try RedisServer(try #require(RedisServer.programs.first)) }

    @Test("a login wins against a change that another process made while it ran")
    func restamped() async throws {
        let server = try Self.server()
        let (one, two) = (try await server.jar(), try await server.jar())
        let outcome = try await one.logInAtShop(until: "user") { copy in
            copy.insert(.session("user"))
            // A page without a login sets its own session.
            two.jar.insert(.session("guest"))
            try await two.synchronize(within: .seconds(30))
            try await one.has("session=guest")
        }
        #expect(outcome == .loggedIn)
        for jar in [one, two] { try await jar.has("session=user") }
        for jar in [one, two] { try await jar.close() }
        server.stop()
    }

    @Test("a login that ends without its cookies is an error")
    func notLoggedIn() async throws {
        let server = try Self.server()
        let jar = try await server.jar()
        let error = await #expect(throws: RedisError.self) {
            try await jar.logInAtShop(until: "user") { $0.insert(.session("guest")) }
        }
        #expect(error?.code == .notLoggedIn)
        #expect(try server.ask("EXISTS", Self.key) == "0\n")
        try await jar.close()
        server.stop()
    }

    @Test("a renewal that hangs past the end of its lease ends the login")
    func hangingRenewal() async throws {
        let server = try Self.server()
        let relay = try await Relay.start(to: server.port)
        let jar = try await server.jar {
            $0.redis.port = relay.port
            $0.redis.timeout = .seconds(60)
            $0.leaseLifetime = .milliseconds(500)
        }
        try await withTimeLimit(.seconds(30), for: { "the loss of the lease" }) {
            let error = await #expect(throws: RedisError.self) {
                try await jar.logInAtShop(until: "user") { _ in
                    relay.drop(true)
                    try await Gate().wait()
                }
            }
            #expect(error?.code == .leaseLost)
        }
        await relay.cut()
        relay.drop(false)
        try await jar.close()
        await relay.stop()
        server.stop()
    }

    @Test("a login that ends after its lease writes nothing")
    func endedLease() async throws {
        let server = try Self.server()
        let jar = try await server.jar()
        let error = await #expect(throws: RedisError.self) {
            try await jar.logInAtShop(until: "user") { copy in
                copy.insert(.session("user"))
                let reply = try server.ask("DEL", Self.key)
                try #require(reply == "1\n")
            }
        }
        #expect(error?.code == .leaseLost)
        #expect(jar.pairs.isEmpty)
        #expect(try server.ask("EXISTS", "{beeline:jar:shop}:cookies") == "0\n")
        try await jar.close()
        server.stop()
    }

    @Test("the lease of a cancelled login ends at once")
    func cancelledLogin() async throws {
        let server = try Self.server()
        let (one, two) = (try await server.jar(), try await server.jar())
        let losing = try await one.beginEndlessLogin()
        losing.cancel()
        await #expect(throws: CancellationError.self) { try await losing.value }
        #expect(try server.ask("EXISTS", Self.key) == "0\n")
        #expect(try await two.logInAtShop(until: "user", within: .zero) { $0.insert(.session("user")) } == .loggedIn)
        for jar in [one, two] { try await jar.close() }
        server.stop()
    }

    @Test("a lease that a cancelled task asks for is cancelled rather than closed")
    func cancelledAcquisition() async throws {
        let server = try Self.server()
        let jar = try await server.jar()
        let asking = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await jar.acquire(LoginLease(context: jar.context, label: "https://shop.test"))
        }
        await #expect(throws: CancellationError.self) { _ = try await asking.value }
        try await jar.close()
        server.stop()
    }

    @Test("the lease of a login that is cancelled while it is renewed ends at once")
    func cancelledDuringRenewal() async throws {
        let server = try Self.server()
        let relay = try await Relay.start(to: server.port)
        let jar = try await server.jar {
            $0.redis.port = relay.port
            $0.redis.timeout = .seconds(60)
            $0.leaseLifetime = .seconds(6)
        }
        let losing = try await jar.beginEndlessLogin()
        relay.drop(true)
        try await eventually("the renewal", within: .seconds(30)) { relay.dropped.contains(":lease:") }
        losing.cancel()
        relay.drop(false)
        await relay.cut()
        await #expect(throws: CancellationError.self) { try await losing.value }
        #expect(try server.ask("EXISTS", Self.key) == "0\n")
        try await jar.close(within: .seconds(30))
        await relay.stop()
        server.stop()
    }

    @Test("a login of a jar that is closed ends at once, and so does its lease")
    func closedJar() async throws {
        let server = try Self.server()
        let jar = try await server.jar { $0.leaseLifetime = .seconds(3_600) }
        let losing = try await jar.beginEndlessLogin()
        try await jar.close()
        let error = await #expect(throws: RedisError.self) { try await losing.value }
        #expect(error?.code == .closed)
        // Otherwise the next process would wait for an hour.
        #expect(try server.ask("EXISTS", Self.key) == "0\n")
        server.stop()
    }

    @Test("fences above what Lua writes exactly stay apart")
    func largeFence() async throws {
        let server = try Self.server()
        let jar = try await server.jar()
        let fence = Self.key.replacing("lease", with: "fence")
        // Above 2^53.
        #expect(try server.ask("SET", fence, "9007199254740993") == "OK\n")
        let outcome = try await jar.logInAtShop(until: "user") { copy in
            let lease = try server.ask("GET", Self.key)
            #expect(lease.hasPrefix("9007199254740994:"))
            copy.insert(.session("user"))
        }
        #expect(outcome == .loggedIn)
        try await jar.close()
        server.stop()
    }

    @Test("a lease that cannot be taken does not mark the jar as failed")
    func failureOfALease() async throws {
        let server = try Self.server()
        let jar = try await server.jar()
        #expect(try server.ask("SET", Self.key.replacing("lease", with: "fence"), "x") == "OK\n")
        let error = await #expect(throws: RedisError.self) { try await jar.logInAtShop(until: "user") { _ in } }
        #expect(error?.code == .unavailable && jar.state.failure == nil)
        try await jar.close()
        server.stop()
    }
}
#endif
