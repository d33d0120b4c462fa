// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import BeelineWebView
import CookieJar
import Names
import Testing

@Suite("Web store cookies stored under an address")
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

    @Test("a cookie moves to the host with its attributes, and the old one is deleted after the new one is stored")
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

    @Test("the newer of the moved cookie and the host's own cookie is kept", arguments: [true, false])
    func newer(_ isHostsNewer: Bool) async throws {
        standIn.pageSets(cookie("sid", "old", domain: "192.0.2.1"))
        standIn.pageSets(cookie("sid", "hosts", domain: "www.a.test", at: isHostsNewer ? 1 : -1))
        let result = try await standIn.store.rehome(from: address, to: host)
        #expect((result.moved, result.superseded) == (isHostsNewer ? (0, 1) : (1, 0)))
        #expect(standIn.pairs == [isHostsNewer ? "sid=hosts" : "sid=old"])
    }

    @Test("a cookie stays under the address when the store refuses the new one")
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

    @Test("a cookie that no host may set stays under the address")
    func rule() async throws {
        standIn.pageSets(cookie("__Host-sid", "1", domain: "192.0.2.1"))
        #expect(try await standIn.store.rehome(from: address, to: host).refused == [.hostPrefix])
        #expect(standIn.all.map(\.domain) == ["192.0.2.1"] && standIn.writes == [])
    }

    // MARK: While following

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

    @Test("a login at an address is stored under the host, in the jar and in the store")
    func asTheyComeIn() async throws {
        let jar = CookieJar()
        let following = try await follow(standIn, jar, hosts: ["www.a.test"])
        try await following.sync()
        standIn.pageSets("sid", "1", domain: "192.0.2.1")
        try await following.sync()
        #expect(jar.allCookies().map(\.domain) == ["www.a.test"])
        #expect(standIn.all.map(\.domain) == ["www.a.test"])
        #expect(standIn.writes == [.set, .delete], "the new cookie is set before the old one is deleted")
        await following.stop()
    }

    @Test("a cookie of an address with several hosts is not moved")
    func several() async throws {
        let jar = CookieJar()
        let following = try await follow(standIn, jar, hosts: ["www.a.test", "b.test"])
        standIn.pageSets("sid", "1", domain: "192.0.2.1")
        try await following.sync()
        #expect(jar.allCookies().map(\.domain) == ["192.0.2.1"])
        #expect(standIn.all.map(\.domain) == ["192.0.2.1"])
        await following.stop()
    }

    @Test("the host's newer cookie is kept, in the jar and in the store")
    func newerStays() async throws {
        let jar = CookieJar()
        let following = try await follow(standIn, jar, hosts: ["www.a.test"])
        // In this order, because the following may look at the store between the two.
        standIn.pageSets(cookie("sid", "new", domain: "www.a.test", at: 1))
        standIn.pageSets(cookie("sid", "old", domain: "192.0.2.1"))
        try await following.sync()
        #expect(jar.pairs == ["sid=new"] && standIn.pairs == ["sid=new"])
        #expect(standIn.all.map(\.domain) == ["www.a.test"])
        await following.stop()
    }

    @Test("when the store refuses the new cookie, it keeps the old one, and the jar has the cookie under the host")
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
