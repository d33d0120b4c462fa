// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import Dispatch
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineRedis

@Suite("Answers in a cluster", .timeLimit(.minutes(1)))
struct ClusterTests {
    private static func areAllUp(_ redis: RedisAnswers) -> Bool { redis.links.withLockedValue { $0.areAllUp } }

    @Test("the slot of a key is that of its hash tag, if it has one")
    func slots() {
        func slot(_ key: String) -> Int { ClusterSlots.slot(of: Array(key.utf8)) }
        // The check value of CRC-16/XMODEM.
        #expect(slot("123456789") == 0x31c3)
        #expect(slot("{user1000}.following") == slot("user1000"))
        #expect(slot("foo{{bar}}zap") == slot("{bar"))
        #expect(slot("foo{bar}{zap}") == slot("bar"))
        #expect(slot("foo{}{bar}") != slot("bar") && slot("foo{bar") != slot("bar"))
        #expect(slot("") == 0)
    }

    @Test("redirections to something that is no host, port or slot are refused")
    func redirections() {
        let host = RedisHost("h.test", port: 1)
        let moved = RedisRedirection("MOVED 3999 127.0.0.1:6381", from: host)
        #expect(moved?.slot == 3_999 && moved?.target == RedisHost("127.0.0.1", port: 6_381))
        #expect(moved?.isTemporary == false)
        #expect(RedisRedirection("MOVED 1 ::1:6381", from: host)?.target == RedisHost("::1", port: 6_381))
        #expect(RedisRedirection("ASK 1 :6381", from: host)?.target == RedisHost("h.test", port: 6_381))
        #expect(RedisRedirection("ASK 1 :6381", from: host)?.isTemporary == true)
        for text in [
            "MOVED 1 a b:1", "MOVED 16384 a:1", "MOVED -1 a:1", "MOVED 1 a:0", "MOVED 1 a", "MOVED 1 a b", "ERR 1 a:1",
            "MOVED 1 a/b:1", "MOVED 1 a:99999",
        ] {
            #expect(RedisRedirection(text, from: host) == nil, "\(text)")
        }
    }

