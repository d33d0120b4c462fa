// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import HTTPDNS
import HTTPTypes
import Names
import Testing

@Suite("Upstreams over sockets", .timeLimit(.minutes(1)))
struct UpstreamsOverSocketsTests {
    @Test("each form of upstream gives the same answer", arguments: ["dnspod", "doh GET", "doh POST"])
    func answers(_ form: String) async throws {
        try await UpstreamLab.run { lab in
            let upstream: any Upstream =
                switch form {
                case "dnspod": lab.dnspod()
                case "doh GET": try lab.doh()
                default: try lab.doh(.post)
                }
            #expect(
                try await upstream.answer(Question(host("www.a.test")))
                    == .both("192.0.2.1 192.0.2.2", "2001:db8::1", ttl: 300)
            )
            #expect(try await upstream.answer(Question(host("alias.a.test"), families: .v4)).v4?.ttl == .seconds(30))
        }
    }

    @Test("\"no such name\" and \"no such record\" over DoH have the SOA's TTL")
    func negative() async throws {
        try await UpstreamLab.run { lab in
            let doh = try lab.doh()
            let none = try await doh.answer(Question(host("none.a.test"), families: .v4))
            #expect(none.v4 == .absent(.noName, ttl: .seconds(30)))
            let empty = try await doh.answer(Question(host("empty.a.test"), families: .v4))
            guard case .absent(.noRecord, .some) = empty.v4 else {
                Issue.record("not \"no such record\": \(empty)")
                return
            }
        }
    }

    @Test("invalid DoH messages are refused", arguments: UpstreamFault.brokenMessages)
    func brokenMessages(_ fault: UpstreamFault) async throws {
        try await UpstreamLab.run { lab in
            lab.zone.set("www.a.test", fault: fault)
            let resolver = Resolver(ResolverConfiguration(upstreams: [try lab.doh()], system: nil))
            let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(host("www.a.test")) }
            let known: [ResolutionError.Code] = [.allUpstreamsFailed, .noAddress]
            #expect(known.contains(error?.code ?? .cancelled))
            await resolver.shutDown()
        }
    }

    @Test("invalid replies are refused in each form", arguments: UpstreamFault.brokenResponses)
    func brokenResponses(_ fault: UpstreamFault) async throws {
        try await UpstreamLab.run { lab in
            lab.zone.set("www.a.test", fault: fault)
            for upstream in [lab.dnspod(), try lab.doh(), try lab.doh(.post)] as [any Upstream] {
                let error = await #expect(throws: UpstreamError.self) {
                    try await upstream.answer(Question(host("www.a.test"), families: .v4))
                }
                #expect(error?.code != .misconfigured)
                #expect(error?.message.isEmpty == false)
            }
        }
    }

    @Test("a reply of more than 64 KiB is refused as too large")
    func oversized() async throws {
        try await UpstreamLab.run { lab in
            lab.zone.set("www.a.test", fault: .hugeBody)
            let error = await #expect(throws: UpstreamError.self) {
                try await lab.dnspod().answer(Question(host("www.a.test")))
            }
            #expect(error?.code == .answerTooLarge)
        }
    }

    @Test("an upstream that never answers runs out of time, and its connection is closed")
    func silence() async throws {
        try await UpstreamLab.run { lab in
            lab.zone.set("www.a.test", fault: .silence)
            let clock = ManualClock()
            let table = FixedUpstream(HostsTable(parsing: "192.0.2.9 www.a.test"))
            let resolver = Resolver(ResolverConfiguration(upstreams: [lab.dnspod(), table], system: nil), clock: clock)
            async let resolution = resolver.resolve(host("www.a.test"))
            try await lab.plain.queries(atLeast: 1)
            try await clock.sleepers(atLeast: 1)
            clock.advance(by: .seconds(2))
            #expect(try await resolution.addresses == addresses("192.0.2.9"))
            #expect(try await resolution.failures.map(\.error.code) == [.timeLimit])
            try await lab.plain.connections { $0.open == 0 }
            await resolver.shutDown()
        }
    }

    @Test("over HTTP/2, questions leave a connection without answers for the next address")
    func silentConnection() async throws {
        let authority = try TestAuthority()
        var serverTLS = ServerTLS(try authority.certificate(for: "dns.test"))
        serverTLS.applicationProtocols = ["h2"]
        let zones = [Zone(), Zone()]
        for zone in zones { for name in ["a.test", "b.test"] { try zone.set(name, to: ["192.0.2.1"]) } }
        zones[0].set("b.test", fault: .silence)
        let first = try await UpstreamServer.start(zone: zones[0], tls: serverTLS)
        let port = first.endpoint.port
        let second = try await UpstreamServer.start(
            zone: zones[1],
            addresses: ["127.0.0.2"],
            port: port,
            tls: serverTLS
        )
        var tls = TLSSettings()
        tls.trustsSystemRoots = false
        tls.rootPEMs = [authority.rootPEM]
        let engine = Engine()
        let upstream = try DoHUpstream(
            try HTTPURL("https://dns.test:\(port)/dns-query"),
            at: [first.endpoint.address, second.endpoint.address],
            transport: EngineTransport(engine: engine, tls: tls)
        )
        for name in ["a.test", "b.test", "b.test"] {
            let answer = try await upstream.answer(Question(host(name), families: .v4))
            #expect(answer.v4?.addresses == addresses("192.0.2.1"))
        }
        #expect(first.queries.count == 2 && second.queries.count == 2)
        await engine.shutDown()
        for server in [first, second] { await server.stop() }
    }

    @Test("a long answer is cut at the limit and keeps its order")
    func manyAddresses() async throws {
        try await UpstreamLab.run { lab in
            lab.zone.set("www.a.test", fault: .manyAddresses(512))
            let resolver = Resolver(ResolverConfiguration(upstreams: [try lab.doh()], system: nil))
            let resolution = try await resolver.resolve(host("www.a.test"), families: .v4)
            #expect(resolution.addresses.count == 64)
            #expect(resolution.addresses.first == address("198.51.100.1"))
            await resolver.shutDown()
        }
    }

    @Test("the time that an answer spent in HTTP caches is subtracted from its TTL")
    func age() async throws {
        try await UpstreamLab.run { lab in
            lab.zone.set("www.a.test", fault: .fields([.age: "290"]))
            let answer = try await lab.doh().answer(Question(host("www.a.test"), families: .v4))
            #expect(answer.v4?.ttl == .seconds(10))
        }
    }

    @Test("a certificate for another name is refused, and the question is not sent")
    func wrongCertificate() async throws {
        try await UpstreamLab.run { lab in
            let error = await #expect(throws: UpstreamError.self) {
                try await lab.doh(name: "other.test").answer(Question(host("www.a.test"), families: .v4))
            }
            #expect(error?.code == .untrusted)
            #expect(lab.secure.queries.isEmpty)
        }
    }

    @Test(
        "loopback and unspecified addresses are refused for a public name",
        arguments: ["127.0.0.1", "0.0.0.0", "::1"]
    )
    func bogus(_ text: String) async throws {
        try await UpstreamLab.run { lab in
            try lab.zone.set("www.a.test", to: [text])
            var configuration = ResolverConfiguration(upstreams: [try lab.doh(), lab.dnspod()], system: nil)
            let resolver = Resolver(configuration)
            let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(host("www.a.test")) }
            #expect(error?.code == .bogusAnswer)
            #expect(error?.message.contains(text) == true)
            configuration.check.allowsLocalAnswers = true
            let lenient = Resolver(configuration)
            #expect(try await lenient.resolve(host("www.a.test")).addresses == addresses(text))
            await resolver.shutDown()
            await lenient.shutDown()
        }
    }

    @Test("each new name costs one round trip, and all names share one connection")
    func roundTrips() async throws {
        try await UpstreamLab.run { lab in
            let resolver = Resolver(ResolverConfiguration(upstreams: [lab.dnspod()], system: nil))
            try lab.zone.set("www.b.test", to: ["192.0.2.5"])
            for name in ["www.a.test", "www.b.test", "www.a.test"] { _ = try await resolver.resolve(host(name)) }
            #expect(lab.plain.requests.count == 2)
            #expect(lab.plain.connections.accepted == 1)
            await resolver.shutDown()
        }
    }

    @Test("an upstream that refuses connections is skipped at once")
    func refused() async throws {
        try await UpstreamLab.run { lab in
            let refused = try RefusedEndpoint()
            let dead = DNSPodUpstream(at: [refused.endpoint], transport: lab.transport)
            let resolver = Resolver(ResolverConfiguration(upstreams: [dead, lab.dnspod()], system: nil))
            let resolution = try await resolver.resolve(host("www.a.test"))
            #expect(resolution.failures.map(\.error.code) == [.unreachable])
            #expect(resolution.addresses.count == 3)
            await resolver.shutDown()
        }
    }
}

