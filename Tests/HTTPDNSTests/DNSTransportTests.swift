// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

@testable import HTTPDNS

@Suite("DNS over UDP, TCP and TLS", .timeLimit(.minutes(1)))
struct DNSTransportTests {
    static let www = Question(host("www.example.com"), families: .v4)

    @Test("a question is answered over UDP")
    func udp() async throws {
        let server = try await DNSServer.start(udp: { [DNSServer.answer($0, "192.0.2.1")] })
        let upstream = try DNSUpstream(at: [server.endpoint])
        #expect(try await upstream.answer(Self.www) == v4("192.0.2.1"))
        #expect(server.tcpConnections == 0)
        await server.stop()
    }

    @Test("queries have random IDs, and their names have random letter case")
    func randomness() async throws {
        let queries = NIOLockedValueBox<[DNSMessage]>([])
        let server = try await DNSServer.start(udp: { query in
            queries.withLockedValue { $0.append(query) }
            return [DNSServer.answer(query, "192.0.2.1")]
        })
        let upstream = try DNSUpstream(at: [server.endpoint])
        for _ in 0..<8 { _ = try await upstream.answer(Self.www) }
        let seen = queries.withLockedValue { $0 }
        #expect(Set(seen.map(\.id)).count > 1)
        #expect(Set(seen.map { $0.questions[0].name.wire }).count > 1)
        #expect(seen.allSatisfy { $0.additionals.first?.type == .opt })
        await server.stop()
    }

    @Test(
        "a forged answer is ignored, and the real answer is used",
        arguments: ["ID", "port", "name", "letter case", "type", "not a response", "broken", "cut short"]
    )
    func forged(_ what: String) async throws {
        let server = try await DNSServer.start(udp: { query in
            var forged = DNSServer.reply(
                to: query,
                [DNSRecord(query.questions[0].name, ttl: 60, .address(address("203.0.113.66")))]
            )
            var datagram = DNSServer.Datagram(octets: [])
            switch what {
            case "ID": forged.id = query.id &+ 1
            case "port": datagram.fromElsewhere = true
            case "name": forged.questions[0].name = name("evil.example")
            case "letter case":
                let wire = query.questions[0].name.wire
                forged.questions[0].name = DNSName(wire: wire.map { $0 >= 0x41 ? $0 ^ 0x20 : $0 })
            case "type": forged.questions[0].type = .aaaa
            case "not a response": forged.flags.isResponse = false
            default: break
            }
            datagram.octets = forged.encoded() ?? []
            if what == "broken" { datagram.octets[20] = 0xff }
            if what == "cut short" { datagram.octets.removeLast() }
            return [datagram, DNSServer.answer(query, "192.0.2.1")]
        })
        let upstream = try DNSUpstream(at: [server.endpoint])
        #expect(try await upstream.answer(Self.www) == v4("192.0.2.1"))
        await server.stop()
    }

