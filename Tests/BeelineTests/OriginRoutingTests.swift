// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import DirectHTTP
import Names
import Testing

@Suite("How an origin is reached", .timeLimit(.minutes(1)))
struct OriginRoutingTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let url: String
        let routing: String

        init(_ description: String, of url: String, is routing: String) {
            (testDescription, self.url, self.routing) = (description, url, routing)
        }
    }

    static let rows: [Row] = [
        Row("the resolver is asked if nothing else is set", of: "http://a.test/", is: "resolve"),
        Row("an address is resolved too", of: "http://192.0.2.9/", is: "resolve"),
        Row("a pin of the host is for every port", of: "http://pinned.test:81/", is: "192.0.2.1"),
        Row("a pin of the port comes first", of: "http://pinned.test:82/", is: "192.0.2.2"),
        Row("the proxy of the scheme comes before a pin", of: "https://pinned.test/", is: "http://proxy.test:3128"),
        Row("a WebSocket has the proxy of https", of: "wss://a.test/", is: "http://proxy.test:3128"),
        Row("an exception leads to the resolver", of: "https://direct.test/", is: "resolve"),
        Row("an exception leads to a pin", of: "https://near.test/", is: "192.0.2.3"),
        Row("a socket comes before a proxy", of: "https://daemon.test/", is: "/run/daemon"),
        Row("a socket of the port comes first", of: "https://daemon.test:444/", is: "/run/other"),
        Row("a socket comes before a pin", of: "http://socket.test/", is: "/run/socket"),
    ]

    static func configuration() throws -> ClientConfiguration {
        var configuration = ClientConfiguration()
        configuration.proxies = ProxySettings(
            https: Proxy(parsing: "http://proxy.test:3128"),
            exceptions: ProxyExceptions(parsing: "direct.test,near.test")
        )
        func pin(_ name: String, _ port: UInt16? = nil) throws -> ClientConfiguration.Pin {
            .init(try Host(name), port: port)
        }
        for (last, key) in try [pin("pinned.test"), pin("pinned.test", 82), pin("near.test"), pin("socket.test")]
            .enumerated()
        {
            configuration.pinned[key] = [IPAddress(v4: 0xc000_0201 + UInt32(last))]
        }
        configuration.unixSockets = [
            try pin("daemon.test"): "/run/daemon", try pin("daemon.test", 444): "/run/other",
            try pin("socket.test"): "/run/socket",
        ]
        return configuration
    }

    private static func text(_ routing: OriginRouting) -> String {
        switch routing {
        case .unixSocket(let path): path
        case .proxy(let proxy): "\(proxy)"
        case .pinned(let addresses): addresses.map(\.description).joined(separator: " ")
        case .resolve: "resolve"
        case .elsewhere(let target, _): "\(target)"
        case .refused(let problem): problem
        }
    }

    @Test("the configuration decides how an origin is reached", arguments: rows)
    func decides(_ row: Row) throws {
        let routing = try Self.configuration().routing(to: HTTPURL(row.url).origin)
        #expect(Self.text(routing) == row.routing)
    }

    @Test("a proxy setting that is not usable refuses its origins, but not their sockets and exceptions")
    func refuses() throws {
        var configuration = try Self.configuration()
        configuration.proxies = ProxySettings(environment: [
            "https_proxy": "socks4://127.0.0.1:1", "no_proxy": "direct.test",
        ])
        func routing(_ url: String) throws -> String { Self.text(configuration.routing(to: try HTTPURL(url).origin)) }
        #expect(try routing("https://pinned.test/").hasPrefix("the value of https_proxy is not a usable proxy"))
        #expect(try routing("https://direct.test/") == "resolve")
        #expect(try routing("https://daemon.test/") == "/run/daemon")
        #expect(try routing("http://a.test/") == "resolve")
    }

    @Test("a site that moved is found again in the same request, although its old address is cached")
    func moved() async throws {
        let lab = try await ClientLab { _ in .text("found") }
        let gone = try #require(IPAddress("127.0.0.3"))
        try lab.upstream.zone.set("a.test", to: ["\(gone)"])
        _ = try await lab.client.resolver.resolve(Host("a.test"), port: lab.site.port)
        try lab.upstream.zone.set("a.test", to: ["127.0.0.1"])
        let response = try await lab.client.get(lab.url("a.test"))
        #expect(response.hop.attempts.map(\.endpoint.address.description) == ["127.0.0.3", "127.0.0.1"])
        #expect(try await response.text() == "found")
        await lab.stop()
    }

    @Test("a site whose IPv6 address fails before its IPv4 address is known is reached in the same request")
    func lateFamily() async throws {
        let gate = Gate()
        let early = Answer(v6: .addresses([IPAddress(v6: 0, 1)], ttl: .seconds(60)))
        let late = Answer(v4: .addresses([IPAddress(v4: 0x7f00_0001)], ttl: .seconds(60)))
        let upstream = ScriptedUpstream("one", oneFamily: true) { question in
            question.families == .v6 ? .answer(early) : .hold(gate, late)
        }
        let lab = try await ClientLab { configuration in
            configuration.upstreams = []
            configuration.resolver.upstreams = [upstream]
            configuration.resolver.families = .both
        } handler: { _ in
            .text("found")
        }
        let (client, url) = (lab.client, lab.url("a.test"))
        let request = Task { try await client.get(url) }
        // The failed attempt ends the use of the cached address.
        let (name, port) = (try Host("a.test"), lab.site.port)
        try await eventually("a failed attempt") { client.resolver.cached(name, port: port)?.source == .stale }
        gate.open()
        let response = try await request.value
        #expect(response.hop.attempts.map(\.endpoint.address.description) == ["::1", "127.0.0.1"])
        #expect(try await response.text() == "found")
        #expect(upstream.questions.count == 2)
        await lab.stop()
    }

    @Test("a site whose addresses all fail is resolved again once, and the error has all attempts")
    func gone() async throws {
        let lab = try await ClientLab { _ in .text("never") }
        try lab.upstream.zone.set("a.test", to: ["127.0.0.3"])
        _ = try await lab.client.resolver.resolve(Host("a.test"), port: lab.site.port)
        try lab.upstream.zone.set("a.test", to: ["127.0.0.4"])
        let error = await #expect(throws: BeelineError.self) { _ = try await lab.client.get(lab.url("a.test")) }
        #expect(error?.attempts.map(\.endpoint.address.description) == ["127.0.0.3", "127.0.0.4"])
        #expect(lab.upstream.queries.count == 2)
        await lab.stop()
    }
}