@Suite("Conformance of upstreams", .timeLimit(.minutes(1)))
struct UpstreamConformanceTests {
    static let forms = [
        "dnspod", "doh GET", "doh POST", "json", "aliyun", "aliyun2", "scripted", "fixed",
    ]

    @Test("every upstream conforms to the protocol", arguments: forms)
    func conforms(_ form: String) async throws {
        try await UpstreamLab.run { lab in
            lab.zone.set("silent.a.test", fault: .silence)
            var suite = UpstreamConformance(
                known: host("www.a.test"),
                v4: addresses("192.0.2.1 192.0.2.2"),
                v6: addresses("2001:db8::1"),
                unknown: host("none.a.test"),
                silent: host("silent.a.test")
            )
            let place = AliyunService(at: [lab.plain.endpoint.address], port: lab.plain.endpoint.port, isSecure: false)
            let upstream: any Upstream
            switch form {
            case "dnspod": upstream = lab.dnspod()
            case "doh GET": upstream = try lab.doh()
            case "doh POST": upstream = try lab.doh(.post)
            case "json":
                let url = try HTTPURL("https://dns.test:\(lab.secure.endpoint.port)/resolve")
                upstream = try JSONUpstream(url, at: [lab.secure.endpoint.address], transport: lab.transport)
            case "aliyun": upstream = AliyunUpstream(account: "1", service: place, transport: lab.transport)
            case "aliyun2": upstream = try Aliyun2Upstream(account: "1", service: place, transport: lab.transport)
            case "fixed":
                suite.silent = nil
                let text = "192.0.2.1 www.a.test\n192.0.2.2 www.a.test\n2001:db8::1 www.a.test"
                upstream = FixedUpstream(HostsTable(parsing: text))
            default:
                let everything = Answer.both("192.0.2.1 192.0.2.2", "2001:db8::1")
                upstream = ScriptedUpstream("scripted") { question in
                    switch question.host.text {
                    case "www.a.test":
                        .answer(
                            Answer(
                                v4: question.families.contains(.v4) ? everything.v4 : nil,
                                v6: question.families.contains(.v6) ? everything.v6 : nil
                            )
                        )
                    case "silent.a.test": .silence
                    default: .answer(Answer(v4: .absent(.noName, ttl: .seconds(1))))
                    }
                }
            }
            try await suite.check(upstream)
        }
    }

