// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineRedis

@Suite("A Redis server that is silent or lies", .timeLimit(.minutes(2)))
struct SilentRedisTests {
    @Test("a server that accepts connections but stays silent is not used")
    func silent() async throws {
        let hole = try await RawServer.start { _ in try await Gate().wait() }
        var configuration = RedisConfiguration()
        configuration.port = hole.port
        configuration.password = "secret"
        configuration.timeout = .milliseconds(20)
        let redis = RedisAnswers(configuration)
        let resolver = AnswerLab.resolver(AnswerLab.upstream(), redis)
        for index in 0..<5 { #expect(try await resolver.resolve(try Host("n\(index).test")).source == .fresh) }
        #expect(!redis.isConnected)
        await resolver.shutDown()
        await redis.shutDown()
        await hole.stop()
    }

    @Test("a cancelled question does not wait for a server that has stopped answering")
    func cancelled() async throws {
        let gate = Gate()
        let server = try await RawServer.start { connection in
            _ = try await connection.receive()
            try await gate.wait()
        }
        var configuration = RedisConfiguration()
        configuration.port = server.port
        configuration.timeout = .seconds(3_600)
        let redis = RedisAnswers(configuration)
        try await redis.connected()
        let question = Question(try Host("a.test"), families: .v4)
        let waiting = Task { await redis.answer(to: question, from: "one") }
        // The question is at the server.
        try await gate.arrivals(atLeast: 1)
        waiting.cancel()
        try await withTimeLimit(.seconds(30), for: { "the cancelled question" }) {
            #expect(await waiting.value == nil)
        }
        await server.stop()
        await redis.shutDown()
    }

    @Test("the pause grows while a server accepts connections and never answers")
    func pauseGrows() async throws {
        let hole = try await RawServer.start { _ in try await Gate().wait() }
        var configuration = RedisConfiguration()
        configuration.port = hole.port
        configuration.timeout = .milliseconds(10)
        configuration.retryDelay = .milliseconds(1)...Duration.seconds(10)
        let redis = RedisAnswers(configuration)
        let question = Question(try Host("a.test"), families: .v4)
        try await eventually("a longer pause", within: .seconds(30)) {
            _ = await redis.answer(to: question, from: "one")
            return redis.nextPause >= .milliseconds(16)
        }
        await redis.shutDown()
        await hole.stop()
    }

    @Test("an endless reply ends when the time limit is over")
    func endlessReply() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.receive()
            try await connection.send("$536870912\r\n")
            // Single octets, so that the socket is never silent and its buffer stays small.
            while true { try await connection.send("x") }
        }
        var configuration = RedisConfiguration()
        configuration.port = server.port
        configuration.timeout = .milliseconds(200)
        let redis = RedisAnswers(configuration)
        try await redis.connected()
        let question = Question(try Host("a.test"), families: .v4)
        try await withTimeLimit(.seconds(30), for: { "the end of the exchange" }) {
            #expect(await redis.answer(to: question, from: "one") == nil)
        }
        #expect(!redis.isConnected)
        await redis.shutDown()
        await server.stop()
    }

    @Test("an array as a reply ends the connection without reserving memory for its elements")
    func arrayReply() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.receive()
            try await connection.send("*1\r\n:1\r\n:1\r\n")
            try await connection.hold()
        }
        var configuration = RedisConfiguration()
        configuration.port = server.port
        configuration.timeout = .seconds(20)
        let redis = RedisAnswers(configuration)
        try await redis.connected()
        let question = Question(try Host("a.test"), families: .v4)
        try await withTimeLimit(.seconds(30), for: { "the end of the exchange" }) {
            #expect(await redis.answer(to: question, from: "one") == nil)
        }
        #expect(!redis.isConnected)
        await redis.shutDown()
        await server.stop()
    }

    @Test(
        "the pauses grow while a server refuses commands, and each reason is reported once",
        arguments: [
            "READONLY You can't write against a read only replica.", "NOAUTH Authentication required.",
            "OOM command not allowed when used memory > 'maxmemory'.", "LOADING Redis is loading the dataset in memory",
            "MISCONF Errors writing to the AOF file: No space left on device",
        ]
    )
    func refusals(_ reason: String) async throws {
        let server = try await RawServer.start { connection in
            while let bytes = try await connection.receive() {
                // A replica answers reads and refuses writes.
                let replies = String(decoding: bytes, as: UTF8.self).split(separator: "*").map { command in
                    command.contains("SET") ? "-\(reason)\r\n" : command.contains("PTTL") ? ":-2\r\n" : "$-1\r\n"
                }
                try await connection.send(replies.joined())
            }
        }
        let told = NIOLockedValueBox<[String]>([])
        var configuration = RedisConfiguration()
        configuration.port = server.port
        configuration.timeout = .seconds(20)
        configuration.retryDelay = .milliseconds(1)...Duration.seconds(10)
        configuration.onUnavailable = { text in told.withLockedValue { $0.append(text) } }
        let redis = RedisAnswers(configuration)
        let question = Question(try Host("a.test"), families: .v4)
        try await eventually("a longer pause", within: .seconds(30)) {
            _ = await redis.answer(to: question, from: "one")
            await redis.share(Answer(v4: .addresses([AnswerLab.address], ttl: .seconds(60))), to: question, from: "one")
            return redis.nextPause >= .milliseconds(64)
        }
        #expect(told.withLockedValue { $0 } == [reason])
        await redis.shutDown()
        await server.stop()
    }

    @Test("a key of another type does not make the server unavailable")
    func wrongType() async throws {
        let server = try await RawServer.start { connection in
            while try await connection.receive() != nil {
                try await connection.send("-WRONGTYPE Operation against a key holding a wrong kind\r\n:-1\r\n")
            }
        }
        var configuration = RedisConfiguration()
        configuration.port = server.port
        configuration.timeout = .seconds(20)
        let redis = RedisAnswers(configuration)
        try await redis.connected()
        #expect(await redis.answer(to: Question(try Host("a.test"), families: .v4), from: "one") == nil)
        #expect(redis.isConnected)
        await redis.shutDown()
        await server.stop()
    }

    @Test("waiting questions are sent in batches of limited size, each with the full time limit")
    func batches() async throws {
        let gate = Gate()
        let sizes = NIOLockedValueBox<[Int]>([])
        let server = try await RawServer.start { connection in
            while true {
                var (text, count) = ("", 0)
                // A batch is complete when it ends with a complete command.
                repeat {
                    guard let bytes = try await connection.receive() else { return }
                    text += String(decoding: bytes, as: UTF8.self)
                    count = text.split(separator: "*2\r\n").count
                } while count % 2 == 1 || !text.hasSuffix("\r\n")
                if sizes.withLockedValue({ $0.isEmpty }) { try await gate.wait() }
                sizes.withLockedValue { [count] in $0.append(count) }
                try await connection.send(String(repeating: "$-1\r\n:-2\r\n", count: count / 2))
            }
        }
        var configuration = RedisConfiguration()
        configuration.port = server.port
        configuration.timeout = .seconds(20)
        let redis = RedisAnswers(configuration)
        try await redis.connected()
        let asking = Task {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0...100 {
                    group.addTask {
                        guard let host = try? Host("a.test") else { return }
                        _ = await redis.answer(to: Question(host, families: .v4), from: "one")
                    }
                }
            }
        }
        try await gate.arrivals(atLeast: 1)
        try await eventually("the questions", within: .seconds(30)) { redis.waiting >= 101 - RedisAnswers.batchSize }
        gate.open()
        await asking.value
        let counts = sizes.withLockedValue { $0 }
        #expect(counts.reduce(0, +) == 202 && counts.allSatisfy { $0 <= 2 * RedisAnswers.batchSize }, "\(counts)")
        await redis.shutDown()
        await server.stop()
    }
}
#endif
