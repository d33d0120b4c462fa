// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import NIOConcurrencyHelpers
import Names
import Testing

@testable import HTTPDNS

@Suite("NAT64 prefixes")
struct NAT64PrefixTests {
    @Test(
        "the examples of RFC 6052 §2.4 are translated both ways",
        arguments: [
            ("2001:db8::/32", "2001:db8:c000:221::"), ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
            ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"), ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
            ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
            ("2001:db8:122:344::/96", "2001:db8:122:344::c000:221"), ("64:ff9b::/96", "64:ff9b::c000:221"),
        ]
    )
    func examples(_ network: String, _ translated: String) throws {
        let prefix = try #require(IPNetwork(network).flatMap { NAT64Prefix($0) })
        #expect(prefix.synthesize(address("192.0.2.33")) == address(translated))
        #expect(prefix.extract(address(translated)) == address("192.0.2.33"))
        #expect(prefix.extract(address("2001:db9::")) == nil)
    }

    @Test(
        "networks that cannot be NAT64 prefixes are refused",
        arguments: ["10.0.0.0/8", "2001:db8::/33", "2001:db8::/128", "2001:db8:0:0:ff00::/96"]
    )
    func none(_ text: String) throws {
        #expect(NAT64Prefix(try #require(IPNetwork(text))) == nil)
    }

    @Test(
        "discovery finds a prefix of each length (RFC 7050)",
        arguments: [
            "2001:db8::/32", "2001:db8:100::/40", "2001:db8:122::/48", "2001:db8:122:300::/56", "2001:db8:122:344::/64",
            "2001:db8:122:344::/96", "64:ff9b::/96",
        ]
    )
    func discovery(_ text: String) throws {
        let prefix = try #require(IPNetwork(text).flatMap { NAT64Prefix($0) })
        let records = ["192.0.0.170", "192.0.0.171"].compactMap { prefix.synthesize(address($0)) }
        #expect(NAT64Prefix.discovered(in: records) == [prefix])
    }

    @Test("records without the well-known addresses give no prefix")
    func noDiscovery() {
        #expect(NAT64Prefix.discovered(in: addresses("2001:db8::1 192.0.0.170")).isEmpty)
    }

    @Test("private addresses are not translated with the well-known prefix (RFC 6052 §3.1)")
    func privateAddresses() throws {
        let wellKnown = try #require(IPNetwork("64:ff9b::/96").flatMap { NAT64Prefix($0) })
        let own = try #require(IPNetwork("2001:db8::/96").flatMap { NAT64Prefix($0) })
        #expect(wellKnown.synthesize(address("10.0.0.1")) == nil)
        #expect(own.synthesize(address("10.0.0.1")) == address("2001:db8::a00:1"))
        for text in ["127.0.0.1", "0.0.0.0", "224.0.0.1", "169.254.1.1", "2001:db8::1"] {
            #expect(own.synthesize(address(text)) == nil)
        }
    }
}

@Suite("Networks")
struct NetworkTests {
    static func resolver(
        _ upstreams: [any Upstream],
        system: (any Upstream)? = nil,
        families: Families = .v4,
        _ change: (inout ResolverConfiguration) -> Void = { _ in }
    ) -> Resolver {
        var configuration = ResolverConfiguration(upstreams: upstreams, system: system)
        configuration.families = families
        change(&configuration)
        return Resolver(configuration, clock: ManualClock())
    }

    @Test("each network has its own answers, which are used again when the network returns")
    func answersByNetwork() async throws {
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")), .answer(v4("192.0.2.2")))
        let resolver = Self.resolver([upstream]) { $0.refresh.maxNamesOnNetworkChange = 0 }
        let home = Network(id: "home", families: .both)
        await resolver.networkChanged(to: home)
        let first = try await resolver.resolve(host("a.example"))
        #expect(first.network == "home")
        await resolver.networkChanged(to: Network(id: "work", families: .both))
        #expect(try await resolver.resolve(host("a.example")).addresses == addresses("192.0.2.2"))
        await resolver.networkChanged(to: home)
        let again = try await resolver.resolve(host("a.example"))
        #expect(again.addresses == addresses("192.0.2.1"))
        #expect(again.source == .cached)
        #expect(again.network == "home")
        #expect(upstream.questions.count == 2)
    }

