// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import BeelineWebView
import CookieJar
import NIOConcurrencyHelpers
import Names
import Testing

@Suite("Following a web store")
struct FollowingTests {
    let jar = CookieJar()
    let standIn = StandInStore()
    let reports = Reports()
    let url: HTTPURL

    init() throws {
        url = try HTTPURL("https://a.test/")
    }

    /// A short retry delay, and an interval so long that only notifications cause a read.
    static var configuration: WebCookieFollowing.Configuration {
        var configuration = WebCookieFollowing.Configuration()
        (configuration.retryDelay, configuration.interval) = (.milliseconds(1), .seconds(3600))
        return configuration
    }

    func follow(_ change: (inout WebCookieFollowing.Configuration) -> Void = { _ in }) -> WebCookieFollowing {
        follow(standIn, change)
    }

    func follow(
        _ standIn: StandInStore,
        _ change: (inout WebCookieFollowing.Configuration) -> Void = { _ in }
    ) -> WebCookieFollowing {
        var configuration = Self.configuration
        configuration.onReport = reports.note
        change(&configuration)
        return standIn.store.follow(jar, configuration: configuration)
    }

    @Test("at the start each side gets the cookies of the other")
    func first() async throws {
        jar.store("a=1; HttpOnly; Secure; SameSite=Strict; Max-Age=600", from: url)
        standIn.pageSets("b", "2")
        let following = follow()
        try await following.sync()
        #expect((reports.total.intoStore, reports.total.intoJar) == (1, 1))
        #expect(jar.pairs == ["a=1", "b=2"] && standIn.pairs == jar.pairs)
        let cookie = try #require(standIn.cookie("a"))
        #expect(cookie.isHTTPOnly && cookie.isSecure && cookie.sameSite == .strict)
        #expect(cookie.expires == jar.cookie("a")?.expires)
        await following.stop()
    }

    @Test("a login and a logout in the page reach the jar without a call to sync")
    func page() async throws {
        let following = follow()
        try await following.sync()
        let changes = jar.changes
        try await withTimeLimit(.seconds(20), for: { "the page's login and logout in the jar" }) { [standIn] in
            standIn.pageSets("sid", "42")
            for await case .change(let change) in changes {
                if case .removed = change.kind { return }
                #expect(change.cookie.value == "42" && change.source != nil)
                standIn.pageDeletes("sid")
            }
        }
        #expect(jar.pairs == [])
        #expect(standIn.writes == [], "an echo")
        await following.stop()
    }

    @Test("a login and a logout in the jar reach the page")
    func program() async throws {
        let following = follow()
        try await following.sync()
        jar.store("sid=42", from: url)
        try await following.sync()
        #expect(standIn.pairs == ["sid=42"])
        jar.store("sid=; Max-Age=0", from: url)
        try await following.sync()
        #expect(standIn.pairs == [])
        #expect((reports.total.intoStore, reports.total.outOfStore) == (1, 1))
        #expect((reports.total.intoJar, reports.total.outOfJar) == (0, 0))
        await following.stop()
    }

    @Test("once both sides agree, no cookie is written again")
    func echo() async throws {
        let following = follow()
        jar.store(["a=1", "b=2"], from: url)
        standIn.pageSets("c", "3")
        try await following.sync()
        let writes = standIn.writes
        let report = reports.total
        for _ in 0..<5 { try await following.sync() }
        #expect(standIn.writes == writes && writes == [.set, .set])
        #expect(reports.total == report)
        await following.stop()
    }