    @Test("a server that changes the letter case is asked once over TCP, and then without random case")
    func lowerCase() async throws {
        let small = { @Sendable (query: DNSMessage) -> DNSMessage in
            var query = query
            query.questions[0].name = name("www.example.com")
            return query
        }
        let server = try await DNSServer.start(
            udp: { [DNSServer.answer(small($0), "192.0.2.1")] },
            stream: { Self.answered(small($0)) }
        )
        let upstream = try DNSUpstream(at: [server.endpoint])
        for _ in 0..<3 { #expect(try await upstream.answer(Self.www) == v4("192.0.2.1")) }
        #expect(server.tcpConnections == 1)
        await server.stop()
    }

    @Test("a truncated answer is fetched over TCP, also if it is cut inside a record", arguments: [0, 40])
    func truncated(_ count: Int) async throws {
        let many = (0..<512).map { IPAddress(v4: 0xc633_6400 + $0) }
        let server = try await DNSServer.start(
            udp: { query in
                let records = many.prefix(count).map {
                    DNSRecord(query.questions[0].name, ttl: 60, .address($0))
                }
                let reply = DNSServer.reply(to: query, records, bits: 0x8380).encoded() ?? []
                return [DNSServer.Datagram(octets: Array(reply.prefix(512)))]
            },
            stream: { query in
                DNSServer.reply(
                    to: query,
                    many.map { DNSRecord(query.questions[0].name, ttl: 60, .address($0)) }
                )
            }
        )
        let answer = try await DNSUpstream(at: [server.endpoint]).answer(Self.www)
        #expect(answer.v4 == .addresses(many, ttl: .seconds(60)))
        #expect(server.tcpConnections == 1)
        await server.stop()
    }

    @Test("a server that denies a name for IPv6 alone does not hide its IPv4 address (RFC 4074 §4.2)")
    func deniedForOneFamily() async throws {
        let server = try await DNSServer.start(
            udp: { query in
                // The IPv4 address comes later than the denial, over TCP.
                guard query.questions.first?.type == .aaaa else {
                    return [DNSServer.Datagram(octets: DNSServer.reply(to: query, [], bits: 0x8380).encoded() ?? [])]
                }
                var denial = DNSServer.reply(to: query, [], bits: 0x8183)
                denial.authorities = [DNSAnswerTests.soa("example.com", ttl: 900, minimum: 60)]
                return [DNSServer.Datagram(octets: denial.encoded() ?? [])]
            },
            stream: { query in
                let record = DNSRecord(query.questions[0].name, ttl: 60, .address(address("192.0.2.1")))
                return DNSServer.reply(to: query, [record])
            }
        )
        let upstream = try DNSUpstream(at: [server.endpoint])
        let resolver = Resolver(ResolverConfiguration(upstreams: [upstream], system: nil))
        #expect(try await resolver.resolve(Self.www.host, families: .both).addresses == addresses("192.0.2.1"))
        await resolver.shutDown()
        await server.stop()
    }

    @Test("a SERVFAIL response is a failed lookup")
    func serverFailure() async throws {
        let server = try await DNSServer.start(udp: {
            [DNSServer.Datagram(octets: DNSServer.reply(to: $0, [], bits: 0x8182).encoded() ?? [])]
        })
        let error = await #expect(throws: UpstreamError.self) {
            try await DNSUpstream(at: [server.endpoint]).answer(Self.www)
        }
        #expect(error?.code == .lookupFailed)
        await server.stop()
    }

    @Test("a server that does not support EDNS is asked without it")
    func withoutEDNS() async throws {
        let server = try await DNSServer.start(udp: { query in
            guard query.additionals.isEmpty else {
                return [DNSServer.Datagram(octets: DNSServer.reply(to: query, [], bits: 0x8181).encoded() ?? [])]
            }
            return [DNSServer.answer(query, "192.0.2.1")]
        })
        #expect(try await DNSUpstream(at: [server.endpoint]).answer(Self.www) == v4("192.0.2.1"))
        await server.stop()
    }

