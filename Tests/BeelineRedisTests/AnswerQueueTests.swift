// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import HTTPDNS
import NIOPosix
import Names
import Testing

@testable import BeelineRedis

@Suite("The queue and the thread of shared answers", .timeLimit(.minutes(1)))
struct AnswerQueueTests {
    @Test("an object that is released without shutDown() ends its thread")
    func released() async throws {
        let server = try await RedisDouble.start { _ in .reply("+OK\r\n") }
        let thread = RedisAnswers(server.configuration).thread
        try await eventually("the end of the thread") { (try? await thread.runIfActive { true }) == nil }
        await server.stop()
    }

    @Test("a cancelled question leaves the queue at once")
    func cancelledQuestion() async throws {
        // No reply ends, so the first question keeps the thread busy.
        let server = try await RedisDouble.start { _ in .reply("$5\r\n") }
        var configuration = server.configuration
        configuration.maxWaiting = 1
        let redis = RedisAnswers(configuration)
        try await redis.connected()
        let question = Question(try Host("a.test"), families: .v4)
        let first = Task { await redis.answer(to: question, from: "one") }
        try await eventually("the first question at the server") { !server.commands.isEmpty }
        for _ in 0..<2 {
            let next = Task { await redis.answer(to: question, from: "one") }
            try await eventually("a question in the queue") { redis.waiting != 0 }
            next.cancel()
            let answer = await next.value
            #expect(answer == nil && redis.waiting == 0)
        }
        await server.stop()
        _ = await first.value
        await redis.shutDown()
    }
}
#endif
