// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import BeelineWebView
import CookieJar
import NIOConcurrencyHelpers
import Names
import Testing

@Suite("Handing cookies over")
struct HandOverTests {
    let jar = CookieJar()
    let url: HTTPURL

    init() throws {
        url = try HTTPURL("https://www.a.test/start")
    }

    @Test("a cookie arrives with all attributes that it has in the jar")
    func attributes() async throws {
        let fields = [
            "sid=1; Domain=a.test; Path=/x; Secure; HttpOnly; SameSite=Strict; Max-Age=600",
            "lax=2; SameSite=Lax", "none=3; SameSite=None; Secure", "chips=4; Secure; Partitioned; SameSite=None",
            "plain=5",
        ]
        jar.store(fields, from: url)
        let standIn = StandInStore()
        let report = try await standIn.store.handOver(from: jar, for: url)
        #expect(report.count == 5 && report.unsupported.isEmpty)
        let contents = { (cookies: [Cookie]) in
            Dictionary(uniqueKeysWithValues: cookies.map { (CookiePlace($0), CookieContent($0)) })
        }
        #expect(contents(standIn.all) == contents(jar.allCookies()))
    }

    @Test("the hand-over returns only when the store lists every cookie, even if it calls its handlers early")
    func completes() async throws {
        for number in 0..<20 { jar.store("c\(number)=\(number)", from: url) }
        for seed in 0..<20 {
            var habits = StandInStore.Habits()
            (habits.answersEarly, habits.lateness) = (true, 20)
            let standIn = StandInStore(habits, seed: UInt64(seed))
            try await standIn.store.handOver(from: jar, for: url)
            #expect(standIn.pairs == jar.pairs)
        }
    }

    /// A store that refuses cookies with a given name by an error.
    private final class Refusing: WebCookieStore {
        let name: String
        let taken = NIOLockedValueBox<[Cookie]>([])

        init(_ name: String) { self.name = name }

        func cookies() async throws -> [Cookie] { taken.withLockedValue { $0 } }
        func set(_ cookie: Cookie) async throws {
            if cookie.name == name { throw WebViewError(.refused, "no such cookie") }
            taken.withLockedValue { $0.append(cookie) }
        }
        func delete(_ cookie: Cookie) async throws {}
    }

    @Test("a refused cookie is named in the error and does not prevent the others from being stored")
    func refusedAloud() async throws {
        for name in ["first", "bad", "last"] { jar.store("\(name)=1", from: url) }
        let store = Refusing("bad")
        let report = try await store.handOver(from: jar, for: url)
        #expect(report.count == 2 && report.refused.map(\.cookie.name) == ["bad"])
        #expect(report.refused.first?.reason.contains("the cookie bad of www.a.test") == true)
        #expect(store.taken.withLockedValue { $0.map(\.name).sorted() } == ["first", "last"])
    }

    @Test("time limits of any length are accepted without a trap")
    func forever() async throws {
        jar.store("a=1", from: url)
        let standIn = StandInStore()
        try await standIn.store.handOver(from: jar, for: url, within: .seconds(Int64.max))
        #expect(standIn.pairs == ["a=1"])
        var configuration = WebCookieFollowing.Configuration()
        configuration.interval = .seconds(Int64.max)
        let following = standIn.store.follow(jar, configuration: configuration)
        jar.store("b=1", from: url)
        try await following.sync()
        #expect(standIn.pairs == ["a=1", "b=1"])
        await following.stop()
    }

    @Test("a hand-over without cookies completes at once and does not call the store")
    func empty() async throws {
        var habits = StandInStore.Habits()
        habits.silent = [.getAll, .set, .delete]
        let standIn = StandInStore(habits)
        #expect(try await standIn.store.handOver(from: jar, for: url) == HandOver())
        #expect(standIn.calls.isEmpty)
    }

    @Test("a hand-over has the cookies of the site, and those set by other sites within its pages")
    func site() async throws {
        let other = try HTTPURL("https://b.test/")
        jar.store("www=1", from: url)
        jar.store("parent=1; Domain=a.test; Path=/deep", from: url)
        jar.store("sister=1", from: try HTTPURL("https://api.a.test/"))
        jar.store("other=1", from: other)
        let within = CookieContext(site: .cross, topLevelSite: Site(of: url))
        jar.store("inner=1; Secure; SameSite=None; Partitioned", from: other, context: within)
        let elsewhere = CookieContext(site: .cross, topLevelSite: Site(of: other))
        jar.store("outer=1; Secure; SameSite=None; Partitioned", from: url, context: elsewhere)
        let standIn = StandInStore()
        try await standIn.store.handOver(from: jar, for: url)
        #expect(standIn.all.map(\.name).sorted() == ["inner", "parent", "sister", "www"])
    }

    @Test("a cookie that the store already has is not set again")
    func already() async throws {
        jar.store("a=1", from: url)
        let standIn = StandInStore()
        try await standIn.store.handOver(from: jar, for: url)
        try await standIn.store.handOver(from: jar, for: url)
        #expect(standIn.writes == [.set])
    }

