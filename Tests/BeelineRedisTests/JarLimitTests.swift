// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Names
import Testing

@testable import BeelineRedis

@Suite(
    "Shared jars and the limits of one process",
    .enabled(if: !RedisServer.programs.isEmpty, "neither redis-server nor valkey-server is installed"),
    .timeLimit(.minutes(2))
)
struct JarLimitTests {
    private static let base = "{beeline:jar:shop}:"

    private static func server() throws -> RedisServer { try RedisServer(try #require(RedisServer.programs.first)) }

    /// Makes a gap in the feed, and waits until the jar has read the whole one of the server.
    private static func survey(_ jar: RedisJar, of server: RedisServer) async throws {
        let surveys = jar.context.progress.values.surveys
        _ = try server.ask("XADD", base + "feed", "*", "s", "900", "f", "x", "r", "y")
        let isRead = await jar.context.progress.wait(until: .now + .seconds(30)) { $0.surveys > surveys }
        try #require(isRead)
        try await jar.synchronize(within: .seconds(30))
    }

    @Test("a process without room for the cookies of the others deletes none of them")
    func smallLimits() async throws {
        let server = try Self.server()
        let one = try await server.jar()
        for number in 0..<10 { one.set("n\(number)", "1") }
        try await one.synchronize(within: .seconds(30))
        var limits = CookieJarConfiguration()
        limits.maxCookies = 3
        let small = try await server.jar(limits: limits)
        let kept = small.pairs
        #expect(kept.count == 3 && small.state.unwrittenChanges == 0)
        // Nor does the next reading exchange them for others.
        try await Self.survey(small, of: server)
        #expect(small.pairs == kept && small.state.unwrittenChanges == 0)
        try await one.synchronize(within: .seconds(30))
        #expect(one.pairs.count == 10)
        #expect(try server.ask("HLEN", Self.base + "cookies") == "10\n")
        #expect(try server.ask("ZCARD", Self.base + "deletions") == "0\n")
        // The next change of such a cookie arrives.
        let gone = try #require((0..<10).first { !kept.contains("n\($0)=1") })
        one.set("n\(gone)", "2")
        try await one.synchronize(within: .seconds(30))
        try await eventually("the change; the jar has \(small.pairs)", within: .seconds(30)) {
            small.pairs.contains("n\(gone)=2")
        }
        for jar in [one, small] { try await jar.close(within: .seconds(10)) }
        #expect(try server.ask("HLEN", Self.base + "cookies") == "10\n")
        server.stop()
    }

    @Test("a cookie that the server had no room for does not count as deleted there")
    func refusedCookie() async throws {
        let server = try Self.server()
        let jar = try await server.jar { $0.maxRecords = 2 }
        for number in 1...3 {
            jar.set("n\(number)", "1")
            try await jar.synchronize(within: .seconds(30))
        }
        #expect(try server.ask("HLEN", Self.base + "cookies") == "2\n")
        // The server has forgotten a deletion that was later than all these changes.
        let now = "\(CookieTime.now.microseconds)"
        #expect(try server.ask("HSET", Self.base + "state", "pruned", now).contains { $0.isNumber })
        try await Self.survey(jar, of: server)
        #expect(jar.pairs == ["n1=1", "n2=1", "n3=1"])
        try await jar.close(within: .seconds(10))
        server.stop()
    }
}
#endif
