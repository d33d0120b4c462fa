// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineRedis

@Suite("Connections that a Redis server cuts", .timeLimit(.minutes(1)))
struct CutConnectionTests {
    private static let limits = RedisReplyReader.Limits(octets: 64, elements: 0)

    /// The texts of the replies to a command, or the reason of a failure.
    private static func call(_ session: RedisSession, _ command: String, reconnects: Bool) async -> String {
        let words = command.split(separator: " ").map { Array($0.utf8) }
        let result = await session.run { session -> Result<[RedisValue], RedisFault> in
            Result { () throws(RedisFault) in
                try session.call([words], limits: limits, reconnects: reconnects)
            }
        }
        switch result {
        case .success(let values): return values.compactMap(\.text).joined(separator: " ")
        case .failure(let fault): return "fault: \(fault.reason)"
        case nil: return "ended"
        }
    }

    @Test("a connection that the server closed while it was idle is opened again before the next command")
    func closedWhileIdle() async throws {
        let server = try await RedisDouble.start { $0 == "FIRST" ? .cut("+one\r\n") : .reply("+two\r\n") }
        let session = RedisSession(RedisConnector(server.configuration))
        #expect(await Self.call(session, "FIRST", reconnects: true) == "one")
        try await server.closed()
        #expect(await Self.call(session, "SECOND", reconnects: true) == "two")
        #expect(server.commands == ["FIRST", "SECOND"])
        await session.end()
        await server.stop()
    }

