// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineURLSession
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Cookies stored under an address")
struct RehomingTests {
    let storage: HTTPCookieStorage
    let address = IPAddress(v4: 0xc000_0201)
    let host: Names.Host

    init() throws {
        storage = try .own()
        host = try Names.Host("www.a.test")
    }

    func put(_ name: String, _ value: String, domain: String, more: [HTTPCookiePropertyKey: Any] = [:]) throws {
        let properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: value, .domain: domain, .path: "/"]
        storage.setCookie(try #require(HTTPCookie(properties: properties.merging(more) { $1 })))
    }

    @Test("a cookie moves to the host with every attribute")
    func attributes() throws {
        let expires = Date(timeIntervalSinceNow: 3600)
        try put(
            "sid",
            "1",
            domain: "192.0.2.1",
            more: [
                .path: "/shop", .secure: "TRUE", HTTPCookiePropertyKey("HttpOnly"): "TRUE", .expires: expires,
                .comment: "kept", .version: "1", .port: "80,443",
            ]
        )
        // Foundation on Linux treats a version 1 cookie without Max-Age as session-only, whatever its expiry.
        let isSessionOnly = storage.cookies?.first?.isSessionOnly
        #expect(storage.rehome(from: address, to: host).moved == 1)
        let cookie = try #require(storage.cookies?.first)
        #expect(storage.cookies?.count == 1)
        #expect((cookie.domain, cookie.path, cookie.value) == ("www.a.test", "/shop", "1"))
        #expect(cookie.isSecure && cookie.isHTTPOnly && cookie.expiresDate == expires)
        #expect(cookie.isSessionOnly == isSessionOnly)
        #expect((cookie.comment, cookie.version, cookie.portList) == ("kept", 1, [80, 443]))
    }

    @Test("a session cookie is still a session cookie afterwards")
    func session() throws {
        try put("sid", "1", domain: "192.0.2.1")
        storage.rehome(from: address, to: host)
        #expect(storage.cookies?.first?.expiresDate == nil)
    }

    @Test("a newer cookie of the host is kept, and the one under the address is deleted")
    func superseded() throws {
        try put("sid", "old", domain: "192.0.2.1")
        try put("sid", "new", domain: "www.a.test")
        let result = storage.rehome(from: address, to: host)
        #expect((result.moved, result.superseded) == (0, 1))
        #expect(storage.pairs == ["sid=new"])
    }

    @Test("an older cookie of the host is replaced")
    func supersedes() throws {
        try put("sid", "old", domain: "www.a.test")
        try put("sid", "new", domain: "192.0.2.1")
        #expect(storage.rehome(from: address, to: host).moved == 1)
        #expect(storage.pairs == ["sid=new"])
        #expect(storage.cookies?.first?.domain == "www.a.test")
    }

    @Test(
        "cookies of other addresses and names are not moved",
        arguments: [
            "192.0.2.2", "192.0.2.10", "1.192.0.2.1", "a.test", ".0.2.1",
        ]
    )
    func others(_ domain: String) throws {
        try put("sid", "1", domain: domain)
        let result = storage.rehome(from: address, to: host)
        #expect((result.moved, result.superseded, result.refused) == (0, 0, []))
        #expect(storage.cookies?.first?.domain == domain)
    }

    @Test("a cookie of an IPv6 address moves", arguments: ["2001:db8::1", "[2001:db8::1]", "2001:DB8:0::1"])
    func v6(_ domain: String) throws {
        try put("sid", "1", domain: domain)
        #expect(storage.rehome(from: IPAddress(v6: 0x2001_0db8_0000_0000, 1), to: host).moved == 1)
        #expect(storage.cookies?.map(\.domain) == ["www.a.test"])
    }

    @Test("a cookie stays under the address when the storage refuses the new one")
    func refusedByStorage() throws {
        try put("sid", "1", domain: "192.0.2.1")
        storage.cookieAcceptPolicy = .never
        #expect(storage.rehome(from: address, to: host).refused == [.policy])
        #expect(storage.cookies?.map(\.domain) == ["192.0.2.1"])
    }

    @Test("a cookie that no host may set stays under the address")
    func refusedByRule() throws {
        try put("__Host-sid", "1", domain: "192.0.2.1")
        #expect(storage.rehome(from: address, to: host).refused == [.hostPrefix])
        #expect(storage.cookies?.map(\.domain) == ["192.0.2.1"])
    }

    // MARK: Finding the host

    func resolver(_ hosts: String) async throws -> Resolver {
        let names = hosts.split(separator: "\n").compactMap { $0.split(separator: " ").last }
        let upstream = FixedUpstream(HostsTable(parsing: hosts))
        let resolver = Resolver(ResolverConfiguration(upstreams: [upstream], system: nil))
        for name in names { _ = try await resolver.resolve(try Names.Host(name)) }
        return resolver
    }

    @Test("the resolver finds the host of an address, for a jar and for a storage")
    func oneHost() async throws {
        let resolver = try await resolver("192.0.2.1 www.a.test\n192.0.2.2 b.test")
        try put("sid", "1", domain: "192.0.2.1")
        #expect(try storage.rehome(from: address, knownTo: resolver).moved == 1)
        #expect(storage.cookies?.first?.domain == "www.a.test")
        let jar = CookieJar()
        try jar.set("sid=1", from: "http://192.0.2.1/")
        #expect(try jar.rehome(from: address, knownTo: resolver).moved == 1)
        #expect(jar.cookie("sid")?.domain == "www.a.test")
        await resolver.shutDown()
    }

    @Test("an address of several hosts is refused, and the error lists them")
    func severalHosts() async throws {
        let resolver = try await resolver("192.0.2.1 www.a.test\n192.0.2.1 b.test")
        try put("sid", "1", domain: "192.0.2.1")
        let error = #expect(throws: BeelineError.self) { try storage.rehome(from: address, knownTo: resolver) }
        #expect(error?.code == .addressShared)
        #expect(error?.message.contains("www.a.test, b.test") == true)
        #expect(storage.cookies?.first?.domain == "192.0.2.1")
        await resolver.shutDown()
    }

    @Test("an address that was never resolved is refused")
    func noHost() async throws {
        let resolver = try await resolver("192.0.2.2 b.test")
        let error = #expect(throws: BeelineError.self) { try CookieJar().rehome(from: address, knownTo: resolver) }
        #expect(error?.code == .addressUnknown)
        await resolver.shutDown()
    }
}