    @Test("a change of network closes connections and refreshes the names in use")
    func refreshesHotNames() async throws {
        let seen = NIOLockedValueBox<[Network]>([])
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1")) }
        let resolver = Self.resolver([upstream]) {
            $0.network.onChange = { network in seen.withLockedValue { $0.append(network) } }
        }
        for _ in 0..<3 { _ = try await resolver.resolve(host("hot.example")) }
        _ = try await resolver.resolve(host("cold.example"))
        let work = Network(id: "work", families: .both)
        await resolver.networkChanged(to: work)
        #expect(upstream.questions.map(\.host.text) == ["hot.example", "cold.example", "hot.example"])
        #expect(resolver.cached(host("hot.example"))?.network == "work")
        #expect(seen.withLockedValue { $0 } == [work])
    }

    @Test("an upstream that was down is asked again after a change of network")
    func health() async throws {
        let failure = ScriptedUpstream.Step.fail(UpstreamError(.unreachable, "no"))
        let first = ScriptedUpstream("one", failure, failure, failure, .answer(v4("192.0.2.1")))
        let second = ScriptedUpstream("two") { _ in .answer(v4("192.0.2.2")) }
        let resolver = Self.resolver([first, second]) { $0.refresh.maxNamesOnNetworkChange = 0 }
        for index in 0..<4 { _ = try await resolver.resolve(host("n\(index).example")) }
        #expect(first.questions.count == 3)
        await resolver.networkChanged(to: Network(id: "work", families: .both))
        #expect(try await resolver.resolve(host("a.example")).upstream == "one")
    }

    @Test("addresses that the network cannot reach are left out unless there are no others")
    func families() async throws {
        let upstream = ScriptedUpstream("one") { _ in .answer(.both("192.0.2.1", "2001:db8::1")) }
        let resolver = Self.resolver([upstream], families: .both) { $0.refresh.maxNamesOnNetworkChange = 0 }
        await resolver.networkChanged(to: Network(id: "v4", families: .v4))
        #expect(try await resolver.resolve(host("a.example")).addresses == addresses("192.0.2.1"))
        #expect(try await resolver.resolve(host("a.example"), families: .v6).addresses == addresses("2001:db8::1"))
    }

