// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineRedis

@Suite("Shared jars and clocks that are set", .timeLimit(.minutes(2)))
struct JarClockTests {
    /// A clock that a test sets.
    private final class Clock: Sendable {
        private let lead = NIOLockedValueBox<Int64>(0)
        let now: @Sendable () -> CookieTime

        init() { now = { [lead] in CookieTime.now.advanced(bySeconds: lead.withLockedValue { $0 }) } }

        func set(aheadBy seconds: Int64) { lead.withLockedValue { $0 = seconds } }
    }

    private static func cookie(_ value: String, expires: CookieTime? = nil) -> Cookie {
        var cookie = Cookie("a", value, domain: "shop.test")
        cookie.expires = expires
        return cookie
    }

    /// In the place of a server. Held, so that no other test listens there.
    private static let hole = try? RefusedEndpoint()

    /// A jar whose server does not exist.
    private static func lonely(_ clock: @escaping @Sendable () -> CookieTime) throws -> RedisJar {
        var configuration = RedisJarConfiguration(name: "shop")
        configuration.redis.port = try #require(hole).endpoint.port
        return try RedisJar(configuration, clock: clock)
    }

    @Test(
        "cookies that seemed expired while the clock was ahead come back when it is right",
        .enabled(if: !RedisServer.programs.isEmpty)
    )
    func clockAhead() async throws {
        let server = try RedisServer(try #require(RedisServer.programs.first))
        let one = try await server.jar()
        let clock = Clock()
        var configuration = server.jarConfiguration()
        configuration.surveyInterval = .milliseconds(50)
        let two = try RedisJar(configuration, clock: clock.now)
        func set(_ name: String) throws {
            one.jar.store("\(name)=1; Max-Age=3600", from: try HTTPURL("https://shop.test/"))
        }
        try set("before")
        try await one.synchronize(within: .seconds(30))
        try await two.has("before=1")
        clock.set(aheadBy: 7_200)
        two.jar.removeExpired()
        try set("during")
        try await one.synchronize(within: .seconds(30))
        try await two.synchronize(within: .seconds(30))
        #expect(two.pairs.isEmpty)
        clock.set(aheadBy: 0)
        try await two.has("before=1", "during=1")
        // The wrong clock has deleted nothing elsewhere.
        #expect(one.pairs == ["before=1", "during=1"])
        for jar in [one, two] { try await jar.close(within: .seconds(10)) }
        server.stop()
    }

    @Test(
        "a jar that is opened before the clock is set gets its cookies when it is set",
        .enabled(if: !RedisServer.programs.isEmpty)
    )
    func clockAt1970() async throws {
        let server = try RedisServer(try #require(RedisServer.programs.first))
        let one = try await server.jar()
        one.set("a", "1")
        try await one.synchronize(within: .seconds(30))
        let clock = Clock()
        clock.set(aheadBy: 60 - Int64(CookieTime.now.secondsSince1970))
        var configuration = server.jarConfiguration()
        configuration.surveyInterval = .seconds(3_600)
        let two = try RedisJar(configuration, clock: clock.now)
        try await two.synchronize(within: .seconds(30))
        #expect(two.pairs.isEmpty && two.state.unreadableRecords == 1)
        clock.set(aheadBy: 0)
        try await two.has("a=1")
        #expect(two.state.unreadableRecords == 0)
        for jar in [one, two] { try await jar.close(within: .seconds(10)) }
        server.stop()
    }

    @Test(
        "a clock that runs until it reaches changes of the future does not cause a reading of the whole jar",
        .enabled(if: !RedisServer.programs.isEmpty)
    )
    func reachedFuture() async throws {
        let server = try RedisServer(try #require(RedisServer.programs.first))
        let (ahead, clock) = (Clock(), Clock())
        ahead.set(aheadBy: 86_400 + 50)
        let one = try RedisJar(server.jarConfiguration(), clock: ahead.now)
        one.set("a", "1")
        try await one.synchronize(within: .seconds(30))
        var configuration = server.jarConfiguration()
        configuration.surveyInterval = .seconds(3_600)
        let two = try RedisJar(configuration, clock: clock.now)
        try await two.synchronize(within: .seconds(30))
        #expect(two.pairs.isEmpty && two.state.unreadableRecords == 1)
        let surveys = two.context.progress.values.surveys
        // Less than the minute from which a clock counts as set.
        clock.set(aheadBy: 55)
        let three = try await server.jar()
        // The second and the third change arrive after a check of the clock.
        three.set("b", "1")
        try await two.has("b=1")
        three.set("b", "2")
        try await two.has("b=2")
        three.set("b", "3")
        try await two.has("b=3")
        #expect(two.context.progress.values.surveys == surveys && two.state.unreadableRecords == 1)
        clock.set(aheadBy: 3_600)
        try await two.has("a=1", "b=3")
        for jar in [one, two, three] { try await jar.close(within: .seconds(10)) }
        server.stop()
    }

    @Test(
        "a deletion of the future leaves no mark that keeps processes from believing in deletions",
        .enabled(if: !RedisServer.programs.isEmpty),
        arguments: [true, false]
    )
    func futureDeletion(hasMark: Bool) async throws {
        let server = try RedisServer(try #require(RedisServer.programs.first))
        try await server.jar("other").close(within: .seconds(30))
        let (state, deletions) = ("{beeline:jar:shop}:state", "{beeline:jar:shop}:deletions")
        if hasMark { #expect(try server.ask("HSET", state, "pruned", "4503599627370495") == "1\n") }
        let clock = Clock()
        clock.set(aheadBy: hasMark ? 0 : 10 * 86_400)
        var configuration = server.jarConfiguration()
        configuration.deletionLifetime = .milliseconds(1)
        let jar = try RedisJar(configuration, clock: clock.now)
        jar.set("a", "1")
        try await jar.synchronize(within: .seconds(30))
        jar.remove("a")
        try await jar.synchronize(within: .seconds(30))
        try await withTimeLimit(.seconds(30), for: { "the end of the deletion record" }) {
            for number in 0... {
                jar.set("b", "\(number)")
                try await jar.synchronize(within: .seconds(30))
                if try server.ask("ZCARD", deletions) == "0\n" { break }
            }
        }
        let pruned = Int64(try server.ask("HGET", state, "pruned").filter(\.isNumber)) ?? 0
        #expect(hasMark ? (1...jar.context.latestVersion).contains(pruned) : pruned == 0)
        try await jar.close(within: .seconds(30))
        server.stop()
    }

    @Test("an update with an expired cookie keeps its version, so that no older one returns")
    func expiredUpdate() async throws {
        let clock = Clock()
        let jar = try Self.lonely(clock.now)
        let soon = CookieTime.now.advanced(bySeconds: 60)
        func update(_ version: Int64, _ value: String, expires: CookieTime?) -> JarUpdate {
            let cookie = Self.cookie(value, expires: expires)
            return JarUpdate(key: CookieKey(cookie), version: version, cookie: cookie)
        }
        jar.context.apply([update(10, "first", expires: soon)])
        #expect(jar.pairs == ["a=first"])
        clock.set(aheadBy: 120)
        jar.context.apply([update(20, "second", expires: soon)])
        jar.context.apply([update(15, "older", expires: nil)])
        #expect(jar.pairs.isEmpty)
        jar.context.apply([update(30, "third", expires: nil)])
        #expect(jar.pairs == ["a=third"])
        try? await jar.close(within: .zero)
    }

    @Test("a clock beyond what versions can hold makes versions that others accept", arguments: [-9, 1 << 52, .max])
    func impossibleClock(_ time: Int64) async throws {
        let jar = try Self.lonely { CookieTime(microseconds: time) }
        let cookie = Self.cookie("1")
        jar.context.apply([JarUpdate(key: CookieKey(cookie), version: 10, cookie: cookie)])
        jar.jar.insert(Self.cookie("2"))
        let (known, _) = jar.context.recorder.snapshot
        let version = try #require(known[CookieKey(cookie)]?.version)
        #expect(version > 10 && version <= JarUpdate.maxVersion)
        try? await jar.close(within: .zero)
    }
}
#endif