    @Test("a lost query is sent again, and a dead server is replaced by the next one")
    func retransmission() async throws {
        let count = NIOLockedValueBox(0)
        let server = try await DNSServer.start(udp: { query in
            let isFirst = count.withLockedValue { count in
                count += 1
                return count == 1
            }
            return isFirst ? [] : [DNSServer.answer(query, "192.0.2.1")]
        })
        #expect(try await DNSUpstream(at: [server.endpoint]).answer(Self.www) == v4("192.0.2.1"))
        let dead = try RefusedEndpoint()
        #expect(try await DNSUpstream(at: [dead.endpoint, server.endpoint]).answer(Self.www) == v4("192.0.2.1"))
        let error = await #expect(throws: UpstreamError.self) {
            try await DNSUpstream(at: [dead.endpoint]).answer(Self.www)
        }
        #expect(error?.code == .unreachable)
        await server.stop()
    }

    @Test("an answer larger than the announced size is read, and a silent server runs out of time")
    func largeAndSilent() async throws {
        let large = try await DNSServer.start(udp: { query in
            let records = (0..<300).map {
                DNSRecord(query.questions[0].name, ttl: 60, .address(IPAddress(v4: 0xc633_0000 | $0)))
            }
            return [DNSServer.Datagram(octets: DNSServer.reply(to: query, records).encoded() ?? [])]
        })
        let answer = try await DNSUpstream(at: [large.endpoint]).answer(Self.www)
        #expect(answer.v4?.addresses.count == 300)
        await large.stop()
        let silent = try await DNSServer.start(udp: { _ in [] })
        let upstream = try DNSUpstream(at: [silent.endpoint])
        let error = await #expect(throws: UpstreamError.self) { try await upstream.answer(Self.www) }
        #expect(error?.code == .timeLimit)
        await silent.stop()
    }

    @Test("a cancelled question ends at once")
    func cancelled() async throws {
        let arrived = Gate()
        let server = try await DNSServer.start(udp: { _ in
            arrived.open()
            return []
        })
        let upstream = try DNSUpstream(at: [server.endpoint])
        let task = Task { try await upstream.answer(Self.www) }
        try await arrived.wait()
        task.cancel()
        let error = await #expect(throws: UpstreamError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        await server.stop()
    }

    @Test("an upstream without servers cannot be made")
    func noServer() {
        #expect(throws: UpstreamError.self) { try DNSUpstream(at: []) }
        #expect(throws: UpstreamError.self) { try DoTUpstream(host("dns.test")) }
    }

    @Test("DNS over TLS on two ports of a host has two names, so that metrics and errors tell them apart")
    func namesOfPorts() throws {
        let ports: [UInt16] = [853, 8_853]
        let names = try ports.map { try DoTUpstream(host("dns.test"), at: [IPAddress(v4: 1)], port: $0).name }
        #expect(names == ["dot:dns.test", "dot:dns.test:8853"])
    }

    // MARK: TLS

    struct TLSLab {
        let authority: TestAuthority
        let server: RawServer

        init(name: String = "dns.test", _ serve: @escaping @Sendable (RawConnection) async throws -> Void) async throws
        {
            authority = try TestAuthority()
            var tls = ServerTLS(try authority.certificate(for: name))
            tls.applicationProtocols = ["dot"]
            server = try await RawServer.start(tls: tls, serve: serve)
        }

        var settings: TLSSettings {
            var settings = TLSSettings()
            settings.trustsSystemRoots = false
            settings.rootPEMs = [authority.rootPEM]
            return settings
        }

        func stream(
            _ endpoints: [Endpoint],
            silence: TimeAmount = .seconds(1),
            clock: @escaping @Sendable () -> SleepWatch.Moment = { SleepWatch.now }
        ) -> DNSStream {
            let contexts = TLSContextSource(settings)
            return DNSStream(
                endpoints,
                tls: { (try contexts.context(), "dns.test") },
                silence: silence,
                clock: clock
            )
        }

        func upstream(_ name: String = "dns.test") throws -> DoTUpstream {
            try DoTUpstream(
                host(name),
                at: [server.endpoint.address],
                port: server.port,
                tls: settings
            )
        }
    }

    static let question = DNSQuestion(name("www.example.com"), .a)

    static func answered(_ query: DNSMessage) -> DNSMessage {
        DNSServer.reply(to: query, [DNSRecord(query.questions[0].name, ttl: 60, .address(address("192.0.2.1")))])
    }

    @Test("questions over TLS share a connection and are padded to one length")
    func tls() async throws {
        let lengths = NIOLockedValueBox<Set<Int>>([])
        let lab = try await TLSLab { connection in
            try await DNSServer.serve(connection) { query in
                lengths.withLockedValue { _ = $0.insert(query.encoded()?.count ?? 0) }
                return Self.answered(query)
            }
        }
        let upstream = try lab.upstream()
        try await withThrowingTaskGroup(of: Answer.self) { group in
            for index in 0..<20 {
                let question = Question(host(String(repeating: "a", count: index + 1) + ".example"), families: .v4)
                group.addTask { try await upstream.answer(question) }
            }
            for try await answer in group { #expect(answer == v4("192.0.2.1")) }
        }
        #expect(lab.server.connections.accepted == 1)
        #expect(lengths.withLockedValue { $0 } == [128])
        await lab.server.stop()
    }

    @Test("a server that rejects EDNS over TLS is asked again without it")
    func formatErrorOverTLS() async throws {
        let lab = try await TLSLab { connection in
            try await DNSServer.serve(connection) { query in
                guard query.additionals.contains(where: { $0.type == .opt }) else { return Self.answered(query) }
                // FORMERR.
                return DNSServer.reply(to: query, [], bits: 0x8181)
            }
        }
        let question = Question(host("www.example.com"), families: .v4)
        #expect(try await lab.upstream().answer(question) == v4("192.0.2.1"))
        await lab.server.stop()
    }

    @Test("answers in a different order reach their own questions")
    func outOfOrder() async throws {
        let lab = try await TLSLab { connection in
            var queries: [DNSMessage] = []
            while queries.count < 2 {
                let length = try await connection.receive(count: 2)
                let octets = try await connection.receive(count: Int(length[0]) << 8 | Int(length[1]))
                queries.append(try DNSMessage(octets: octets))
            }
            for query in queries.reversed() {
                let text = query.questions[0].type == .a ? "192.0.2.1" : "2001:db8::1"
                let record = DNSRecord(query.questions[0].name, ttl: 60, .address(address(text)))
                let reply = DNSServer.reply(to: query, [record]).encoded() ?? []
                try await connection.send([UInt8(reply.count >> 8), UInt8(reply.count & 255)] + reply)
            }
            try await connection.hold()
        }
        let upstream = try lab.upstream()
        async let six = upstream.answer(Question(host("www.example.com"), families: .v6))
        async let four = upstream.answer(Self.www)
        #expect(try await four == v4("192.0.2.1"))
        #expect(try await six.v6?.addresses == addresses("2001:db8::1"))
        await lab.server.stop()
    }

    @Test("a connection that the server closed is opened again")
    func reconnects() async throws {
        let lab = try await TLSLab { connection in
            let length = try await connection.receive(count: 2)
            let octets = try await connection.receive(count: Int(length[0]) << 8 | Int(length[1]))
            let reply = Self.answered(try DNSMessage(octets: octets)).encoded() ?? []
            try await connection.send([UInt8(reply.count >> 8), UInt8(reply.count & 255)] + reply)
        }
        let upstream = try lab.upstream()
        for _ in 0..<3 { #expect(try await upstream.answer(Self.www) == v4("192.0.2.1")) }
        #expect(lab.server.connections.accepted == 3)
        await lab.server.stop()
    }

    @Test("queries are sent again while a server closes each connection after a few answers")
    func fewAnswersOfAConnection() async throws {
        let server = try await RawServer.start { connection in
            for _ in 0..<5 {
                let length = try await connection.receive(count: 2)
                let octets = try await connection.receive(count: Int(length[0]) << 8 | Int(length[1]))
                let reply = Self.answered(try DNSMessage(octets: octets)).encoded() ?? []
                try await connection.send([UInt8(reply.count >> 8), UInt8(reply.count & 255)] + reply)
            }
            try await connection.finishSending()
            try await connection.drain()
        }
        let stream = DNSStream([server.endpoint])
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let octets = try await stream.ask { DNSMessage.query(Self.question, id: $0) }
                    return try DNSMessage(octets: octets).answers.count
                }
            }
            for try await count in group { #expect(count == 1) }
        }
        #expect(server.connections.accepted >= 4)
        stream.close()
        await server.stop()
    }

    @Test("a certificate for another name is refused, and no query is sent")
    func wrongName() async throws {
        let queries = NIOLockedValueBox(0)
        let lab = try await TLSLab(name: "other.test") { connection in
            try await DNSServer.serve(connection) { query in
                queries.withLockedValue { $0 += 1 }
                return Self.answered(query)
            }
        }
        let error = await #expect(throws: UpstreamError.self) { try await lab.upstream().answer(Self.www) }
        #expect(error?.code == .untrusted)
        #expect(error?.message.hasSuffix("its certificate is for another name") == true)
        #expect(queries.withLockedValue { $0 } == 0)
        await lab.server.stop()
    }

    @Test("a certificate without a trusted issuer is explained in words")
    func untrustedIssuer() async throws {
        let lab = try await TLSLab { try await $0.hold() }
        var tls = lab.settings
        tls.rootPEMs = [try TestAuthority().rootPEM]
        let place = lab.server.endpoint
        let upstream = try DoTUpstream(host("dns.test"), at: [place.address], port: place.port, tls: tls)
        let error = await #expect(throws: UpstreamError.self) { try await upstream.answer(Self.www) }
        #expect(error?.code == .untrusted)
        #expect(error?.message.contains("no trusted issuer signed it") == true, "\(error?.message ?? "")")
        await lab.server.stop()
    }

    @Test("a connection that is reset during a query is explained in words")
    func reset() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(count: 2)
            await connection.reset()
        }
        let stream = DNSStream([server.endpoint])
        let error = await #expect(throws: UpstreamError.self) {
            try await stream.ask { DNSMessage.query(Self.question, id: $0) }
        }
        #expect(error?.message.hasSuffix("Connection reset by peer") == true)
        await server.stop()
    }

    @Test("a server that accepts the connection but never starts TLS is followed by the next, which then comes first")
    func silentHandshake() async throws {
        let silent = try await RawServer.start { try await $0.hold() }
        let lab = try await TLSLab { connection in
            let length = try await connection.receive(count: 2)
            let octets = try await connection.receive(count: Int(length[0]) << 8 | Int(length[1]))
            let reply = Self.answered(try DNSMessage(octets: octets)).encoded() ?? []
            try await connection.send([UInt8(reply.count >> 8), UInt8(reply.count & 255)] + reply)
        }
        let stream = lab.stream([silent.endpoint, lab.server.endpoint])
        for _ in 0..<2 {
            let octets = try await stream.ask { DNSMessage.query(Self.question, id: $0) }
            #expect(try DNSMessage(octets: octets).answers.count == 1)
        }
        #expect(silent.connections.accepted == 1)
        #expect(lab.server.connections.accepted == 2)
        await silent.stop()
        await lab.server.stop()
    }

    @Test("a connection without answers is closed when its query fails")
    func deadConnection() async throws {
        let connections = NIOLockedValueBox(0)
        let queries = NIOLockedValueBox(0)
        let lab = try await TLSLab { connection in
            let isFirst = connections.withLockedValue { count in
                count += 1
                return count == 1
            }
            try await DNSServer.serve(connection) { query in
                queries.withLockedValue { $0 += 1 }
                return isFirst ? DNSMessage(id: query.id &+ 1, questions: []) : Self.answered(query)
            }
        }
        let stream = lab.stream([lab.server.endpoint], silence: .nanoseconds(-1))
        let lost = Task { try await stream.ask { DNSMessage.query(Self.question, id: $0) } }
        await until { queries.withLockedValue { $0 } == 1 }
        lost.cancel()
        await #expect(throws: UpstreamError.self) { try await lost.value }
        try await lab.server.connections { $0.open == 0 }
        let octets = try await stream.ask { DNSMessage.query(Self.question, id: $0) }
        #expect(try DNSMessage(octets: octets).answers.count == 1)
        await lab.server.stop()
    }

    @Test("a connection from before the machine slept is not used")
    func sleep() async throws {
        let start = SleepWatch.now
        let slept = NIOLockedValueBox(Duration.zero)
        let lab = try await TLSLab { try await DNSServer.serve($0, Self.answered) }
        let stream = lab.stream([lab.server.endpoint]) {
            (awake: start.awake, elapsed: start.elapsed + slept.withLockedValue { $0 })
        }
        for hours in [0, 0, 1] {
            slept.withLockedValue { $0 += .seconds(3_600 * hours) }
            let octets = try await stream.ask { DNSMessage.query(Self.question, id: $0) }
            #expect(try DNSMessage(octets: octets).answers.count == 1)
        }
        #expect(lab.server.connections.accepted == 2)
        stream.close()
        await lab.server.stop()
    }

    @Test("a change of network closes the connection")
    func networkChange() async throws {
        let lab = try await TLSLab { try await DNSServer.serve($0, Self.answered) }
        let upstream = try lab.upstream()
        _ = try await upstream.answer(Self.www)
        upstream.networkChanged(to: .unknown)
        try await lab.server.connections { $0.open == 0 }
        _ = try await upstream.answer(Self.www)
        #expect(lab.server.connections.accepted == 2)
        await lab.server.stop()
    }
}
