// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Testing

@testable import BeelineRedis

@Suite(
    "The end of a shared jar",
    .enabled(if: !RedisServer.programs.isEmpty, "neither redis-server nor valkey-server is installed"),
    .timeLimit(.minutes(2))
)
struct JarCloseTests {
    private static func server() throws -> RedisServer { try RedisServer(try #require(RedisServer.programs.first)) }

    @Test("a change whose write begins while the jar is being closed is written")
    func changeBeforeClose() async throws {
        let server = try Self.server()
        // The write and the close race, so one round proves little.
        for round in 1...100 {
            let jar = try await server.jar()
            jar.set("a\(round)", "1")
            try await jar.close(within: .seconds(30))
            #expect(jar.state.unwrittenChanges == 0, "round \(round)")
        }
        let last = try await server.jar()
        #expect(last.pairs.count == 100)
        try await last.close()
        server.stop()
    }

    @Test("a jar that a cancelled task closes still writes its last changes")
    func closedByACancelledTask() async throws {
        let server = try Self.server()
        let one = try await server.jar()
        one.set("a", "1")
        let closing = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await one.close(within: .seconds(10))
        }
        try await closing.value
        let two = try await server.jar()
        #expect(two.pairs == ["a=1"])
        try await two.close()
        server.stop()
    }

    @Test("calls of close at the same time have the same result")
    func closedTwice() async throws {
        let server = try Self.server()
        let jar = try await server.jar()
        let idle = try await server.jar("idle")
        jar.set("a", "1")
        async let first: Void = jar.close(within: .seconds(30))
        // Either may be the first, whose limit counts.
        async let second: Void = jar.close(within: .seconds(30))
        _ = try await (first, second)
        try await jar.close(within: .zero)
        // Nothing is unwritten, so this needs no time.
        try await idle.close(within: .zero)
        let other = try await server.jar()
        #expect(other.pairs == ["a=1"])
        other.set("b", "1")
        server.stop()
        other.set("c", "1")
        for _ in 0..<2 {
            let error = await #expect(throws: RedisError.self) { try await other.close(within: .milliseconds(300)) }
            #expect(error?.code == .unavailable)
        }
    }

    @Test("a change that is made while another call closes the jar is written, if its own call succeeds")
    func changedWhileClosing() async throws {
        let server = try Self.server()
        for round in 0..<50 {
            let jar = try await server.jar("round\(round)")
            jar.set("a", "1")
            async let first: Void = jar.close(within: .seconds(30))
            // A change after the end is ignored and not counted.
            jar.set("b", "1")
            try await jar.close(within: .seconds(30))
            try await first
            #expect(jar.state.unwrittenChanges == 0, "round \(round)")
        }
        server.stop()
    }

    @Test("a second call of close keeps its own time limit, and ends the first one's writing")
    func secondLimit() async throws {
        let server = try Self.server()
        let jar = try await server.jar()
        server.stop()
        jar.set("a", "1")
        let first = Task { try await jar.close(within: .seconds(3_600)) }
        // So that it is the first one.
        for _ in 0..<100 { await Task.yield() }
        try await withTimeLimit(.seconds(30), for: { "the end of the first call" }) {
            let errors = [
                await #expect(throws: RedisError.self) { try await jar.close(within: .milliseconds(200)) },
                await #expect(throws: RedisError.self) { try await first.value },
            ]
            #expect(errors.allSatisfy { $0?.code == .unavailable })
        }
    }

    @Test("a cancelled second call of close leaves the first one its time")
    func cancelledSecondCall() async throws {
        let program = try #require(RedisServer.programs.first)
        let server = try RedisServer(program)
        let jar = try await server.jar()
        server.stop()
        jar.set("a", "1")
        let first = Task { try await jar.close(within: .seconds(60)) }
        for _ in 0..<100 { await Task.yield() }
        let second = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await jar.close(within: .seconds(60))
        }
        for _ in 0..<100 { await Task.yield() }
        let next = try RedisServer(program, port: server.port)
        try await first.value
        try await second.value
        let other = try await next.jar()
        #expect(other.pairs == ["a=1"])
        try await other.close()
        next.stop()
    }

    @Test("a jar without unwritten changes closes at once when its server has gone")
    func serverGone() async throws {
        let server = try Self.server()
        let jar = try await server.jar()
        jar.set("a", "1")
        try await jar.synchronize(within: .seconds(30))
        server.stop()
        try await withTimeLimit(.seconds(30), for: { "the end of the jar" }) {
            try await jar.close(within: .seconds(3_600))
        }
    }

    @Test("a jar whose server's memory is full says so at its end, and not that changes were made until then")
    func fullServer() async throws {
        let server = try Self.server()
        let jar = try await server.jar()
        _ = try server.ask("CONFIG", "SET", "maxmemory", "1")
        jar.set("a", "1")
        try await jar.state { $0.failure?.hasPrefix("OOM") == true && $0.isConnected }
        let error = await #expect(throws: RedisError.self) { try await jar.close(within: .milliseconds(200)) }
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("cannot be used: OOM") == true, "\(error?.message ?? "")")
        server.stop()
    }
}
#endif
