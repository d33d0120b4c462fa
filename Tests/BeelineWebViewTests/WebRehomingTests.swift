// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import BeelineWebView
import CookieJar
import Names
import Testing

@Suite("Cookies of a web store that were filed under an address")
struct WebRehomingTests {
    let address = IPAddress(v4: 0xc000_0201)
    let host: Host
    let standIn = StandInStore()

    init() throws { host = try Host("www.a.test") }

    func cookie(_ name: String, _ value: String, domain: String, at seconds: Double = 0) -> Cookie {
        var cookie = Cookie(name, value, domain: domain)
        cookie.created = CookieTime(secondsSince1970: 1_772_366_400 + seconds)
        return cookie
    }

    @Test("each moves with its attributes; the old one goes when the new one is there")
    func moves() async throws {
        var old = cookie("sid", "1", domain: "192.0.2.1")
        (old.path, old.isSecure, old.isHTTPOnly, old.sameSite) = ("/shop", true, true, .strict)
        standIn.pageSets(old)
        let result = try await standIn.store.rehome(from: address, to: host)
        #expect(result.moved == 1 && standIn.all.count == 1)
        let new = try #require(standIn.all.first)
        #expect((new.domain, new.isHostOnly) == ("www.a.test", true))
        #expect(CookieContent(new) == CookieContent(old) && new.path == "/shop")
        #expect(standIn.writes == [.set, .delete])
    }

    @Test("a newer one of the host is never overwritten, and an older one gives way", arguments: [true, false])
    func newer(_ isHostsNewer: Bool) async throws {
        standIn.pageSets(cookie("sid", "old", domain: "192.0.2.1"))
        standIn.pageSets(cookie("sid", "hosts", domain: "www.a.test", at: isHostsNewer ? 1 : -1))
        let result = try await standIn.store.rehome(from: address, to: host)
        #expect((result.moved, result.superseded) == (isHostsNewer ? (0, 1) : (1, 0)))
        #expect(standIn.pairs == [isHostsNewer ? "sid=hosts" : "sid=old"])
    }

    @Test("a store that does not take the new one keeps the old one")
    func refused() async throws {
        var habits = StandInStore.Habits()
        habits.keeps = { $0.domain == "www.a.test" ? nil : $0 }
        let standIn = StandInStore(habits)
        standIn.pageSets(cookie("sid", "1", domain: "192.0.2.1"))
        let error = await #expect(throws: WebViewError.self) {
            try await standIn.store.rehome(from: address, to: host, within: .milliseconds(50))
        }
        #expect(error?.code == .timedOut)
        #expect(standIn.all.map(\.domain) == ["192.0.2.1"])
    }

    @Test("one that no host may have stays under the address")
    func rule() async throws {
        standIn.pageSets(cookie("__Host-sid", "1", domain: "192.0.2.1"))
        #expect(try await standIn.store.rehome(from: address, to: host).refused == [.hostPrefix])
        #expect(standIn.all.map(\.domain) == ["192.0.2.1"] && standIn.writes == [])
    }

    // MARK: As they come in

    func follow(_ standIn: StandInStore, _ jar: CookieJar, hosts: [String]) async throws -> WebCookieFollowing {
        let table = hosts.map { "192.0.2.1 \($0)\n" }.joined()
        let upstream = FixedUpstream(HostsTable(parsing: table))
        let resolver = Resolver(ResolverConfiguration(upstreams: [upstream], system: nil))
        for host in hosts { _ = try await resolver.resolve(try Host(host)) }
        var configuration = FollowingTests.configuration
        configuration.attempts = 5
        configuration.hostOfAddress = { try? resolver.onlyHost(of: $0) }
        return standIn.store.follow(jar, configuration: configuration)
    }

    @Test("a page under an address logs in: jar and store have the login under the host")
    func asTheyComeIn() async throws {
        let jar = CookieJar()
        let following = try await follow(standIn, jar, hosts: ["www.a.test"])
        try await following.sync()
        standIn.pageSets("sid", "1", domain: "192.0.2.1")
        try await following.sync()
        #expect(jar.allCookies().map(\.domain) == ["www.a.test"])
        #expect(standIn.all.map(\.domain) == ["www.a.test"])
        #expect(standIn.writes == [.set, .delete], "the new one first")
        await following.stop()
    }

    @Test("an address that served several hosts is not guessed")
    func several() async throws {
        let jar = CookieJar()
        let following = try await follow(standIn, jar, hosts: ["www.a.test", "b.test"])
        standIn.pageSets("sid", "1", domain: "192.0.2.1")
        try await following.sync()
        #expect(jar.allCookies().map(\.domain) == ["192.0.2.1"])
        #expect(standIn.all.map(\.domain) == ["192.0.2.1"])
        await following.stop()
    }

    @Test("a newer one of the host stays, in the jar and in the store")
    func newerStays() async throws {
        let jar = CookieJar()
        let following = try await follow(standIn, jar, hosts: ["www.a.test"])
        standIn.pageSets(cookie("sid", "old", domain: "192.0.2.1"))
        standIn.pageSets(cookie("sid", "new", domain: "www.a.test", at: 1))
        try await following.sync()
        #expect(jar.pairs == ["sid=new"] && standIn.pairs == ["sid=new"])
        #expect(standIn.all.map(\.domain) == ["www.a.test"])
        await following.stop()
    }

    @Test("where the store does not take the new one, it keeps the old one; the jar has it under the host")
    func kept() async throws {
        var habits = StandInStore.Habits()
        habits.keeps = { $0.domain == "www.a.test" ? nil : $0 }
        let (jar, standIn) = (CookieJar(), StandInStore(habits))
        let following = try await follow(standIn, jar, hosts: ["www.a.test"])
        standIn.pageSets("sid", "1", domain: "192.0.2.1")
        try await following.sync()
        #expect(jar.allCookies().map(\.domain) == ["www.a.test"])
        #expect(standIn.all.map(\.domain) == ["192.0.2.1"])
        await following.stop()
    }
}
