// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineRedis

@Suite(
    "Answers shared through Redis",
    .enabled(if: !RedisServer.programs.isEmpty, "neither redis-server nor valkey-server is installed"),
    .timeLimit(.minutes(2))
)
struct SharedAnswersTests {
    @Test("an answer of one resolver serves another resolver, with the remaining TTL", arguments: RedisServer.programs)
    func sharing(_ program: String) async throws {
        let server = try RedisServer(program)
        let (one, other) = (server.answers(), server.answers())
        try await AnswerLab.connect(one)
        try await AnswerLab.connect(other)
        let (first, second, stranger) = (AnswerLab.upstream(), AnswerLab.upstream(), AnswerLab.upstream("another"))
        let resolvers = [
            AnswerLab.resolver(first, one), AnswerLab.resolver(second, other), AnswerLab.resolver(stranger, other),
        ]
        let (host, none) = (try Host("www.test"), try Host("none.test"))
        try await AnswerLab.share(host, resolver: resolvers[0], redis: one, name: "one")
        try await AnswerLab.share(none, resolver: resolvers[0], redis: one, name: "one")

        let resolution = try await resolvers[1].resolve(host)
        #expect(resolution.addresses == [AnswerLab.address] && resolution.upstream == "one")
        #expect(resolution.source == .cached && resolution.ttl <= .seconds(300) && resolution.ttl > .seconds(60))
        let error = await #expect(throws: ResolutionError.self) { try await resolvers[1].resolve(none) }
        #expect(error?.code == .noSuchName)
        #expect(second.questions.isEmpty && first.questions.count == 2)
        // A fresh lookup asks the upstream, and answers of different upstreams are separate.
        #expect(try await resolvers[1].resolve(host, fresh: true).source == .fresh)
        #expect(try await resolvers[2].resolve(host).source == .fresh)
        #expect(second.questions.count == 1 && stranger.questions.count == 1)
        for resolver in resolvers { await resolver.shutDown() }
        await one.shutDown()
        await other.shutDown()
        server.stop()
    }

    @Test("the first use opens the connection, and shared answers wait for it", arguments: RedisServer.programs)
    func first(_ program: String) async throws {
        let server = try RedisServer(program)
        // Once the scout is connected, the server is running.
        let scout = server.answers()
        try await AnswerLab.connect(scout)
        let host = try Host("first.test")
        let (writing, reading) = (server.answers(), server.answers())
        // The connection cannot be open yet.
        await writing.share(
            Answer(v4: .addresses([AnswerLab.address], ttl: .seconds(60))),
            to: Question(host, families: .v4),
            from: "one"
        )
        try await reading.connected()
        // The answer is written after its caller continues.
        var found: Answer?
        try await eventually("the answer", within: .seconds(30)) {
            found = await reading.answer(to: Question(host, families: .v4), from: "one")
            return found != nil
        }
        #expect(found?.v4?.addresses == [AnswerLab.address])
        await scout.shutDown()
        await writing.shutDown()
        await reading.shutDown()
        server.stop()
    }

    @Test("resolvers work without the server and use it again when it is back")
    func away() async throws {
        let program = try #require(RedisServer.programs.first)
        let port = try freePorts(1)[0]
        let dead = try RedisServer(program, port: port)
        dead.stop()
        let redis = dead.answers()
        let upstream = AnswerLab.upstream()
        let resolver = AnswerLab.resolver(upstream, redis)
        #expect(try await resolver.resolve(try Host("a.test")).source == .fresh)

        let server = try RedisServer(program, port: port)
        try await AnswerLab.connect(redis)
        try await AnswerLab.share(try Host("b.test"), resolver: resolver, redis: redis, name: "one")
        server.stop()
        for index in 0..<3 { #expect(try await resolver.resolve(try Host("c\(index).test")).source == .fresh) }
        #expect(!redis.isConnected)

        let again = try RedisServer(program, port: port)
        try await AnswerLab.connect(redis)
        try await AnswerLab.share(try Host("d.test"), resolver: resolver, redis: redis, name: "one")
        await resolver.shutDown()
        await redis.shutDown()
        again.stop()
        #expect(await redis.answer(to: Question(try Host("d.test"), families: .v4), from: "one") == nil)
    }

    @Test("a connection that the server closed while idle is reopened without a pause")
    func endedWhileIdle() async throws {
        let program = try #require(RedisServer.programs.first)
        let port = try freePorts(1)[0]
        let first = try RedisServer(program, port: port)
        let scout = first.answers()
        try await AnswerLab.connect(scout)
        // Now the first attempt succeeds. After another failure there would be no attempt for a minute.
        let redis = first.answers { $0.retryDelay = .seconds(60)...Duration.seconds(60) }
        try await AnswerLab.connect(redis)
        let question = Question(try Host("a.test"), families: .v4)
        _ = await redis.answer(to: question, from: "one")
        first.stop()
        let second = try RedisServer(program, port: port)
        let other = second.answers()
        try await AnswerLab.connect(other)
        _ = await redis.answer(to: question, from: "one")
        #expect(redis.isConnected)
        for answers in [redis, scout, other] { await answers.shutDown() }
        second.stop()
    }

    @Test("a server with a password accepts only clients that know it")
    func password() async throws {
        let program = try #require(RedisServer.programs.first)
        let server = try RedisServer(program, arguments: ["--requirepass", "s3cret"])
        let right = server.answers {
            $0.password = "s3cret"
            $0.database = 3
        }
        try await AnswerLab.connect(right)
        let told = NIOLockedValueBox<[String]>([])
        let wrong = server.answers {
            $0.password = "wrong"
            $0.onUnavailable = { text in told.withLockedValue { $0.append(text) } }
        }
        let question = Question(try Host("a.test"), families: .v4)
        try await eventually("the refusal", within: .seconds(30)) {
            #expect(await wrong.answer(to: question, from: "one") == nil)
            return !told.withLockedValue { $0.isEmpty }
        }
        for _ in 0..<20 { #expect(await wrong.answer(to: question, from: "one") == nil) }
        #expect(!wrong.isConnected)
        let reasons = told.withLockedValue { $0 }
        #expect(reasons.count == 1 && reasons.allSatisfy { $0.contains("password") }, "\(reasons)")
        await right.shutDown()
        await wrong.shutDown()
        server.stop()
    }

    @Test("concurrent questions share a connection, and each gets its own answer")
    func many() async throws {
        let program = try #require(RedisServer.programs.first)
        let server = try RedisServer(program)
        let redis = server.answers()
        try await AnswerLab.connect(redis)
        await withTaskGroup(of: Void.self) { group in
            for index in UInt32(0)..<500 {
                group.addTask {
                    guard let host = try? Host("n\(index).test") else { return }
                    let question = Question(host, families: .both)
                    let answer = Answer(
                        v4: .addresses([IPAddress(v4: 0xc633_0000 | index)], ttl: .seconds(100)),
                        v6: .absent(.noRecord, ttl: .seconds(100))
                    )
                    await redis.share(answer, to: question, from: "one")
                    let back = await redis.answer(to: question, from: "one")
                    #expect(back?.v4?.addresses == [IPAddress(v4: 0xc633_0000 | index)])
                    #expect(back?.v6?.addresses == [])
                }
            }
        }
        await redis.shutDown()
        server.stop()
    }
}
#endif
