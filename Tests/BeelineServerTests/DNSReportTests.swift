// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineServer

@Suite("Metrics, health and reload of the DNS server", .timeLimit(.minutes(1)))
struct DNSReportTests {
    private static func server(
        _ double: MessageDouble,
        change: (inout DNSServerConfiguration) -> Void = { _ in }
    ) throws -> (DNSServer, Resolver) {
        let resolver = resolver(double)
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(DNSLab.loopback, port: 0)]
        change(&configuration)
        return (try DNSServer(configuration, resolver: resolver), resolver)
    }

    private static func resolver(_ double: MessageDouble) -> Resolver {
        var settings = ResolverConfiguration(upstreams: [double], system: nil)
        settings.network.monitor = nil
        return Resolver(settings)
    }

    private static func get(_ path: String, at endpoint: Endpoint, host: String = "localhost") async throws -> String {
        let connection = try await RawConnection.connect(to: endpoint)
        try await connection.send("GET \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
        var octets: [UInt8] = []
        while let part = try await connection.receive() { octets += part }
        return String(decoding: octets, as: UTF8.self)
    }

    private static func ask(_ name: String, _ type: DNSType, at endpoint: Endpoint) async throws -> DNSMessage {
        let name = try #require(DNSName(name))
        return try await DNSUpstream(at: [endpoint]).response(to: MessageQuery(DNSQuestion(name, type)))
    }

    @Test("a comma in a name makes no further name in the access log")
    func commaInName() async throws {
        let log = NIOLockedValueBox<[String]>([])
        let lab = try DNSLab([MessageDouble { MessageDouble.text($0) }]) {
            $0.accessLog = { record in log.withLockedValue { $0.append(record.names) } }
        }
        _ = try await lab.ask(DNSLab.query("a,bank.example", DNSLab.text))
        #expect(log.withLockedValue { $0 } == ["a\\044bank.example"])
        await lab.resolver.shutDown()
    }

    @Test("questions by transport and code, caches and limits are in the metrics, by HTTP beside the DNS sockets")
    func metrics() async throws {
        let (server, resolver) = try Self.server(MessageDouble { MessageDouble.text($0, 200) }) {
            $0.listenMetrics = Endpoint(DNSLab.loopback, port: 0)
        }
        let endpoints = try await server.start()
        let metrics = try #require(endpoints.metrics)
        for _ in 0..<2 { _ = try await Self.ask("a.example", DNSLab.text, at: endpoints.plain[0]) }
        _ = try await Self.ask("1.0.168.192.in-addr.arpa", DNSLab.text, at: endpoints.plain[0])
        let text = try await Self.get("/metrics", at: metrics)
        for line in [
            "# TYPE beeline_server_questions_total counter",
            "beeline_server_questions_total{form=\"tcp\",code=\"NOERROR\"} 2",
            "# TYPE beeline_server_answer_seconds histogram", "beeline_server_waiting 0",
            "beeline_server_busy_total 0", "beeline_server_dropped_total 0", "beeline_dns_cached_messages 1",
            "beeline_dns_upstream_questions_total 1", "beeline_server_reload_failures_total 0",
            "beeline_dns_lookups_total{found=\"missed\"} 0", "beeline_server_connections_total 2",
        ] {
            #expect(text.contains("\n\(line)\n"), "\(line) is not in \(text)")
        }
        // A query over UDP may be sent again on a busy machine, so these are at least as many.
        for sample in [
            "questions_total{form=\"udp\",code=\"NOERROR\"} ", "questions_total{form=\"udp\",code=\"NXDOMAIN\"} ",
            "repeated_total ", "answer_seconds_count ", "answer_seconds_bucket{le=\"+Inf\"} ",
        ] {
            let line = text.split(separator: "\n").first { $0.hasPrefix("beeline_server_\(sample)") }
            #expect(line.flatMap { Int($0.dropFirst(15 + sample.count)) } ?? 0 > 0, "\(sample) in \(text)")
        }
        #expect(text.contains("content-type: text/plain; version=0.0.4"))
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let guide = try String(contentsOf: folder.appendingPathComponent("../../docs/DNS.md"), encoding: .utf8)
        for line in text.split(separator: "\n") where line.hasPrefix("# TYPE ") {
            let name = String(line.split(separator: " ")[2])
            // The page has one row for the three metrics of connections.
            #expect(guide.contains(name) || name.hasPrefix("beeline_server_connections_"), "\(name) is not there")
        }
        #expect(try await Self.get("/health", at: metrics).hasPrefix("HTTP/1.1 200"))
        #expect(try await Self.get("/ready", at: metrics).hasPrefix("HTTP/1.1 200"))
        #expect(try await Self.get("/dns-query?name=a.example", at: metrics).hasPrefix("HTTP/1.1 404"))
        #expect(try await Self.get("/metrics", at: metrics, host: "evil.example").hasPrefix("HTTP/1.1 421"))
        await server.stop()
        await #expect(throws: (any Error).self) { try await Self.get("/health", at: metrics) }
        await resolver.shutDown()
    }

    @Test("a server whose metrics cannot be served does not keep its DNS sockets")
    func metricsInUse() async throws {
        let other = try await RawServer.start { connection in try await connection.hold() }
        let (server, resolver) = try Self.server(MessageDouble { MessageDouble.text($0) }) {
            $0.listenMetrics = other.endpoint
        }
        let error = await #expect(throws: ServerError.self) { try await server.start() }
        #expect(error?.code == .cannotListen && error?.message.contains("\(other.endpoint)") == true)
        #expect(server.listeners.datagrams[0].channels.isEmpty)
        await other.stop()
        await resolver.shutDown()
    }

    @Test("after a reload, resolvers that stay keep their answers, and replaced ones are not asked")
    func reload() async throws {
        let doubles = (0..<4).map { _ in MessageDouble { MessageDouble.text($0) } }
        let resolvers = doubles.map(Self.resolver)
        let (server, _) = try Self.server(doubles[0])
        try server.reload(
            resolver: resolvers[0],
            resolversByDomain: ["a.example": resolvers[1], "b.example": resolvers[2]]
        )
        let endpoint = try await server.start().plain[0]
        let names = ["www.example.com", "x.a.example", "x.b.example"]
        for name in names { #expect(try await Self.ask(name, DNSLab.text, at: endpoint).answers.count == 1) }
        #expect(doubles.map(\.questions.count) == [1, 1, 1, 0])
        try server.reload(resolversByDomain: ["a.example": resolvers[1], "b.example": resolvers[3]])
        for name in names { #expect(try await Self.ask(name, DNSLab.text, at: endpoint).answers.count == 1) }
        #expect(doubles.map(\.questions.count) == [1, 1, 1, 1])
        await server.stop()
        for resolver in resolvers { await resolver.shutDown() }
    }

    @Test("the encoded reply of an upstream that a reload has replaced meanwhile is not used again")
    func replyOfReplacedUpstream() async throws {
        let lab = try DNSLab([MessageDouble { MessageDouble.text($0) }])
        let handling = lab.handle(DNSLab.query("a.example", DNSLab.text))
        var rules = NameRules()
        rules.add(parsing: "0.0.0.0 a.example")
        let new = rules
        lab.service.use { $0.rules = new }
        #expect(try await lab.reply(handling).answers.count == 1)
        #expect(try await lab.ask(DNSLab.query("a.example", DNSLab.text)).flags.responseCode == .noSuchName)
    }

    @Test("a zone that was read again is used at once, even if a list cannot be read")
    func zoneWithBadList() async throws {
        let lists = try ListFolder("0.0.0.0 blocked.example")
        let zone = try ListFolder(Self.zone("192.0.2.1"))
        let (server, resolver) = try Self.server(MessageDouble { MessageDouble.text($0) }) {
            ($0.listFiles, $0.zones) = ([lists.path], [zone.path])
        }
        let endpoint = try await server.start().plain[0]
        // The encoded reply is kept for a second.
        #expect(try await Self.addresses(of: "www.corp.test", at: endpoint) == [IPAddress(v4: 0xc000_0201)])
        lists.remove()
        try zone.replace(with: Self.zone("192.0.2.22"))
        // A list is read at the second check, when it has not changed since the first one.
        #expect((0..<2).flatMap { _ in server.reloadChanges() }.map(\.code) == [.badList])
        #expect(try await Self.addresses(of: "www.corp.test", at: endpoint) == [IPAddress(v4: 0xc000_0216)])
        #expect(try await Self.ask("blocked.example", .a, at: endpoint).flags.responseCode == .noSuchName)
        await server.stop()
        await resolver.shutDown()
    }

    private static func zone(_ address: String) -> String {
        "$ORIGIN corp.test.\n$TTL 60\n@ IN SOA ns hostmaster ( 1 2 3 4 5 )\nwww A \(address)\n"
    }

    private static func addresses(of name: String, at endpoint: Endpoint) async throws -> [IPAddress] {
        ServerAnswer(try await ask(name, .a, at: endpoint)).addresses
    }

    @Test("while pending answers are finished, new connections learn from /health and /ready that the server stops")
    func healthWhileStopping() async throws {
        let gate = Gate()
        let upstream = ScriptedUpstream("slow") { _ in
            .hold(gate, Answer(v4: .addresses([FaultyDNS.correct], ttl: .seconds(60))))
        }
        var settings = ResolverConfiguration(upstreams: [upstream], system: nil)
        settings.network.monitor = nil
        (settings.limits.upstream, settings.limits.total) = (.seconds(60), .seconds(60))
        let resolver = Resolver(settings)
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(DNSLab.loopback, port: 0)]
        configuration.listenMetrics = Endpoint(DNSLab.loopback, port: 0)
        configuration.drainTime = .seconds(60)
        let server = try DNSServer(configuration, resolver: resolver)
        let endpoints = try await server.start()
        let metrics = try #require(endpoints.metrics)
        let connection = try await RawConnection.connect(to: endpoints.plain[0])
        let query = DNSLab.query("a.example", .a)
        try await connection.send([0, UInt8(query.count)] + query)
        try await gate.arrivals(atLeast: 1)
        async let stopping: Void = server.stop()
        try await eventually("the stop", within: .seconds(10)) {
            try await Self.get("/health", at: metrics).hasPrefix("HTTP/1.1 503")
        }
        #expect(try await Self.get("/ready", at: metrics).hasSuffix("draining\n"))
        gate.open()
        let length = try await connection.receive(count: 2)
        let reply = try await connection.receive(count: Int(length[1]))
        #expect(try DNSMessage(octets: reply).answers.count == 1)
        await stopping
        await #expect(throws: (any Error).self) { try await Self.get("/health", at: metrics) }
        await resolver.shutDown()
    }

    @Test("during the drain delay questions are answered, and /ready says that the server stops")
    func drainDelay() async throws {
        let (server, resolver) = try Self.server(MessageDouble { MessageDouble.text($0) }) {
            $0.listenMetrics = Endpoint(DNSLab.loopback, port: 0)
            $0.drainDelay = .seconds(2)
        }
        let endpoints = try await server.start()
        let metrics = try #require(endpoints.metrics)
        async let stopping: Void = server.stop()
        try await eventually("draining", within: .seconds(10)) {
            try await Self.get("/ready", at: metrics).hasSuffix("draining\n")
        }
        #expect(try await Self.get("/health", at: metrics).hasPrefix("HTTP/1.1 200"))
        #expect(try await Self.ask("a.example", DNSLab.text, at: endpoints.plain[0]).answers.count == 1)
        await stopping
        #expect(server.listeners.datagrams[0].channels.isEmpty)
        await resolver.shutDown()
    }

    @Test("a reload with an unreadable list changes nothing, and is counted")
    func failedReload() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let lists = try ListFolder("0.0.0.0 blocked.example")
        let (server, resolver) = try Self.server(double) {
            $0.listFiles = [lists.path]
            $0.listenMetrics = Endpoint(DNSLab.loopback, port: 0)
        }
        let endpoints = try await server.start()
        lists.remove()
        let other = Self.resolver(MessageDouble { _ in nil })
        #expect(throws: ServerError.self) { try server.reload(resolver: other) }
        #expect(try await Self.ask("blocked.example", .a, at: endpoints.plain[0]).flags.responseCode == .noSuchName)
        #expect(try await Self.ask("a.example", DNSLab.text, at: endpoints.plain[0]).answers.count == 1)
        let text = try await Self.get("/metrics", at: try #require(endpoints.metrics))
        #expect(text.contains("beeline_server_reload_failures_total 1\n"))
        await server.stop()
        await resolver.shutDown()
        await other.shutDown()
    }
}
