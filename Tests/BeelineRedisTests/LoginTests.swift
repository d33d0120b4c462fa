// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineRedis

@Suite(
    "One login for all",
    .enabled(if: !RedisServer.programs.isEmpty, "neither redis-server nor valkey-server is installed"),
    .timeLimit(.minutes(2))
)
struct LoginTests {
    private struct Refused: Error {}

    private static func server(port: UInt16? = nil) throws -> RedisServer {
        try RedisServer(try #require(RedisServer.programs.first), port: port)
    }

    private static func origin() throws -> Origin { try HTTPURL("https://shop.test/").origin }

    @Test("of many processes one logs in, and the others get its cookies")
    func one() async throws {
        let server = try Self.server()
        var jars: [RedisJar] = []
        for _ in 0..<8 { jars.append(try await server.jar()) }
        let logins = NIOLockedValueBox(0)
        let outcomes = try await withThrowingTaskGroup(of: LoginOutcome.self) { group in
            for jar in jars {
                group.addTask {
                    try await jar.logInAtShop { copy in
                        logins.withLockedValue { $0 += 1 }
                        // Not a wait for an event: a login takes time, in which the others find the lease taken.
                        try await Task.sleep(for: .milliseconds(50))
                        copy.insert(.session("1"))
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(logins.withLockedValue { $0 } == 1)
        #expect(outcomes.count { $0 == .loggedIn } == 1 && !outcomes.contains(.alreadyLoggedIn))
        for jar in jars { #expect(jar.pairs == ["session=1"]) }
        #expect(try await jars[3].logInAtShop { _ in } == .alreadyLoggedIn)
        for jar in jars { try await jar.close() }
        server.stop()
    }

    @Test("a login that fails writes nothing, and the next process logs in at once")
    func failing() async throws {
        let server = try Self.server()
        let (first, second) = (try await server.jar(), try await server.jar())
        await #expect(throws: Refused.self) {
            try await first.logInAtShop { copy in
                copy.insert(.session("half"))
                throw Refused()
            }
        }
        #expect(first.pairs.isEmpty)
        let outcome = try await second.logInAtShop(within: .zero) { copy in
            copy.insert(.session("whole"))
        }
        #expect(outcome == .loggedIn)
        try await first.has("session=whole")
        try await first.close()
        try await second.close()
        server.stop()
    }

    @Test("a writer whose lease was lost changes nothing, although a later login has ended before")
    func fencing() async throws {
        let server = try Self.server()
        let (late, next) = (try await server.jar(), try await server.jar())
        let (began, goOn) = (Gate(), Gate())
        let origin = try Self.origin()
        let losing = Task {
            try await late.logInAtShop { copy in
                copy.insert(.session("late"))
                copy.insert(Cookie("other", "late", domain: "shop.test"))
                began.open()
                // Does not notice the cancellation, like a login in the middle of a request.
                try? await goOn.wait()
            }
        }
        try await began.wait()
        // The server forgets the lease, as one does that fails over.
        #expect(try server.ask("DEL", "{beeline:jar:shop}:lease:\(origin)") == "1\n")
        #expect(
            try await next.logInAtShop { $0.insert(.session("next")) }
                == .loggedIn
        )
        goOn.open()
        let error = await #expect(throws: RedisError.self) { try await losing.value }
        #expect(error?.code == .leaseLost)
        for jar in [late, next] { try await jar.has("session=next") }
        #expect(try server.ask("HLEN", "{beeline:jar:shop}:cookies") == "1\n")
        try await late.close()
        try await next.close()
        server.stop()
    }

    @Test("a lease is recognized by its token if the reply to its request was lost")
    func requestSentTwice() async throws {
        let server = try Self.server()
        let jar = try await server.jar()
        let fences = await jar.leases.run { session in
            ["mine", "mine", "other"].map { token in
                let reply = try? LeaseScripts.acquire.run(
                    in: session,
                    keys: jar.context.keys.lease("label") + [jar.context.keys.state],
                    arguments: [token, "60000", "60000"].map { Array($0.utf8) },
                    limits: RedisReplyReader.Limits(octets: 1_024, elements: 3)
                )
                return reply?.elements?.first?.number
            }
        }
        #expect(fences == [1, 1, 0])
        try await jar.close()
        server.stop()
    }

    @Test("a lease is renewed while the login runs, and its loss cancels the login")
    func renewal() async throws {
        let server = try Self.server()
        let jar = try await server.jar { $0.leaseLifetime = .seconds(2) }
        let origin = try Self.origin()
        let key = "{beeline:jar:shop}:lease:\(origin)"
        let error = await #expect(throws: RedisError.self) {
            try await jar.logInAtShop { copy in
                let fence = try server.ask("GET", key)
                // More than two lifetimes by the server's clock, over which only renewals keep the lease.
                let start = try server.seconds()
                try await eventually("the end of the lifetimes", within: .seconds(60), every: .milliseconds(500)) {
                    try server.seconds() > start + 5
                }
                #expect(try server.ask("GET", key) == fence)
                _ = try server.ask("DEL", key)
                try await Gate().wait()
            }
        }
        #expect(error?.code == .leaseLost)
        try await jar.close()
        server.stop()
    }

    @Test("the lease of a process that is gone ends, and waiting ends at its limit")
    func deadHolder() async throws {
        let server = try Self.server()
        let relay = try await Relay.start(to: server.port)
        let gone = try await server.jar {
            $0.redis.port = relay.port
            $0.leaseLifetime = .seconds(2)
        }
        let next = try await server.jar()
        let losing = try await gone.beginEndlessLogin()
        let early = await #expect(throws: RedisError.self) {
            try await next.logInAtShop(within: .milliseconds(10)) { _ in }
        }
        #expect(early?.code == .timedOut)
        relay.drop(true)
        let outcome = try await next.logInAtShop { $0.insert(.session("1")) }
        #expect(outcome == .loggedIn)
        let error = await #expect(throws: RedisError.self) { try await losing.value }
        #expect(error?.code == .leaseLost)
        relay.drop(false)
        await relay.cut()
        try await gone.has("session=1")
        try await gone.close()
        try await next.close()
        await relay.stop()
        server.stop()
    }

    @Test("without the server no process logs in")
    func noServer() async throws {
        let server = try Self.server()
        let jar = try await server.jar { $0.redis.timeout = .milliseconds(200) }
        server.stop()
        let error = await #expect(throws: RedisError.self) {
            try await jar.logInAtShop { _ in
                Issue.record("the login must not run")
            }
        }
        #expect(error?.code == .unavailable)
        try? await jar.close(within: .milliseconds(10))
    }
}
#endif