    @Test("a reply that no command asked for is not taken for that to the next command")
    func surplusReply() async throws {
        let count = NIOLockedValueBox(0)
        let server = try await RedisDouble.start { command in
            guard command.hasPrefix("EXPIRE") else {
                return .reply(":\(count.withLockedValue { $0 += 1; return $0 })\r\n")
            }
            return .reply(count.withLockedValue { $0 } == 1 ? ":1\r\n:99\r\n" : ":1\r\n")
        }
        let redis = RedisAnswers(server.configuration)
        try await redis.connected()
        for number in 1...3 { #expect(await redis.add(1, to: "a", lifetime: .seconds(10)) == number) }
        await redis.shutDown()
        await server.stop()
    }

    @Test("a server that quotes the password when it refuses the login does not bring it into reports")
    func quotedPassword() async throws {
        let server = try await RedisDouble.start { command in
            .reply("-ERR unknown command, with args beginning with: '\(command)'\r\n")
        }
        let told = NIOLockedValueBox<[String]>([])
        var configuration = server.configuration
        (configuration.user, configuration.password) = ("worker", "s3cret")
        configuration.onUnavailable = { text in told.withLockedValue { $0.append(text) } }
        let redis = RedisAnswers(configuration)
        try await eventually("a report", within: .seconds(30)) { !told.withLockedValue { $0.isEmpty } }
        let reasons = told.withLockedValue { $0 }
        #expect(reasons.allSatisfy { $0.hasPrefix("ERR ") && !$0.contains("s3cret") }, "\(reasons)")
        #expect(server.commands == ["AUTH worker s3cret"])
        await redis.shutDown()
        await server.stop()
    }

    @Test("a command is sent twice if the connection was cut before its reply, and only if it may be")
    func cutBeforeReply() async throws {
        let cuts = NIOLockedValueBox(0)
        let server = try await RedisDouble.start { command in
            guard command == "CUT", cuts.withLockedValue({ $0 }) < 1 else { return .reply("+OK\r\n") }
            cuts.withLockedValue { $0 += 1 }
            return .cut("")
        }
        let session = RedisSession(RedisConnector(server.configuration))
        #expect(await Self.call(session, "PING", reconnects: true) == "OK")
        #expect(await Self.call(session, "CUT", reconnects: true) == "OK")
        cuts.withLockedValue { $0 = 0 }
        #expect(await Self.call(session, "CUT", reconnects: false) == "fault: Server closed the connection")
        #expect(server.commands == ["PING", "CUT", "CUT", "CUT"])
        await session.end()
        await server.stop()
    }

    @Test("a command is not sent twice after a part of its reply, nor on a connection that was just opened")
    func notSentTwice() async throws {
        let server = try await RedisDouble.start { command in
            switch command {
            case "PART": .cut("$9\r\nha")
            case "CUT": .cut("")
            default: .reply("+OK\r\n")
            }
        }
        let session = RedisSession(RedisConnector(server.configuration))
        #expect(await Self.call(session, "PING", reconnects: true) == "OK")
        #expect(await Self.call(session, "PART", reconnects: true).hasPrefix("fault:"))
        #expect(await Self.call(session, "CUT", reconnects: true).hasPrefix("fault:"))
        #expect(server.commands == ["PING", "PART", "CUT"])
        await session.end()
        await server.stop()
    }

    @Test("an interrupted command is not sent again")
    func interrupted() async throws {
        let arrived = Gate()
        let server = try await RedisDouble.start { command in
            guard command == "WAIT" else { return .reply("+OK\r\n") }
            arrived.open()
            return .reply("")
        }
        let session = RedisSession(RedisConnector(server.configuration))
        #expect(await Self.call(session, "PING", reconnects: true) == "OK")
        let waiting = Task { await Self.call(session, "WAIT", reconnects: true) }
        try await arrived.wait()
        session.interrupt()
        #expect(await waiting.value.hasPrefix("fault:"))
        #expect(await Self.call(session, "PING", reconnects: false) == "OK")
        #expect(server.commands == ["PING", "WAIT", "PING"])
        await session.end()
        await server.stop()
    }

    @Test("a counter is not added to twice when the connection is cut, and the next question uses a new connection")
    func countedOnce() async throws {
        let server = try await RedisDouble.start { command in
            if command.hasPrefix("INCRBY beeline:quota:cut") { return .cut("") }
            return .reply(command.hasPrefix("GET") ? "$-1\r\n" : ":7\r\n")
        }
        let redis = RedisAnswers(server.configuration)
        try await redis.connected()
        #expect(await redis.add(7, to: "whole", lifetime: .seconds(10)) == 7)
        #expect(await redis.add(7, to: "cut", lifetime: .seconds(10)) == nil)
        #expect(redis.isConnected)
        #expect(await redis.add(7, to: "next", lifetime: .seconds(10)) == 7)
        #expect(server.commands.filter { $0.hasPrefix("INCRBY") }.count == 3)
        await redis.shutDown()
        await server.stop()
    }

    @Test("a counter that is no number, or would overflow, concerns its key only")
    func foreignCounter() async throws {
        let errors = [
            "ERR value is not an integer or out of range", "ERR increment or decrement would overflow",
            "WRONGTYPE Operation against a key holding the wrong kind of value",
        ]
        let server = try await RedisDouble.start { command in
            guard command.hasPrefix("INCRBY") else { return .reply(":1\r\n") }
            return .reply("-\(errors[command.last?.wholeNumberValue ?? 0])\r\n")
        }
        let redis = RedisAnswers(server.configuration)
        try await redis.connected()
        for amount in errors.indices {
            #expect(await redis.add(amount, to: "a", lifetime: .seconds(10)) == nil)
            #expect(redis.isConnected)
        }
        await redis.shutDown()
        await server.stop()
    }

    @Test(
        "a login works although the server has closed the connection of the last one",
        .enabled(if: !RedisServer.programs.isEmpty, "neither redis-server nor valkey-server is installed")
    )
    func loginAfterIdle() async throws {
        let server = try RedisServer(try #require(RedisServer.programs.first))
        let jar = try await server.jar()
        let origin = try HTTPURL("https://shop.test/").origin
        for number in 0..<2 {
            let outcome = try await jar.ensureLoggedIn(to: origin, isLoggedIn: { $0.allCookies().count > number }) {
                copy in
                copy.insert(Cookie("n\(number)", "1", domain: "shop.test"))
            }
            #expect(outcome == .loggedIn)
            _ = try server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            // The connection that follows changes has to be opened again in any case.
            try await jar.synchronize(within: .seconds(30))
        }
        try await jar.close(within: .seconds(10))
        server.stop()
    }
}
#endif
