// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import BeelineWebView
import CookieJar
import Names
import Testing

@Suite("Following a web store")
struct FollowingTests: FollowingSuite {
    let jar = CookieJar()
    let standIn = StandInStore()
    let reports = Reports()
    let url: HTTPURL

    init() throws {
        url = try HTTPURL("https://a.test/")
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
}