    @Test("of two changes to one cookie the newer one wins", arguments: [true, false])
    func newer(_ isPageNewer: Bool) async throws {
        let following = follow()
        jar.store("a=0", from: url)
        try await following.sync()
        await following.stop()
        // Both sides change during a read of a follower that knows the old values.
        let gated = GatedStore(standIn)
        let next = gated.follow(jar, configuration: Self.configuration)
        try await next.sync()
        gated.isShut = true
        async let agreement = next.sync()
        try await gated.blocks()
        if isPageNewer { jar.store("a=jar", from: url) }
        standIn.pageSets("a", "page")
        if !isPageNewer { jar.store("a=jar", from: url) }
        gated.isShut = false
        try await agreement
        #expect(jar.pairs == (isPageNewer ? ["a=page"] : ["a=jar"]))
        #expect(standIn.pairs == jar.pairs)
        await next.stop()
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

    @Test("when the store alters a cookie, the jar takes the altered cookie")
    func mangled() async throws {
        var habits = StandInStore.Habits()
        habits.keeps = { cookie in
            var cookie = cookie
            cookie.valueOctets = Array(cookie.valueOctets.prefix(3))
            return cookie
        }
        let standIn = StandInStore(habits)
        let following = standIn.store.follow(jar, configuration: Self.configuration)
        jar.store("a=12345", from: url)
        try await following.sync()
        #expect(jar.pairs == ["a=123"] && standIn.pairs == ["a=123"])
        await following.stop()
    }

    @Test("attributes that the store cannot hold stay in the jar when the page sets a new value")
    func inheritance() async throws {
        var habits = StandInStore.Habits()
        let loses: @Sendable (Cookie) -> Cookie? = { cookie in
            var cookie = cookie
            cookie.sameSite = .unspecified
            return cookie.partition == nil ? cookie : nil
        }
        (habits.keeps, habits.claims) = (loses, loses)
        let standIn = StandInStore(habits)
        let following = standIn.store.follow(jar, configuration: Self.configuration)
        jar.store(["a=1; SameSite=Strict", "chips=1; Secure; Partitioned"], from: url)
        try await following.sync()
        #expect(standIn.pairs == ["a=1"])
        standIn.pageSets("a", "2")
        try await following.sync()
        #expect(jar.cookie("a")?.value == "2" && jar.cookie("a")?.sameSite == .strict)
        #expect(jar.cookie("chips") != nil)
        await following.stop()
    }

    @Test("with beginsFromJar, a cookie deleted while the store was closed does not return")
    func beginsFromJar() async throws {
        jar.store("fresh=1", from: url)
        standIn.pageSets("stale", "1")
        standIn.pageSets("fresh", "0")
        let following = follow { $0.beginsFromJar = true }
        try await following.sync()
        #expect(jar.pairs == ["fresh=1"] && standIn.pairs == jar.pairs)
        standIn.pageSets("later", "1")
        try await following.sync()
        #expect(jar.pairs == ["fresh=1", "later=1"])
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

    @Test("cookies that are not shared stay on their own side")
    func shares() async throws {
        let following = follow { $0.shares = { $0.domain == "a.test" } }
        jar.store("mine=1", from: try HTTPURL("https://b.test/"))
        standIn.pageSets("theirs", "1", domain: "c.test")
        standIn.pageSets("ours", "1")
        try await following.sync()
        #expect(jar.pairs == ["mine=1", "ours=1"] && standIn.pairs == ["ours=1", "theirs=1"])
        await following.stop()
    }

    // MARK: Start and end

    @Test("after stop() both sides stay unchanged, the observer is gone, and sync() throws an error")
    func stops() async throws {
        let following = follow()
        try await following.sync()
        await following.stop()
        jar.store("a=1", from: url)
        standIn.pageSets("b", "1")
        let error = await #expect(throws: WebViewError.self) { try await following.sync() }
        #expect(error?.code == .stopped)
        #expect(jar.pairs == ["a=1"] && standIn.pairs == ["b=1"])
        #expect(standIn.observerCount == 0)
    }

    @Test("releasing the last reference ends the following and keeps the jar")
    func lastReference() async throws {
        var following: WebCookieFollowing? = follow()
        try await following?.sync()
        following = nil
        try await eventually("the observer's end") { standIn.observerCount == 0 }
        #expect(jar.pairs == [])
    }

    @Test("the following may end while the store notifies its observers")
    func endsDuringNotification() async throws {
        let box = NIOLockedValueBox<WebCookieFollowing?>(follow())
        try await box.withLockedValue { $0 }?.sync()
        standIn.onNotify = {
            // Releases the last reference, and so the observer, during the iteration over the observers.
            let last = box.withLockedValue { box in
                defer { box = nil }
                return box
            }
            _ = consume last
        }
        standIn.pageSets("a", "1")
        try await eventually("the observer's end") { standIn.observerCount == 0 }
        try await standIn.rest()
        #expect(standIn.writes == [])
    }

    @Test("a cancelled sync() ends at once, and other calls continue")
    func cancelledWait() async throws {
        let gated = GatedStore(standIn)
        gated.isShut = true
        let following = gated.follow(jar, configuration: Self.configuration)
        // Two calls wait behind a round that does not end.
        try await gated.blocks()
        let impatient = Task { try await following.sync() }
        async let patient: Void = following.sync()
        try await eventually("two calls") { following.waiting == 2 }
        impatient.cancel()
        let error = await #expect(throws: WebViewError.self) { try await impatient.value }
        #expect(error?.code == .cancelled)
        gated.isShut = false
        try await patient
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

    // MARK: Several stores

    @Test("when two stores follow one jar, a login in one page is a login in the other")
    func severalViews() async throws {
        let other = StandInStore(seed: 2)
        let (first, second) = (follow(), other.store.follow(jar, configuration: Self.configuration))
        standIn.pageSets("sid", "42")
        try await first.sync()
        try await second.sync()
        #expect(other.pairs == ["sid=42"])
        other.pageDeletes("sid")
        try await second.sync()
        try await first.sync()
        #expect(standIn.pairs == [] && jar.pairs == [])
        await first.stop()
        await second.stop()
    }

    @Test("following one store twice copies each change, without repetition")
    func twice() async throws {
        let (first, second) = (follow(), follow())
        standIn.pageSets("a", "1")
        jar.store("b=1", from: url)
        for _ in 0..<2 {
            try await first.sync()
            try await second.sync()
        }
        let writes = standIn.writes.count
        try await first.sync()
        try await second.sync()
        #expect(jar.pairs == ["a=1", "b=1"] && standIn.pairs == jar.pairs)
        // Each follower writes a cookie at most once; they may do so at the same time.
        #expect(standIn.writes.count == writes && writes <= 4)
        await first.stop()
        await second.stop()
    }

    @Test("the jars and stores of different profiles never share cookies")
    func profiles() async throws {
        let (otherJar, otherStore) = (CookieJar(), StandInStore(seed: 2))
        let (mine, theirs) = (follow(), otherStore.store.follow(otherJar, configuration: Self.configuration))
        jar.store("sid=ada", from: url)
        otherStore.pageSets("sid", "eve")
        try await mine.sync()
        try await theirs.sync()
        #expect(jar.pairs == ["sid=ada"] && standIn.pairs == ["sid=ada"])
        #expect(otherJar.pairs == ["sid=eve"] && otherStore.pairs == ["sid=eve"])
        await mine.stop()
        await theirs.stop()
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
}

extension FollowingTests {
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

/// The sum of all reports.
final class Reports: Sendable {
    private let sum = NIOLockedValueBox(WebCookieFollowing.Report())

    var total: WebCookieFollowing.Report { sum.withLockedValue { $0 } }

    @Sendable func note(_ report: WebCookieFollowing.Report) {
        sum.withLockedValue { sum in
            sum.intoJar += report.intoJar
            sum.outOfJar += report.outOfJar
            sum.intoStore += report.intoStore
            sum.outOfStore += report.outOfStore
            sum.rehomed += report.rehomed
            sum.refused += report.refused
            sum.unfinished += report.unfinished
            sum.failures += report.failures
        }
    }
}

/// A store that does not answer while it is shut, and fails while it is broken.
final class GatedStore: WebCookieStore {
    private struct State {
        var isShut = false
        var isBroken = false
        var isBlocking = false
    }

    struct Broken: Error {}

    private let standIn: StandInStore
    private let state = NIOLockedValueBox(State())

    init(_ standIn: StandInStore) { self.standIn = standIn }

    var isShut: Bool {
        get { state.withLockedValue { $0.isShut } }
        set { state.withLockedValue { $0.isShut = newValue } }
    }

    var isBroken: Bool {
        get { state.withLockedValue { $0.isBroken } }
        set { state.withLockedValue { $0.isBroken = newValue } }
    }

    /// Returns when a read waits because the store is shut.
    func blocks() async throws {
        try await eventually("a read that waits") { self.state.withLockedValue { $0.isBlocking } }
    }

    func cookies() async throws -> [Cookie] {
        defer { state.withLockedValue { $0.isBlocking = false } }
        while isShut {
            state.withLockedValue { $0.isBlocking = true }
            try Task.checkCancellation()
            await Task.yield()
        }
        if isBroken { throw Broken() }
        return try await standIn.store.cookies()
    }

    func set(_ cookie: Cookie) async throws { try await standIn.store.set(cookie) }
    func delete(_ cookie: Cookie) async throws { try await standIn.store.delete(cookie) }
    var changes: AsyncStream<Void> { standIn.store.changes }
}