    @Test("a cookie that the store cannot hold is reported and does not prevent the others from being stored")
    func unsupported() async throws {
        var habits = StandInStore.Habits()
        habits.claims = { $0.partition == nil ? $0 : nil }
        jar.store(["a=1", "b=2; Secure; Partitioned"], from: url)
        let standIn = StandInStore(habits)
        let report = try await standIn.store.handOver(from: jar, for: url)
        #expect(report.count == 1 && report.unsupported.map(\.name) == ["b"])
        #expect(standIn.pairs == ["a=1"])
    }

    // MARK: Stores that fail

    /// Returns the result of a hand-over to a store with these habits. The clock advances whenever only waits are left.
    private func handOver(_ habits: StandInStore.Habits) async throws -> Result<HandOver, WebViewError> {
        let standIn = StandInStore(habits)
        let clock = ManualClock()
        // With a silent store, the time limit is the only sleeper on this clock. Otherwise a pause is the second one.
        let isSilent = !habits.silent.isEmpty
        return try await withThrowingTaskGroup(of: Result<HandOver, WebViewError>.self) { group in
            group.addTask { [jar, url] in
                do throws(WebViewError) {
                    let limit = Duration.seconds(3)
                    return .success(try await standIn.store.handOver(from: jar, for: url, within: limit, clock: clock))
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                while true {
                    try await clock.sleepers(atLeast: isSilent ? 1 : 2)
                    try await eventually("the silent calls") { habits.silent.isSubset(of: standIn.calls) }
                    clock.advance(by: .milliseconds(50))
                    await Task.yield()
                }
            }
            defer { group.cancelAll() }
            return try await group.next() ?? .failure(WebViewError(.cancelled, "no task ended"))
        }
    }

    @Test("a cookie that the store drops silently is named in the result, and the others are handed over")
    func dropped() async throws {
        jar.store(["a=1", "evil=2"], from: url)
        var habits = StandInStore.Habits()
        habits.keeps = { $0.name == "evil" ? nil : $0 }
        let report = try await handOver(habits).get()
        #expect(report.count == 1 && report.refused.map(\.cookie.name) == ["evil"])
        let reason = "the cookie evil of www.a.test is not stored after 3.0 seconds"
        #expect(report.refused.first?.reason.contains(reason) == true)
    }

    @Test("a cookie that loses an attribute is named in the result, with the attribute")
    func altered() async throws {
        jar.store(["sid=1; HttpOnly; Secure", "a=1"], from: url)
        var habits = StandInStore.Habits()
        habits.keeps = { cookie in
            var cookie = cookie
            cookie.isHTTPOnly = false
            return cookie
        }
        let report = try await handOver(habits).get()
        #expect(report.count == 1)
        #expect(report.refused.map(\.reason) == ["the store does not keep HttpOnly of the cookie sid of www.a.test"])
    }

    /// A store that takes a second for each cookie.
    private final class Slow: WebCookieStore {
        let clock: ManualClock
        let taken = NIOLockedValueBox<[Cookie]>([])

        init(_ clock: ManualClock) { self.clock = clock }

        func cookies() async throws -> [Cookie] { taken.withLockedValue { $0 } }
        func set(_ cookie: Cookie) async throws {
            try await clock.sleep(for: .seconds(1))
            taken.withLockedValue { $0.append(cookie) }
        }
        func delete(_ cookie: Cookie) async throws {}
    }

    @Test("many cookies in a slow store do not count as a store that does not answer")
    func slow() async throws {
        for number in 0..<10 { jar.store("c\(number)=1", from: url) }
        let clock = ManualClock()
        let store = Slow(clock)
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask { [jar, url] in
                try await store.handOver(from: jar, for: url, within: .seconds(3), clock: clock).count
            }
            group.addTask {
                while true {
                    try await clock.sleepers(atLeast: 2)
                    clock.advance(by: .seconds(1))
                    await Task.yield()
                }
            }
            defer { group.cancelAll() }
            return try await group.next()
        }
        #expect(count == 10)
    }

    @Test("a handler that is never called fails the hand-over in time", arguments: [StandInStore.Call.getAll, .set])
    func silence(_ call: StandInStore.Call) async throws {
        jar.store("a=1", from: url)
        var habits = StandInStore.Habits()
        habits.silent = [call]
        let result = try await handOver(habits)
        let error = #expect(throws: WebViewError.self) { try result.get() }
        #expect(error?.code == .timedOut)
    }

    @Test("a cookie that the page sets meanwhile is newer and is kept")
    func newer() async throws {
        jar.store("a=1", from: url)
        var habits = StandInStore.Habits()
        // The page always sets its own value.
        habits.keeps = { cookie in
            var cookie = cookie
            cookie.valueOctets = Array("page".utf8)
            return cookie
        }
        let standIn = StandInStore(habits)
        try await standIn.store.handOver(from: jar, for: url)
        #expect(standIn.pairs == ["a=page"])
    }
}