    @Test("on an IPv6-only network, IPv4 hosts and addresses get the discovered NAT64 prefix")
    func nat64() async throws {
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("192.0.2.33")) }
        let probe = Answer(v6: .addresses(addresses("64:ff9b::c000:aa 64:ff9b::c000:ab"), ttl: nil))
        let system = ScriptedUpstream("system", kind: .system, .answer(probe))
        let resolver = Self.resolver([upstream], system: system, families: .both) {
            $0.refresh.maxNamesOnNetworkChange = 0
        }
        await resolver.networkChanged(to: Network(id: "v6", families: .v6))
        #expect(system.questions == [Question(host("ipv4only.arpa."), families: .v6)])
        #expect(resolver.network.nat64.map(\.description) == ["64:ff9b::/96"])
        #expect(try await resolver.resolve(host("a.example")).addresses == addresses("64:ff9b::c000:221"))
        #expect(try await resolver.resolve(host("192.0.2.33")).addresses == addresses("64:ff9b::c000:221"))
        #expect(try await resolver.resolve(host("10.0.0.1")).addresses == addresses("10.0.0.1"))
        #expect(try await resolver.resolve(host("2001:db8::1")).addresses == addresses("2001:db8::1"))
    }

    @Test(
        "upstreams are asked for the NAT64 prefix too, because the system's resolver may be this program",
        arguments: [true, false]
    )
    func nat64ByUpstreams(_ isSystemSilent: Bool) async throws {
        let probe = Answer(v6: .addresses(addresses("2001:db8:64::c000:aa"), ttl: nil))
        let none = Answer(v6: .absent(.noRecord, ttl: nil))
        let first = ScriptedUpstream("one") { _ in .fail(UpstreamError(.unreachable, "no route")) }
        let second = ScriptedUpstream("two") { _ in .answer(probe) }
        let system = ScriptedUpstream("system", kind: .system) { _ in isSystemSilent ? .silence : .answer(none) }
        let resolver = Self.resolver([first, second], system: system, families: .both) {
            $0.refresh.maxNamesOnNetworkChange = 0
            $0.network.asksUpstreamsForNAT64 = true
        }
        await resolver.networkChanged(to: Network(id: "v6", families: .v6))
        #expect(resolver.network.nat64.map(\.description) == ["2001:db8:64::/96"])
        await resolver.shutDown()
    }

    @Test(
        "without a prefix, the network has none if all have answered, and is asked again if one has not",
        arguments: [true, false]
    )
    func nat64Unknown(_ hasAnswered: Bool) async throws {
        let none = Answer(v6: .absent(.noRecord, ttl: nil))
        let upstream = ScriptedUpstream("one") { _ in
            hasAnswered ? .answer(none) : .fail(UpstreamError(.unreachable, "no route"))
        }
        let system = ScriptedUpstream("system", kind: .system) { _ in .answer(none) }
        let resolver = Self.resolver([upstream], system: system) { $0.network.asksUpstreamsForNAT64 = true }
        await resolver.networkChanged(to: Network(id: "v6", families: .v6))
        #expect(await resolver.findNAT64() == hasAnswered)
        #expect(resolver.network.nat64.isEmpty)
        await resolver.shutDown()
    }

    @Test(
        "when all endpoints that the network can reach have failed, the name is refreshed",
        arguments: [
            Network(id: "v4", families: .v4),
            Network(
                id: "v6",
                families: .v6,
                nat64: IPNetwork("64:ff9b::/96").flatMap { NAT64Prefix($0) }.map { [$0] } ?? []
            ),
        ]
    )
    func allThatCanBeDialledFailed(_ network: Network) async throws {
        let old = network.families == .v4 ? Answer.both("192.0.2.1", "2001:db8::1") : v4("192.0.2.1")
        let upstream = ScriptedUpstream("one", .answer(old), .answer(v4("192.0.2.2")))
        let resolver = Self.resolver([upstream], families: .both) { $0.refresh.maxNamesOnNetworkChange = 0 }
        await resolver.networkChanged(to: network)
        for endpoint in try await resolver.resolve(host("a.example")).endpoints {
            resolver.report(.failed, at: endpoint, for: host("a.example"))
        }
        let expected = network.families == .v4 ? "192.0.2.2" : "64:ff9b::c000:202"
        #expect(try await resolver.resolve(host("a.example")).addresses == addresses(expected))
        #expect(upstream.questions.count == 2)
    }

    @Test("on an IPv6-only network, a service with an IPv4 address is reached through NAT64")
    func upstreamsByNAT64() async throws {
        let origin = try await LoopbackOrigin.start(addresses: ["::1"]) { _ in .text("reached") }
        let engine = Engine()
        let transport = EngineTransport(engine: engine)
        var configuration = ResolverConfiguration(
            // With this prefix, 0.0.0.1 becomes ::1.
            system: FixedUpstream(HostsTable(parsing: "::c000:aa ipv4only.arpa"))
        )
        configuration.network.onChange = { transport.networkChanged(to: $0) }
        let resolver = Resolver(configuration)
        await resolver.networkChanged(to: Network(id: "v6", families: .v6))
        #expect(resolver.network.nat64.map(\.description) == ["::/96"])
        let endpoint = Endpoint(IPAddress(v4: 1), port: origin.port)
        let request = UpstreamRequest(
            origin: Origin(scheme: .http, host: host("0.0.0.1"), port: origin.port),
            endpoints: [endpoint],
            target: "/"
        )
        let reply = try await transport.exchange(request)
        #expect(reply.body == Array("reached".utf8))
        await engine.shutDown()
        await resolver.shutDown()
        await origin.stop()
    }

    /// An IPv6-only network with a prefix that turns 0.0.0.1 into ::1.
    static let loopbackNAT64 = Network(
        id: "v6",
        families: .v6,
        nat64: IPNetwork("::/96").flatMap { NAT64Prefix($0) }.map { [$0] } ?? []
    )

    @Test(
        "plain DNS over UDP and TCP goes through NAT64 on an IPv6-only network, and directly where there is IPv4"
    )
    func plainDNSByNAT64() async throws {
        let server = try await DNSServer.start(
            at: "::1",
            udp: { query in [DNSServer.Datagram(octets: DNSServer.reply(to: query, [], bits: 0x8380).encoded() ?? [])]
            },
            stream: { DNSTransportTests.answered($0) }
        )
        let system = FixedUpstream(HostsTable(parsing: "::c000:aa ipv4only.arpa"))
        let upstream = try DNSUpstream(at: [Endpoint(IPAddress(v4: 1), port: server.endpoint.port)])
        let resolver = Resolver(ResolverConfiguration(upstreams: [upstream], system: system))
        await resolver.networkChanged(to: Network(id: "v6", families: .v6))
        #expect(try await upstream.answer(DNSTransportTests.www) == v4("192.0.2.1"))
        #expect(server.tcpConnections == 1)
        await resolver.networkChanged(to: Network(id: "v4", families: .v4))
        let error = await #expect(throws: UpstreamError.self) { try await upstream.answer(DNSTransportTests.www) }
        // The error for a datagram to such an address depends on the machine.
        #expect(error?.code == .unreachable || error?.code == .timeLimit)
        #expect(server.tcpConnections == 1)
        await resolver.shutDown()
        await server.stop()
    }

    @Test(
        "on an IPv6-only network, DNS over TLS goes through NAT64 and checks the name or the IPv4 address",
        arguments: ["dns.test", "0.0.0.1"]
    )
    func tlsByNAT64(_ name: String) async throws {
        let authority = try TestAuthority()
        var server = ServerTLS(try authority.certificate(for: name))
        server.applicationProtocols = ["dot"]
        let listener = try await RawServer.start(addresses: ["::1"], tls: server) { connection in
            try await DNSServer.serve(connection) { DNSTransportTests.answered($0) }
        }
        var tls = TLSSettings()
        tls.trustsSystemRoots = false
        tls.rootPEMs = [authority.rootPEM]
        let upstream = try DoTUpstream(host(name), at: [IPAddress(v4: 1)], port: listener.port, tls: tls)
        upstream.networkChanged(to: Self.loopbackNAT64)
        #expect(try await upstream.answer(DNSTransportTests.www) == v4("192.0.2.1"))
        // The certificate is not valid for the address that is dialled.
        let other = try DoTUpstream(host("0.0.0.2"), at: [IPAddress(v4: 1)], port: listener.port, tls: tls)
        other.networkChanged(to: Self.loopbackNAT64)
        let error = await #expect(throws: UpstreamError.self) { try await other.answer(DNSTransportTests.www) }
        #expect(error?.code == .untrusted)
        await listener.stop()
    }

    @Test("native IPv6 addresses come before translated ones")
    func nativeFirst() {
        var ranking = EndpointRanking(limits: .init())
        let prefix = IPNetwork("64:ff9b::/96").flatMap { NAT64Prefix($0) }
        ranking.networkChanged(to: Network(id: "x", families: .v6, nat64: [prefix].compactMap { $0 }))
        let known = HostAddresses(v4: addresses("192.0.2.1"), v6: addresses("2001:db8::1"))
        let order = ranking.order(known, port: 443, now: Moment(nanoseconds: 0))
        #expect(order.addresses == addresses("2001:db8::1 64:ff9b::c000:201"))
    }

    @Test("the table holds sixteen networks and forgets the oldest one")
    func scopes() {
        var table = CacheScopeTable()
        #expect(table.current == 1)
        var forgotten: [CacheScope] = []
        for index in 0..<20 { forgotten += [table.enter("n\(index)")].compactMap { $0 } }
        #expect(forgotten == [1, 2, 3, 4, 5])
        let current = table.current
        #expect(table.enter("n10") == nil)
        #expect(table.current != current)
        #expect(table.enter("n19") == nil)
        #expect(table.current == current)
    }

    @Test("the monitor reads this machine's network without sending anything")
    func systemMonitor() {
        let monitor = SystemNetworkMonitor()
        let network = monitor.current()
        #expect(network == monitor.current())
        let v4 = SystemNetworkMonitor.localAddress(towards: address("192.0.2.1"))
        #expect(network.localV4 == (network.families.contains(.v4) ? v4 : nil))
        #expect(SystemNetworkMonitor.localAddress(towards: address("127.0.0.1")) == address("127.0.0.1"))
    }

    /// A monitor whose network the test changes.
    final class ScriptedMonitor: NetworkMonitor {
        let network = NIOLockedValueBox(Network(id: "home", families: .both))
        let signs = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

        func current() -> Network { network.withLockedValue { $0 } }
        func changes() -> AsyncStream<Void> { signs.stream }

        func change(to network: Network) {
            self.network.withLockedValue { $0 = network }
            signs.continuation.yield()
        }
    }

    @Test("the running resolver follows the network once its changes have settled")
    func follows() async throws {
        let clock = ManualClock()
        let monitor = ScriptedMonitor()
        var configuration = ResolverConfiguration(upstreams: [ScriptedUpstream("one")], system: nil)
        configuration.network.monitor = monitor
        let resolver = Resolver(configuration, clock: clock)
        let running = Task { await resolver.run() }
        await until { resolver.network.id == "home" }
        monitor.change(to: Network(id: "between"))
        try await clock.sleepers(atLeast: 1)
        monitor.change(to: Network(id: "work", families: .both))
        clock.advance(by: .milliseconds(500))
        await until { resolver.network.id == "work" }
        await resolver.shutDown()
        await running.value
    }

    @Test("a new IPv4 address in the same network is a change, because connections from the old one no longer work")
    func newAddress() async throws {
        let clock = ManualClock()
        let monitor = ScriptedMonitor()
        let seen = NIOLockedValueBox<[Network]>([])
        var configuration = ResolverConfiguration(upstreams: [ScriptedUpstream("one")], system: nil)
        configuration.network.monitor = monitor
        configuration.network.onChange = { network in seen.withLockedValue { $0.append(network) } }
        let resolver = Resolver(configuration, clock: clock)
        let running = Task { await resolver.run() }
        await until { resolver.network.id == "home" }
        var network = monitor.current()
        network.localV4 = address("192.0.2.9")
        monitor.change(to: network)
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .milliseconds(500))
        await until { resolver.network.localV4 == address("192.0.2.9") }
        await until { seen.withLockedValue { $0.last?.localV4 == address("192.0.2.9") } }
        await resolver.shutDown()
        await running.value
    }

    @Test("a change is seen while the first network answers no question for the names in use")
    func changeWhileAskingAgain() async throws {
        let clock = ManualClock()
        let monitor = ScriptedMonitor()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")), .silence, .silence)
        var configuration = ResolverConfiguration(upstreams: [upstream], system: nil)
        configuration.families = .v4
        configuration.network.monitor = monitor
        let resolver = Resolver(configuration, clock: clock)
        await resolver.networkChanged(to: Network(id: "before", families: .both))
        // A name is in use after its second resolution.
        for _ in 0..<2 { _ = try await resolver.resolve(host("www.example.com")) }
        let running = Task { await resolver.run() }
        await until { upstream.questions.count == 2 }
        monitor.change(to: Network(id: "work", families: .both))
        await until { clock.hasSleeper(within: .milliseconds(500)) }
        clock.advance(by: .milliseconds(500))
        await until { resolver.network.id == "work" }
        await resolver.shutDown()
        await running.value
    }

    @Test("when the system's resolver fails after a change, NAT64 discovery is retried until it answers")
    func nat64Later() async throws {
        let probe = Answer(v6: .addresses(addresses("64:ff9b::c000:aa"), ttl: nil))
        let away = ScriptedUpstream.Step.fail(UpstreamError(.unreachable, "the network is not up yet"))
        let system = ScriptedUpstream("system", kind: .system, away, away, .answer(probe))
        let clock = ManualClock()
        let monitor = ScriptedMonitor()
        var configuration = ResolverConfiguration(upstreams: [ScriptedUpstream("one")], system: system)
        // A long budget, so that the retry is the only short sleep.
        configuration.limits.upstream = .seconds(60)
        configuration.network.monitor = monitor
        monitor.network.withLockedValue { $0 = Network(id: "v6", families: .v6) }
        let resolver = Resolver(configuration, clock: clock)
        let running = Task { await resolver.run() }
        for (asked, pause) in [(1, 1), (2, 2)] {
            await until { system.questions.count == asked && clock.hasSleeper(within: .seconds(pause)) }
            #expect(resolver.network.nat64.isEmpty)
            clock.advance(by: .seconds(pause))
        }
        await until { !resolver.network.nat64.isEmpty }
        #expect(try await resolver.resolve(host("192.0.2.33")).addresses == addresses("64:ff9b::c000:221"))
        await resolver.shutDown()
        await running.value
        #expect(system.questions.count == 3)
    }

    @Test(
        "a change of network fetches the service's schedule again before it expires"
    )
    func scheduleOfAnotherNetwork() async throws {
        let schedule = { (address: String) -> ScriptedTransport.Reply in .text(#"{"service_ip":["\#(address)"]}"#) }
        let transport = ScriptedTransport(schedule("192.0.2.7"), schedule("192.0.2.8"))
        let service = AliyunService(at: addresses("192.0.2.101"), isSecure: false)
        let clock = ManualClock()
        let monitor = ScriptedMonitor()
        var configuration = ResolverConfiguration(
            upstreams: [AliyunUpstream(account: "100000", service: service, transport: transport)],
            system: nil
        )
        configuration.network.monitor = monitor
        let resolver = Resolver(configuration, clock: clock)
        let running = Task { await resolver.run() }
        await until { resolver.network.id == "home" && clock.hasSleeper(within: .seconds(8 * 3_600)) }
        #expect(transport.requests.count == 1)
        monitor.change(to: Network(id: "work", families: .both))
        await until { clock.hasSleeper(within: .milliseconds(500)) }
        clock.advance(by: .milliseconds(500))
        await until { transport.requests.count == 2 }
        #expect(transport.requests.last?.target.hasPrefix("/100000/ss?") == true)
        await resolver.shutDown()
        await running.value
    }
}

extension ManualClock {
    /// Whether a sleeper wakes up within this time.
    fileprivate func hasSleeper(within duration: Duration) -> Bool {
        nextDeadline.map { $0 <= now.advanced(by: duration) } ?? false
    }
}
