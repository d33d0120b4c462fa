// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Foundation
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineRedis

@Suite(
    "Jars shared through Redis",
    .enabled(if: !RedisServer.programs.isEmpty, "neither redis-server nor valkey-server is installed"),
    .timeLimit(.minutes(2))
)
struct JarTests {
    private static func server(_ arguments: String..., port: UInt16? = nil) throws -> RedisServer {
        try RedisServer(try #require(RedisServer.programs.first), port: port, arguments: arguments)
    }

    private static func close(_ jars: RedisJar...) async {
        for jar in jars { try? await jar.close(within: .seconds(10)) }
    }

    @Test("two processes see each other's cookies with all attributes, session cookies too")
    func sharing() async throws {
        let server = try Self.server()
        let (one, two) = (try await server.jar(), try await server.jar())
        let url = try HTTPURL("https://www.shop.test/a/b")
        one.jar.store("id=4 2; Secure; HttpOnly; SameSite=Strict; Path=/a; Max-Age=3600; Domain=shop.test", from: url)
        one.jar.store("p=1; Secure; Partitioned", from: url)
        try await one.synchronize()
        try await two.has("id=4 2", "p=1")
        let own = one.jar.allCookies(), others = two.jar.allCookies()
        #expect(own == others)
        #expect(two.jar.header(for: url) == one.jar.header(for: url))
        // A later process finds them, and another jar does not.
        let three = try await server.jar(), stranger = try await server.jar("other")
        try await three.has("id=4 2", "p=1")
        #expect(stranger.pairs.isEmpty)
        await Self.close(one, two, three, stranger)
        server.stop()
    }

    @Test("two writers lose nothing, and end equal where they wrote the same cookies")
    func twoWriters() async throws {
        let server = try Self.server()
        let (one, two) = (try await server.jar(), try await server.jar())
        await withTaskGroup(of: Void.self) { group in
            for (jar, letter) in [(one, "a"), (two, "b")] {
                group.addTask {
                    for number in 0..<500 {
                        jar.set("\(letter)\(number % 50)", "\(number)")
                        jar.set("both\(number % 10)", "\(letter)\(number)")
                        if number % 3 == 0 { jar.remove("both\((number + 5) % 10)") }
                        await Task.yield()
                    }
                }
            }
        }
        for jar in [one, two, one] { try await jar.synchronize(within: .seconds(30)) }
        #expect(one.pairs == two.pairs)
        for letter in ["a", "b"] {
            for slot in 0..<50 { #expect(one.pairs.contains("\(letter)\(slot)=\(450 + slot)")) }
        }
        await Self.close(one, two)
        server.stop()
    }

    @Test("a deleted cookie does not come back from a process that was away")
    func deletion() async throws {
        let server = try Self.server()
        let relay = try await Relay.start(to: server.port)
        let one = try await server.jar()
        one.set("a", "1")
        one.set("b", "1")
        let two = try await server.jar {
            $0.redis.port = relay.port
            $0.redis.timeout = .milliseconds(200)
        }
        try await two.has("a=1", "b=1")
        relay.drop(true)
        one.remove("a")
        // An own change during the partition, to another cookie.
        two.set("c", "2")
        try await one.synchronize()
        try await two.state { !$0.isConnected }
        #expect(two.pairs == ["a=1", "b=1", "c=2"])
        relay.drop(false)
        await relay.cut()
        try await two.has("b=1", "c=2")
        try await one.has("b=1", "c=2")
        await Self.close(one, two)
        await relay.stop()
        server.stop()
    }

    @Test("during a partition both sides work, and afterwards the later change of a cookie wins")
    func partition() async throws {
        let server = try Self.server()
        let relay = try await Relay.start(to: server.port)
        let told = NIOLockedValueBox<[String]>([])
        let one = try await server.jar()
        let two = try await server.jar {
            $0.redis.port = relay.port
            $0.redis.timeout = .milliseconds(200)
            $0.redis.onUnavailable = { reason in told.withLockedValue { $0.append(reason) } }
        }
        relay.drop(true)
        two.set("old", "two")
        one.set("old", "one")
        one.set("new", "one")
        two.set("new", "two")
        two.set("only", "two")
        try await one.synchronize()
        try await two.state { !$0.isConnected && $0.failure != nil }
        relay.drop(false)
        await relay.cut()
        try await one.has("old=one", "new=two", "only=two")
        try await two.has("old=one", "new=two", "only=two")
        #expect(!told.withLockedValue { $0.isEmpty })
        try await two.state { $0.failure == nil }
        await Self.close(one, two)
        await relay.stop()
        server.stop()
    }

    @Test("a server that restarts empty gets all cookies back, and deleted ones stay deleted")
    func emptyRestart() async throws {
        let first = try Self.server()
        let (one, two) = (try await first.jar(), try await first.jar())
        one.set("a", "1")
        one.set("b", "1")
        try await two.has("a=1", "b=1")
        two.remove("b")
        try await one.has("a=1")
        first.stop()
        one.set("c", "away")
        let second = try Self.server(port: first.port)
        for jar in [one, two] { try await jar.has("a=1", "c=away") }
        let three = try await second.jar()
        try await three.has("a=1", "c=away")
        await Self.close(one, two, three)
        second.stop()
    }

    @Test("a feed that was cut or deleted is noticed, and the whole jar is read")
    func lostFeed() async throws {
        let server = try Self.server()
        let relay = try await Relay.start(to: server.port)
        let one = try await server.jar { $0.feedLength = 1 }
        let two = try await server.jar {
            $0.redis.port = relay.port
            $0.redis.timeout = .milliseconds(300)
        }
        relay.drop(true)
        for number in 0..<300 { one.set("n\(number % 100)", "\(number)") }
        try await one.synchronize()
        #expect(try server.ask("XTRIM", "{beeline:jar:shop}:feed", "MAXLEN", "0").contains { $0.isNumber })
        relay.drop(false)
        await relay.cut()
        try await two.state { $0.isConnected }
        try await two.synchronize(within: .seconds(30))
        #expect(two.pairs == one.pairs)
        // While both are connected: the records go without a change in the feed.
        _ = try server.ask("FLUSHALL")
        one.set("later", "1")
        for jar in [one, two, one, two] { try await jar.synchronize(within: .seconds(30)) }
        try await eventually("the cookies on the server", within: .seconds(30)) {
            try server.ask("HLEN", "{beeline:jar:shop}:cookies") == "101\n"
        }
        try await eventually("the same cookies", within: .seconds(30)) { two.pairs == one.pairs }
        #expect(two.pairs.count == 101)
        await Self.close(one, two)
        await relay.stop()
        server.stop()
    }

    @Test("a process that was away longer than deletions are kept deletes what the server does not have")
    func prunedDeletion() async throws {
        let server = try Self.server()
        let relay = try await Relay.start(to: server.port)
        let one = try await server.jar { $0.deletionLifetime = .milliseconds(1) }
        one.set("gone", "1")
        one.set("stays", "1")
        let two = try await server.jar {
            $0.redis.port = relay.port
            $0.redis.timeout = .milliseconds(200)
        }
        try await two.has("gone=1", "stays=1")
        relay.drop(true)
        one.remove("gone")
        try await one.synchronize()
        // A later call removes the record of the deletion.
        try await eventually("the end of the deletion record", within: .seconds(30)) {
            one.set("stays", "2")
            try await one.synchronize()
            return try server.ask("HLEN", "{beeline:jar:shop}:cookies") == "1\n"
        }
        _ = try server.ask("DEL", "{beeline:jar:shop}:feed")
        two.set("own", "2")
        relay.drop(false)
        await relay.cut()
        try await two.has("own=2", "stays=2")
        try await one.has("own=2", "stays=2")
        await Self.close(one, two)
        await relay.stop()
        server.stop()
    }

    @Test("an evicted cookie is deleted everywhere, unless another process has changed it meanwhile")
    func eviction() async throws {
        let server = try Self.server()
        var limits = CookieJarConfiguration()
        limits.maxCookiesPerDomain = 3
        let (one, two) = (try await server.jar(limits: limits), try await server.jar())
        for number in 1...4 {
            one.set("n\(number)", "1")
            try await one.synchronize()
        }
        #expect(one.pairs.count == 3)
        try await eventually("the eviction", within: .seconds(30)) { two.pairs == one.pairs }
        await Self.close(one, two)
        server.stop()
    }

    @Test("expired cookies and old deletion records leave the server")
    func expiry() async throws {
        let server = try Self.server()
        let time = NIOLockedValueBox(CookieTime.now.secondsSince1970)
        let jar = try RedisJar(server.jarConfiguration()) {
            CookieTime(secondsSince1970: time.withLockedValue { $0 })
        }
        try await jar.synchronize(within: .seconds(30))
        // By a clock that is two hours behind, so that the server's grace is over.
        time.withLockedValue { $0 -= 7_260 }
        var cookie = Cookie("short", "1", domain: "shop.test")
        cookie.expires = CookieTime(secondsSince1970: time.withLockedValue { $0 } + 60)
        jar.jar.insert(cookie)
        jar.set("long", "1")
        try await jar.synchronize()
        jar.set("next", "1")
        try await jar.synchronize()
        #expect(try server.ask("HLEN", "{beeline:jar:shop}:cookies") == "2\n")
        #expect(try server.ask("ZCARD", "{beeline:jar:shop}:expiries") == "0\n")
        await Self.close(jar)
        server.stop()
    }

    @Test("a full jar keeps new cookies in their process and reports it once; deletion records make room")
    func full() async throws {
        let server = try Self.server()
        let told = NIOLockedValueBox<[String]>([])
        let one = try await server.jar {
            $0.maxRecords = 3
            $0.onProblem = { problem in told.withLockedValue { $0.append(problem) } }
        }
        let two = try await server.jar()
        for number in 1...3 { one.set("n\(number)", "1") }
        try await one.synchronize()
        one.remove("n1")
        try await one.synchronize()
        one.set("n4", "1")
        try await one.synchronize()
        try await two.has("n2=1", "n3=1", "n4=1")
        for number in 5...6 { one.set("n\(number)", "1") }
        try await one.synchronize()
        #expect(one.pairs.count == 5)
        try await two.has("n2=1", "n3=1", "n4=1")
        #expect(told.withLockedValue { $0 } == ["the jar shop is full on the server; new cookies stay in this process"])
        await Self.close(one, two)
        server.stop()
    }

    @Test("more changes than are tracked while the server is away are found by comparison")
    func overrun() async throws {
        let first = try Self.server()
        let one = try await first.jar { $0.maxPendingChanges = 10 }
        one.set("old", "1")
        try await one.synchronize()
        first.stop()
        try await one.state { !$0.isConnected }
        for number in 0..<100 { one.set("n\(number)", "1") }
        one.remove("old")
        let second = try Self.server(port: first.port)
        let two = try await second.jar()
        try await eventually("all cookies", within: .seconds(30)) { two.pairs == one.pairs }
        #expect(two.pairs.count == 100)
        await Self.close(one, two)
        second.stop()
    }

    @Test("without a server the jar works at once, and waits for it only on request")
    func noServer() async throws {
        let server = try Self.server()
        server.stop()
        let jar = try RedisJar(server.jarConfiguration())
        jar.set("a", "1")
        #expect(jar.pairs == ["a=1"])
        let error = await #expect(throws: RedisError.self) { try await jar.synchronize(within: .milliseconds(50)) }
        #expect(error?.code == .unavailable)
        let last = await #expect(throws: RedisError.self) { try await jar.close(within: .milliseconds(50)) }
        #expect(last?.code == .unavailable)
        let closed = await #expect(throws: RedisError.self) { try await jar.synchronize() }
        #expect(closed?.code == .closed && jar.pairs == ["a=1"])
        #expect(throws: RedisError.self) { try RedisJar(RedisJarConfiguration(name: "{x}")) }
    }
}
#endif
