// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Names
import Testing

@testable import BeelineRedis

@Suite(
    "Shared jars on a hostile server",
    .enabled(if: !RedisServer.programs.isEmpty, "neither redis-server nor valkey-server is installed"),
    .timeLimit(.minutes(2))
)
struct JarHostilityTests {
    @Test("a counter of changes that cannot be counted on from ends no process")
    func counterAtTheLimit() async throws {
        let server = try RedisServer(try #require(RedisServer.programs.first))
        // Returns when the server takes commands.
        try await server.jar("other").close(within: .seconds(10))
        let state = "{beeline:jar:shop}:state"
        #expect(try server.ask("HSET", state, "serial", "9223372036854775807", "pruned", "0") == "2\n")
        let jar = try RedisJar(server.jarConfiguration())
        try await eventually("a failure; the state is \(jar.state)", within: .seconds(30)) { jar.state.failure != nil }
        #expect(jar.jar.allCookies().isEmpty)
        try? await jar.close(within: .seconds(1))
        server.stop()
    }

    @Test("a record from the far future is left alone, and later changes are still shared")
    func futureRecord() async throws {
        let server = try RedisServer(try #require(RedisServer.programs.first))
        let one = try await server.jar()
        one.jar.store("a=1; Max-Age=3600", from: try HTTPURL("https://shop.test/"))
        try await one.synchronize()
        let script = """
            local field = redis.call('HKEYS', KEYS[1])[1]
            local record = redis.call('HGET', KEYS[1], field)
            local rest = string.sub(record, (string.find(record, ':')))
            redis.call('HSET', KEYS[1], field, '4503599627370496' .. rest)
            return 'done'
            """
        #expect(try server.ask("EVAL", script, "1", "{beeline:jar:shop}:cookies") == "done\n")
        let two = try await server.jar()
        #expect(two.pairs.isEmpty && two.state.unreadableRecords == 1)
        two.jar.store("b=2; Max-Age=3600", from: try HTTPURL("https://shop.test/"))
        try await two.synchronize()
        try await one.has("a=1", "b=2")
        // Nor does it keep its cookie from later changes.
        one.jar.store("a=3; Max-Age=3600", from: try HTTPURL("https://shop.test/"))
        try await one.synchronize()
        try await two.has("a=3", "b=2")
        for jar in [one, two] { try? await jar.close(within: .seconds(10)) }
        server.stop()
    }
}
#endif
