// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import BeelineWebView
import CookieJar
import NIOConcurrencyHelpers
import Names
import Testing

@Suite("Following a web store that loses, refuses or hides cookies")
struct FollowingRefusalTests: FollowingSuite {
    let jar = CookieJar()
    let standIn = StandInStore()
    let reports = Reports()
    let url: HTTPURL

    init() throws {
        url = try HTTPURL("https://a.test/")
    }

    @Test("a lost deletion is repeated, and the cookie does not return to the jar meanwhile")
    func lostDeletion() async throws {
        var habits = StandInStore.Habits()
        habits.lostDeletions = 70
        let standIn = StandInStore(habits, seed: 7)
        var configuration = Self.configuration
        configuration.attempts = 200
        let following = standIn.store.follow(jar, configuration: configuration)
        for number in 0..<5 {
            jar.store("a=\(number)", from: url)
            try await following.sync()
            jar.removeAll()
            try await following.sync()
            #expect(jar.pairs == [] && standIn.pairs == [])
        }
        #expect(standIn.writes.count { $0 == .delete } > 5)
        await following.stop()
    }

    @Test("a deletion that never succeeds is given up and reported, and the cookie stays out of the jar")
    func neverDeletes() async throws {
        var habits = StandInStore.Habits()
        habits.lostDeletions = 100
        let standIn = StandInStore(habits)
        let following = follow(standIn) { $0.attempts = 3 }
        jar.store("a=1", from: url)
        try await following.sync()
        jar.removeAll()
        for _ in 0..<3 { try await following.sync() }
        #expect(reports.total.unfinished.map(\.name) == ["a"])
        #expect(jar.pairs == [] && standIn.writes.count { $0 == .delete } == 3)
        await following.stop()
    }

    @Test("a cookie that the store does not accept stays in the jar, is reported, and is retried when it changes")
    func notTaken() async throws {
        var habits = StandInStore.Habits()
        habits.keeps = { $0.value == "bad" ? nil : $0 }
        let standIn = StandInStore(habits)
        let following = follow(standIn) { $0.attempts = 3 }
        jar.store("a=bad", from: url)
        for _ in 0..<3 { try await following.sync() }
        #expect(reports.total.unfinished.map(\.name) == ["a"])
        #expect(jar.pairs == ["a=bad"])
        jar.store("a=good", from: url)
        try await following.sync()
        #expect(standIn.pairs == ["a=good"])
        await following.stop()
    }

    @Test("cookies that a full jar evicts or its rules refuse stay in the store, and refusals are reported")
    func oneSided() async throws {
        var bounds = CookieJarConfiguration()
        bounds.maxCookiesPerDomain = 3
        let jar = CookieJar(configuration: bounds)
        var configuration = Self.configuration
        configuration.onReport = reports.note
        let following = standIn.store.follow(jar, configuration: configuration)
        for number in 0..<3 { jar.store("a\(number)=1", from: url) }
        try await following.sync()
        jar.store("a3=1", from: url)
        try await following.sync()
        #expect(standIn.pairs == ["a0=1", "a1=1", "a2=1", "a3=1"])
        var wide = Cookie("c", "1", domain: "com")
        wide.isHostOnly = false
        standIn.pageSets(wide)
        for _ in 0..<2 { try await following.sync() }
        #expect(reports.total.refused == [.publicSuffix])
        #expect(standIn.cookie("c") != nil && jar.cookie("c") == nil)
        await following.stop()
    }

    @Test("cookies that a page's new cookie evicts from a full jar stay in the store")
    func evictedByPage() async throws {
        var bounds = CookieJarConfiguration()
        bounds.maxCookiesPerDomain = 3
        let following = standIn.store.follow(CookieJar(configuration: bounds), configuration: Self.configuration)
        for number in 0..<3 { standIn.pageSets("a\(number)", "1") }
        try await following.sync()
        standIn.pageSets("a3", "1")
        for _ in 0..<3 { try await following.sync() }
        #expect(standIn.pairs == ["a0=1", "a1=1", "a2=1", "a3=1"])
        await following.stop()
    }

    @Test("a failing store is reported, and following continues when it works again")
    func fails() async throws {
        let gated = GatedStore(standIn)
        var configuration = Self.configuration
        configuration.onReport = reports.note
        let following = gated.follow(jar, configuration: configuration)
        try await following.sync()
        gated.isBroken = true
        jar.store("a=1", from: url)
        let error = await #expect(throws: WebViewError.self) { try await following.sync() }
        #expect(error?.code == .failed)
        #expect(error?.message.contains("Broken()") == true)
        gated.isBroken = false
        try await following.sync()
        #expect(standIn.pairs == ["a=1"])
        #expect(!reports.total.failures.isEmpty)
        await following.stop()
    }

    /// A store whose cookie is different on each read.
    private final class Restless: WebCookieStore {
        let looks = NIOLockedValueBox(0)

        func cookies() async throws -> [Cookie] {
            let number = looks.withLockedValue { looks in
                looks += 1
                return looks
            }
            return [Cookie("a", "\(number)", domain: "a.test")]
        }
        func set(_ cookie: Cookie) async throws {}
        func delete(_ cookie: Cookie) async throws {}
    }

    @Test("a page that changes a cookie constantly does not keep the follower running without pauses")
    func restless() async throws {
        let clock = ManualClock()
        let store = Restless()
        let following = store.follow(CookieJar(), clock: clock)
        // Two sleepers: the regular interval and the pause.
        try await clock.sleepers(atLeast: 2)
        #expect(store.looks.withLockedValue { $0 } == 4)
        await following.stop()
    }

    /// A store that shows no cookies for some reads, as a browser that is exiting may do.
    private final class Blinking: WebCookieStore {
        /// The number of reads that show no cookies.
        private let looks = NIOLockedValueBox(0)

        func blink() { looks.withLockedValue { $0 += 1 } }

        func cookies() async throws -> [Cookie] {
            let isEmpty = looks.withLockedValue { looks in
                defer { looks = max(0, looks - 1) }
                return looks > 0
            }
            return isEmpty ? [] : [Cookie("a", "1", domain: "a.test"), Cookie("b", "2", domain: "a.test")]
        }
        func set(_ cookie: Cookie) async throws {}
        func delete(_ cookie: Cookie) async throws {}
    }

    @Test("a single read without cookies deletes no cookies from the jar")
    func blinking() async throws {
        let store = Blinking()
        var configuration = Self.configuration
        configuration.onReport = reports.note
        let following = store.follow(jar, configuration: configuration)
        try await following.sync()
        #expect(jar.pairs == ["a=1", "b=2"])
        store.blink()
        try await following.sync()
        #expect(jar.pairs == ["a=1", "b=2"] && reports.total.outOfJar == 0)
        await following.stop()
    }
}
