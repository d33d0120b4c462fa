// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOCore
import Names
import Testing

@testable import BeelineServer

@Suite("What a flood over UDP leaves to others", .timeLimit(.minutes(1)))
struct DNSReserveTests {
    private static let address = Answer(v4: .addresses([IPAddress(v4: 0xc000_0201)], ttl: .seconds(60)))

    /// Whether a question may wait for an upstream.
    private static func isAdmitted(_ handling: DNSService.MessageHandling) -> Bool {
        if case .later = handling { true } else { false }
    }

    @Test("a quarter of the places that wait for upstreams is left to TCP and TLS")
    func places() async throws {
        let gate = Gate()
        let upstream = ScriptedUpstream("one") { _ in .hold(gate, Self.address) }
        let lab = try DNSLab([upstream], limit: .seconds(60)) { $0.maxPendingQuestions = 8 }
        let handlings = (0..<8).map { lab.handle(DNSLab.query("n\($0).example", .a)) }
        #expect(handlings.map(Self.isAdmitted) == Array(repeating: true, count: 6) + [false, false])
        let stream = lab.handle(DNSLab.query("a.example", .a), over: .tcp)
        #expect(Self.isAdmitted(stream))
        async let reply = lab.reply(stream)
        gate.open()
        #expect(try await reply.answers.count == 1)
        for handling in handlings where Self.isAdmitted(handling) { _ = try await lab.reply(handling) }
        #expect(lab.service.waiting == 0)
        await lab.resolver.shutDown()
    }

    @Test("a quarter of the lookups is left to TCP and TLS")
    func lookups() async throws {
        let gate = Gate()
        let upstream = ScriptedUpstream("one") { _ in .hold(gate, Self.address) }
        let resolver = Resolver(
            {
                var configuration = ResolverConfiguration(upstreams: [upstream], system: nil)
                configuration.limits.maxLookups = 4
                return configuration
            }()
        )
        let hosts = try (0..<4).map { try Host("n\($0).example") }
        async let held = withThrowingTaskGroup(of: Void.self) { group in
            for host in hosts.prefix(3) { group.addTask { _ = try await resolver.resolve(host) } }
            try await group.waitForAll()
        }
        try await gate.arrivals(atLeast: 3)
        #expect(!resolver.hasRoom(hosts[3], families: .v4, subnet: nil, leavesReserve: true))
        #expect(resolver.hasRoom(hosts[3], families: .v4, subnet: nil, leavesReserve: false))
        gate.open()
        try await held
        await resolver.shutDown()
    }

    @Test("on a flooded socket, only names that a table has wait for the tables")
    func tables() async throws {
        let table = FixedUpstream(HostsTable(parsing: "192.0.2.7 a.example"))
        let upstream = ScriptedUpstream("one") { _ in .answer(Self.address) }
        let lab = try DNSLab([table, upstream])
        func ask(_ name: String) async throws -> DNSMessage {
            let query = DNSLab.query(name, .a)
            return try await lab.reply(
                lab.service.handle(query, from: DNSLab.loopback, .udp, now: .now(), isFlooded: true)
            )
        }
        #expect(ServerAnswer(try await ask("a.example")).addresses == [IPAddress(v4: 0xc000_0207)])
        #expect(try await ask("b.example").flags.responseCode == .serverFailure)
        #expect(upstream.questions.isEmpty)
        await lab.resolver.shutDown()
    }

    @Test("on a flooded socket, a name without IPv6 addresses still has none after the TTL, and is no failure")
    func absence() async throws {
        let upstream = ScriptedUpstream("one") { question in
            var answer = Answer(v4: .addresses([IPAddress(v4: 0xc000_0201)], ttl: .seconds(60)))
            if question.families.contains(.v6) { answer.v6 = .absent(.noRecord, ttl: .zero) }
            return .answer(answer)
        }
        let lab = try DNSLab([upstream])
        for type in [DNSType.a, .aaaa] { _ = try await lab.ask(DNSLab.query("a.example", type)) }
        let query = DNSLab.query("a.example", .aaaa)
        let reply = try await lab.reply(
            lab.service.handle(query, from: DNSLab.loopback, .tcp, now: .now() + .seconds(2), isFlooded: true)
        )
        #expect(reply.flags.responseCode == .noError && reply.answers.isEmpty)
        #expect(ExtendedError.errors(in: reply) == [.staleAnswer])
        await lab.resolver.shutDown()
    }
}
