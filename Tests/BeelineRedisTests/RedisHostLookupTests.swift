// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import Dispatch
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineRedis

@Suite("The lookup of a server", .timeLimit(.minutes(1)))
struct RedisHostLookupTests {
    @Test("callers that wait for the same lookup all get its result")
    func sharedLookup() async throws {
        let gate = DispatchSemaphore(value: 0)
        let lookup = RedisHostLookup("redis.test") { _ in
            gate.wait()
            return .success([IPAddress(v4: 0x7f00_0001)])
        }
        let started = NIOLockedValueBox(0)
        let results = await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    await withCheckedContinuation { done in
                        // On threads of their own: the call blocks.
                        DispatchQueue(label: "beeline.tests.lookup").async {
                            started.withLockedValue { $0 += 1 }
                            done.resume(returning: try? lookup.addresses().count)
                        }
                    }
                }
            }
            try? await eventually("four calls") { started.withLockedValue { $0 } >= 4 }
            // A caller that comes late starts a lookup of its own.
            for _ in 0..<4 { gate.signal() }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results == [1, 1, 1, 1])
        lookup.end()
        #expect(throws: RedisFault.self) { try lookup.addresses() }
    }

    @Test("a slow lookup of the server's name delays no question and no shutdown, and shared answers wait for it")
    func slowName() async throws {
        let commands = NIOLockedValueBox("")
        let server = try await RawServer.start { connection in
            while let bytes = try await connection.receive() {
                commands.withLockedValue { $0 += String(decoding: bytes, as: UTF8.self) }
                try await connection.send("+OK\r\n")
            }
        }
        // One for each of the two lookups.
        let (dns, blackHole) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        var configuration = RedisConfiguration()
        configuration.host = "redis.test"
        configuration.port = server.port
        let (timeout, question) = (configuration.timeout, Question(try Host("a.test"), families: .v4))
        configuration.timeout = .seconds(20)
        let redis = RedisAnswers(configuration) { _ in
            dns.wait()
            return .success([IPAddress(v6: 0, 1), IPAddress(v4: 0x7f00_0001)])
        }
        configuration.timeout = timeout
        let lost = RedisAnswers(configuration) { _ in
            blackHole.wait()
            return .success([])
        }
        try await withTimeLimit(.seconds(30), for: { "the calls that do not wait for the name" }) {
            for answers in [redis, lost] {
                #expect(await answers.answer(to: question, from: "one") == nil)
                await answers.share(
                    Answer(v4: .addresses([AnswerLab.address], ttl: .seconds(60))),
                    to: question,
                    from: "one"
                )
            }
            await lost.shutDown()
        }
        #expect(commands.withLockedValue { $0.isEmpty })
        dns.signal()
        try await eventually("the answer in the server", within: .seconds(30)) {
            commands.withLockedValue { $0.contains("198.51.100.1") }
        }
        blackHole.signal()
        await redis.shutDown()
        await server.stop()
    }

    @Test("a server name without addresses is reported, and looked up again after the pause")
    func noSuchServer() async throws {
        let told = NIOLockedValueBox<[String]>([])
        let asked = NIOLockedValueBox(0)
        var configuration = RedisConfiguration()
        configuration.host = "redis.test"
        configuration.retryDelay = .milliseconds(1)...Duration.milliseconds(2)
        configuration.onUnavailable = { text in told.withLockedValue { $0.append(text) } }
        let redis = RedisAnswers(configuration) { _ in
            asked.withLockedValue { $0 += 1 }
            return .success([])
        }
        let question = Question(try Host("a.test"), families: .v4)
        try await eventually("the next lookup", within: .seconds(30)) {
            _ = await redis.answer(to: question, from: "one")
            return asked.withLockedValue { $0 } >= 3
        }
        #expect(told.withLockedValue { $0 } == ["the name redis.test has no address"])
        await redis.shutDown()
    }
}
#endif
