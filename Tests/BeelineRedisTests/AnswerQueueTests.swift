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
        try await withTimeLimit(.seconds(20), for: { "the end of the thread" }) {
            while (try? await thread.runIfActive { true }) != nil { await Task.yield() }
        }
        await server.stop()
    }
}
#endif
