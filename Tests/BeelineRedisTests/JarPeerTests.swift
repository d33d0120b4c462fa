// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineRedis

@Suite(
    "Shared jars and other clients of their server",
    .enabled(if: !RedisServer.programs.isEmpty, "neither redis-server nor valkey-server is installed"),
    .timeLimit(.minutes(2))
)
struct JarPeerTests {
    private static let base = "{beeline:jar:shop}:"

    private static func server() throws -> RedisServer { try RedisServer(try #require(RedisServer.programs.first)) }

    /// A jar behind a relay, and a way to change the server's data while the jar is away.
    private static func jar(
        of server: RedisServer,
        behind relay: Relay,
        _ change: (inout RedisJarConfiguration) -> Void = { _ in }
    ) async throws -> RedisJar {
        try await server.jar {
            $0.redis.port = relay.port
            $0.redis.timeout = .seconds(5)
            change(&$0)
        }
    }

    /// Changes the server's data while the jar is away, and waits until the jar has compared itself with them.
    private static func change(of jar: RedisJar, behind relay: Relay, _ change: () throws -> Void) async throws {
        let surveys = jar.context.progress.values.surveys
        relay.drop(true)
        try change()
        await relay.cut()
        relay.drop(false)
        let isRead = await jar.context.progress.wait(until: .now + .seconds(30)) { $0.surveys > surveys }
        try #require(isRead)
        try await jar.synchronize(within: .seconds(30))
    }

    /// The present time, or a later one, as a version.
    private static func now(plus seconds: Int64 = 0) -> String {
        "\(CookieTime.now.advanced(bySeconds: seconds).microseconds)"
    }

    @Test("a server that claims to have forgotten all deletions wipes no encrypted jar", arguments: [0, 86_400 * 365])
    func wipe(_ lead: Int64) async throws {
        let server = try Self.server()
        let relay = try await Relay.start(to: server.port)
        let jar = try await Self.jar(of: server, behind: relay) {
            $0.encryptionKey = RedisJarEncryptionKey((0..<32).map { UInt8($0) })
        }
        jar.set("a", "1")
        try await jar.synchronize(within: .seconds(30))
        try await Self.change(of: jar, behind: relay) {
            _ = try server.ask("DEL", Self.base + "cookies")
            _ = try server.ask("HSET", Self.base + "state", "pruned", Self.now(plus: lead))
        }
        #expect(jar.pairs == ["a=1"])
        #expect(try server.ask("HLEN", Self.base + "cookies") == "1\n")
        try await jar.close(within: .seconds(10))
        await relay.stop()
        server.stop()
    }

    @Test("an encrypted jar that was away for longer than deletions are kept deletes what the server does not have")
    func longAbsence() async throws {
        let server = try Self.server()
        let relay = try await Relay.start(to: server.port)
        let jar = try await Self.jar(of: server, behind: relay) {
            $0.encryptionKey = RedisJarEncryptionKey((0..<32).map { UInt8($0) })
            $0.deletionLifetime = .milliseconds(1)
        }
        jar.set("a", "1")
        try await jar.synchronize(within: .seconds(30))
        try await Self.change(of: jar, behind: relay) {
            _ = try server.ask("DEL", Self.base + "cookies")
            _ = try server.ask("HSET", Self.base + "state", "pruned", Self.now())
        }
        #expect(jar.pairs.isEmpty)
        try await jar.close(within: .seconds(10))
        await relay.stop()
        server.stop()
    }

    @Test("an older record does not bring back a cookie that was dropped")
    func replay() async throws {
        let server = try Self.server()
        let relay = try await Relay.start(to: server.port)
        let jar = try await Self.jar(of: server, behind: relay)
        jar.set("a", "old")
        try await jar.synchronize(within: .seconds(30))
        #expect(try server.ask("COPY", Self.base + "cookies", "saved") == "1\n")
        jar.set("a", "new")
        try await jar.synchronize(within: .seconds(30))
        try await Self.change(of: jar, behind: relay) {
            _ = try server.ask("DEL", Self.base + "cookies")
            _ = try server.ask("HSET", Self.base + "state", "pruned", Self.now())
        }
        #expect(jar.pairs.isEmpty)
        try await Self.change(of: jar, behind: relay) {
            _ = try server.ask("COPY", "saved", Self.base + "cookies", "REPLACE")
        }
        #expect(jar.pairs.isEmpty)
        try await jar.close(within: .seconds(10))
        await relay.stop()
        server.stop()
    }

    @Test("gaps in the feed make the whole jar be read at growing intervals")
    func provokedSurveys() async throws {
        let server = try Self.server()
        let jar = try await server.jar { $0.redis.retryDelay = .milliseconds(100)...Duration.seconds(60) }
        let progress = jar.context.progress
        // The pause after the first survey may be over.
        let begin = ContinuousClock.now
        for _ in 0..<4 {
            let surveys = progress.values.surveys
            _ = try server.ask("XADD", Self.base + "feed", "*", "s", "900", "f", "x", "r", "y")
            let isRead = await progress.wait(until: .now + .seconds(30)) { $0.surveys > surveys }
            try #require(isRead)
        }
        // At least half of the pauses of 200, 400 and 800 ms.
        #expect(begin.duration(to: .now) >= .milliseconds(700))
        try await jar.close(within: .seconds(10))
        server.stop()
    }

    @Test("waiting for a server that hangs ends at its limit")
    func hangingServer() async throws {
        let server = try Self.server()
        let relay = try await Relay.start(to: server.port)
        let jar = try await server.jar {
            $0.redis.port = relay.port
            $0.redis.timeout = .seconds(60)
        }
        relay.drop(true)
        jar.set("a", "1")
        try await withTimeLimit(.seconds(30), for: { "the end of the time limits" }) {
            for _ in 0..<2 {
                let error = await #expect(throws: RedisError.self) {
                    try await jar.synchronize(within: .milliseconds(100))
                }
                #expect(error?.code == .unavailable)
            }
            await #expect(throws: RedisError.self) { try await jar.close(within: .milliseconds(100)) }
        }
        await relay.cut()
        await relay.stop()
        server.stop()
    }

    @Test("more changes than are tracked are no failure of the server")
    func overrun() async throws {
        let server = try Self.server()
        let told = NIOLockedValueBox<[String]>([])
        // Returns when the server takes commands.
        let two = try await server.jar()
        let one = try await server.jar {
            $0.maxPendingChanges = 10
            $0.redis.onUnavailable = { reason in told.withLockedValue { $0.append(reason) } }
        }
        one.jar.insert((0..<100).map { Cookie("n\($0)", "1", domain: "shop.test") })
        try await one.synchronize(within: .seconds(30))
        try await two.synchronize(within: .seconds(30))
        #expect(two.pairs.count == 100 && two.pairs == one.pairs)
        let reasons = told.withLockedValue { $0 }
        #expect(reasons == [] && one.state.failure == nil)
        for jar in [one, two] { try await jar.close(within: .seconds(10)) }
        server.stop()
    }

    @Test("a limit of records without bounds ends no process")
    func unboundedRecords() async throws {
        let server = try Self.server()
        let jar = try await server.jar {
            $0.maxRecords = .max
            $0.deletionLifetime = .seconds(Int64.max)
        }
        jar.set("a", "1")
        jar.remove("a")
        jar.set("b", "1")
        try await jar.synchronize(within: .seconds(30))
        #expect(try server.ask("HLEN", Self.base + "cookies") == "2\n")
        try await jar.close(within: .seconds(10))
        server.stop()
    }
}
#endif