    @Test("the server that a redirection names is asked, and remembered for the slot")
    func moved() async throws {
        let other = try await RedisDouble.start { _ in .reply(":5\r\n") }
        let slot = ClusterSlots.slot(of: Array("beeline:quota:a".utf8))
        let port = other.port
        let given = try await RedisDouble.start { command in
            command.contains("quota:a") ? .reply("-MOVED \(slot) 127.0.0.1:\(port)\r\n") : .reply(":1\r\n")
        }
        let redis = RedisAnswers(given.configuration)
        try await redis.connected()
        #expect(await redis.add(1, to: "a", lifetime: .seconds(60)) == nil)
        for _ in 0..<3 { #expect(try await redis.added(1, to: "a") == 5) }
        #expect(try await redis.added(1, to: "b") == 1)
        #expect(given.commands.filter { $0.contains("quota:a") }.count == 2)
        #expect(other.commands.count == 6 && redis.isConnected)
        await redis.shutDown()
        for server in [given, other] { await server.stop() }
    }

    @Test("a key that is on its way to another server is asked for there, with permission, and only this time")
    func asking() async throws {
        let other = try await RedisDouble.start { $0 == "ASKING" ? .reply("+OK\r\n") : .reply(":5\r\n") }
        let port = other.port
        let given = try await RedisDouble.start { _ in .reply("-ASK 7 127.0.0.1:\(port)\r\n") }
        let redis = RedisAnswers(given.configuration)
        try await redis.connected()
        #expect(await redis.add(1, to: "a", lifetime: .seconds(60)) == nil)
        for _ in 0..<2 { #expect(try await redis.added(1, to: "a") == 5) }
        let (add, keep) = ("INCRBY beeline:quota:a 1", "EXPIRE beeline:quota:a 60")
        #expect(given.commands == [add, keep, add, keep, add, keep])
        #expect(other.commands == ["ASKING", add, "ASKING", keep, "ASKING", add, "ASKING", keep])
        await redis.shutDown()
        for server in [given, other] { await server.stop() }
    }

    @Test("without one server of a cluster, the keys of the others are still used, and the reason is reported once")
    func shardIsAway() async throws {
        let hole = try RefusedEndpoint()
        let dead = hole.endpoint.port
        let told = NIOLockedValueBox<[String]>([])
        let given = try await RedisDouble.start { command in
            command.contains("quota:a") ? .reply("-MOVED 7 127.0.0.1:\(dead)\r\n") : .reply(":1\r\n")
        }
        var configuration = given.configuration
        configuration.onUnavailable = { text in told.withLockedValue { $0.append(text) } }
        let redis = RedisAnswers(configuration)
        try await redis.connected()
        for _ in 0..<3 {
            #expect(await redis.add(1, to: "a", lifetime: .seconds(60)) == nil)
            #expect(try await redis.added(1, to: "b") == 1)
        }
        let reasons = told.withLockedValue { $0 }
        #expect(reasons.count == 1 && reasons.allSatisfy { $0.hasPrefix("127.0.0.1:\(dead): ") }, "\(reasons)")
        #expect(redis.isConnected)
        await redis.shutDown()
        await given.stop()
        hole.close()
    }

    @Test("servers that redirect to each other end no question late")
    func circle() async throws {
        let port = NIOLockedValueBox<UInt16>(0)
        let other = try await RedisDouble.start { _ in .reply("-MOVED 7 127.0.0.1:\(port.withLockedValue { $0 })\r\n") }
        let back = other.port
        let given = try await RedisDouble.start { _ in .reply("-MOVED 7 127.0.0.1:\(back)\r\n") }
        port.withLockedValue { $0 = given.port }
        let redis = RedisAnswers(given.configuration)
        try await redis.connected()
        try await withTimeLimit(.seconds(30), for: { "a question to the other server" }) {
            while other.commands.isEmpty { #expect(await redis.add(1, to: "a", lifetime: .seconds(60)) == nil) }
        }
        // The first time, there was no connection to the other server.
        #expect(given.commands.count + other.commands.count == 2 + 10)
        await redis.shutDown()
        for server in [given, other] { await server.stop() }
    }

    @Test("a slow lookup of another server's name delays no question, and the address is used when it comes")
    func slowName() async throws {
        let other = try await RedisDouble.start { _ in .reply(":5\r\n") }
        let port = other.port
        let given = try await RedisDouble.start { command in
            command.contains("quota:a") ? .reply("-MOVED 7 slow.test:\(port)\r\n") : .reply(":1\r\n")
        }
        var configuration = given.configuration
        configuration.retryDelay = .milliseconds(5)...Duration.milliseconds(20)
        let (dns, lookups) = (DispatchSemaphore(value: 0), NIOLockedValueBox(0))
        let redis = RedisAnswers(configuration) { _ in
            lookups.withLockedValue { $0 += 1 }
            dns.wait()
            return .success([IPAddress(v4: 0x7f00_0001)])
        }
        try await redis.connected()
        try await withTimeLimit(.seconds(30), for: { "the calls that do not wait for the name" }) {
            #expect(await redis.add(1, to: "a", lifetime: .seconds(60)) == nil)
            try await eventually("the lookup of the name") {
                _ = await redis.add(1, to: "a", lifetime: .seconds(60))
                return lookups.withLockedValue { $0 } > 0
            }
            // Neither this one nor the other keys of the given server wait for long.
            #expect(await redis.add(1, to: "b", lifetime: .seconds(60)) == nil)
            #expect(try await redis.added(1, to: "b") == 1)
        }
        dns.signal()
        #expect(try await redis.added(1, to: "a") == 5)
        #expect(lookups.withLockedValue { $0 } == 1)
        await redis.shutDown()
        for server in [given, other] { await server.stop() }
    }

    @Test("a server that was replaced no longer counts as away", arguments: [true, false])
    func replaced(byTheGivenServer isGiven: Bool) async throws {
        let hole = try RefusedEndpoint()
        let dead = hole.endpoint.port
        let other = try await RedisDouble.start { _ in .reply(":5\r\n") }
        let slot = ClusterSlots.slot(of: Array("beeline:quota:a".utf8))
        let reply = NIOLockedValueBox("-MOVED \(slot) 127.0.0.1:\(dead)\r\n")
        let given = try await RedisDouble.start { _ in .reply(reply.withLockedValue { $0 }) }
        let redis = RedisAnswers(given.configuration)
        try await redis.connected()
        #expect(await redis.add(1, to: "a", lifetime: .seconds(60)) == nil)
        try await eventually("the failure", within: .seconds(30)) { !Self.areAllUp(redis) }
        let port = other.port
        reply.withLockedValue { $0 = isGiven ? ":5\r\n" : "-MOVED \(slot) 127.0.0.1:\(port)\r\n" }
        #expect(try await redis.added(1, to: "a") == 5)
        #expect(Self.areAllUp(redis))
        await redis.shutDown()
        for server in [given, other] { await server.stop() }
        hole.close()
    }
}
#endif