    @Test("the conformance suite detects an upstream that breaks a rule")
    func violations() async throws {
        var suite = UpstreamConformance(known: host("a"), v4: addresses("192.0.2.1"), unknown: host("b"))
        let wrong = ScriptedUpstream("wrong") { _ in .answer(v4("192.0.2.9")) }
        let failing = ScriptedUpstream("failing") {
            $0.host.text == "a" ? .answer(v4("192.0.2.1")) : .fail(UpstreamError(.unreachable, "no"))
        }
        let inventing = ScriptedUpstream("inventing") { _ in .answer(v4("192.0.2.1")) }
        for upstream in [wrong, failing, inventing] {
            let error = await #expect(throws: TestingError.self) { try await suite.check(upstream) }
            #expect(error?.code == .violation)
        }
        suite.silent = host("c")
        let hasty = ScriptedUpstream("hasty") {
            $0.host.text == "b" ? .answer(Answer(v4: .absent(.noName, ttl: nil))) : .answer(v4("192.0.2.1"))
        }
        let error = await #expect(throws: TestingError.self) { try await suite.check(hasty) }
        #expect(error?.code == .violation)
    }

    @Test("the conformance suite does not wait for an upstream that ignores cancellation")
    func ignoredCancellation() async throws {
        struct DeafUpstream: Upstream {
            let name = "deaf"
            let gate: Gate

            func answer(_ question: Question) async throws(UpstreamError) -> Answer {
                switch question.host.text {
                case "a": return v4("192.0.2.1")
                case "c": _ = await Task.detached { try? await gate.wait() }.value
                default: break
                }
                return Answer(v4: .absent(.noName, ttl: nil))
            }
        }

        let gate = Gate()
        defer { gate.open() }
        var suite = UpstreamConformance(
            known: host("a"),
            v4: addresses("192.0.2.1"),
            unknown: host("b"),
            silent: host("c")
        )
        suite.cancellationLimit = .milliseconds(100)
        let error = await #expect(throws: TestingError.self) { try await suite.check(DeafUpstream(gate: gate)) }
        #expect(error?.code == .violation)
    }
}
