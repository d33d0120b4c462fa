// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineServer

@Suite("Questions that wait, and private names", .timeLimit(.minutes(1)))
struct DNSWaitingTests {
    @Test("a copy of a question for a private name is not refused while the first waits")
    func copyOfAQuestion() async throws {
        let gate = Gate()
        let lab = try Self.privateLab(gate, loopTime: .zero)
        let handling = lab.handle(DNSLab.query("printer.lan", .a))
        async let first = lab.reply(handling)
        try await gate.arrivals(atLeast: 1)
        guard case .silence = lab.handle(DNSLab.query("printer.lan", .a)) else {
            Issue.record("the copy got a reply")
            return
        }
        gate.open()
        #expect(try await first.answers.count == 1)
        await lab.resolver.shutDown()
    }

    @Test("this machine's resolver is asked for a private name with a final dot, without search domains")
    func finalDot() async throws {
        let gate = Gate()
        gate.open()
        let answer = Answer(v4: .addresses([IPAddress(v4: 0x0a00_0005)], ttl: .seconds(60)))
        let system = ScriptedUpstream("system", kind: .system) { _ in .hold(gate, answer) }
        let lab = try DNSLab([MessageDouble { _ in nil }], system: system)
        for name in ["printer.lan", "printer"] { _ = try await lab.ask(DNSLab.query(name, .a)) }
        #expect(system.questions.map(\.host.text) == ["printer.lan.", "printer."])
        await lab.resolver.shutDown()
    }

    /// This machine's resolver, which asks the server.
    private final class Itself: Upstream {
        let name = "system"
        let kind = UpstreamKind.system
        let server = NIOLockedValueBox<DNSUpstream?>(nil)

        func answer(_ question: HTTPDNS.Question) async throws(UpstreamError) -> Answer {
            guard let server = server.withLockedValue({ $0 }) else { throw UpstreamError(.unreachable, "no server") }
            return try await server.answer(question)
        }
    }

    @Test("NAT64 is found through the upstreams where this machine's resolver asks the server, without a loop")
    func nat64ByUpstreams() async throws {
        let probe = try #require(DNSName("ipv4only.arpa"))
        let double = MessageDouble { query in
            let address: IPAddress? =
                switch (query.question.name, query.question.type) {
                case (probe, .aaaa): IPAddress(v6: 0x0064_ff9b_0000_0000, 0xc000_00aa)
                case (_, .a): IPAddress(v4: 0xc633_6401)
                default: nil
                }
            let records = address.map { DNSRecord(query.question.name, ttl: 60, .address($0)) }
            return MessageDouble.reply(query, [records].compactMap(\.self))
        }
        let itself = Itself()
        var settings = ResolverConfiguration(upstreams: [double], system: itself)
        settings.network.monitor = nil
        settings.network.asksUpstreamsForNAT64 = true
        let resolver = Resolver(settings)
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(DNSLab.loopback, port: 0)]
        let server = try DNSServer(configuration, resolver: resolver)
        let client = try DNSUpstream(at: try await server.start().plain)
        itself.server.withLockedValue { $0 = client }
        await resolver.networkChanged(to: Network(id: "six", families: .v6))
        #expect(resolver.network.nat64.map(\.description) == ["64:ff9b::/96"])
        #expect(double.questions.count { $0.question.name == probe } <= 2)
        let name = try #require(DNSName("a.example"))
        let reply = try await client.response(to: MessageQuery(DNSQuestion(name, .aaaa)))
        #expect(ServerAnswer(reply).addresses == [IPAddress(v6: 0x0064_ff9b_0000_0000, 0xc633_6401)])
        await server.stop()
        await resolver.shutDown()
    }

    @Test("with no clients for private names, a domain of the main upstreams does not make its names public")
    func privateDomainOfMainUpstreams() async throws {
        let system = ScriptedUpstream("system", kind: .system) { _ in .silence }
        let double = MessageDouble { MessageDouble.text($0) }
        var settings = ResolverConfiguration(upstreams: [double], system: system)
        settings.network.monitor = nil
        let resolver = Resolver(settings)
        let table = BackendTable(resolver, domains: ["lan": resolver])
        let answerer = Answerer(
            backend: table.main,
            zones: try ZoneFiles([]),
            domains: table.domains,
            privateNames: .forNone
        )
        let answer = await answerer.serving(DNSLab.loopback).answer(
            MessageQuery(DNSQuestion(try #require(DNSName("printer.lan")), .a))
        )
        #expect(answer.code == .refused && system.questions.isEmpty && double.questions.isEmpty)
        await resolver.shutDown()
    }

    @Test("one client cannot take all questions that wait for upstreams")
    func waitingOfAClient() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let lab = try DNSLab([double]) { $0.waitingPerClient = 1 }
        let first = lab.handle(DNSLab.query("a.example", DNSLab.text), from: DNSLab.far)
        let second = try await lab.ask(DNSLab.query("b.example", DNSLab.text), from: DNSLab.far)
        #expect(second.flags.responseCode == .serverFailure)
        // Datagrams with a forged source must not take the client's places over TCP.
        let third = lab.handle(DNSLab.query("d.example", DNSLab.text), from: DNSLab.far, over: .tcp)
        #expect(try await lab.reply(third).answers.count == 1)
        let other = IPAddress(v4: 0xc000_0301)
        #expect(try await lab.ask(DNSLab.query("b.example", DNSLab.text), from: other).answers.count == 1)
        #expect(try await lab.reply(first).answers.count == 1)
        #expect(try await lab.ask(DNSLab.query("c.example", DNSLab.text), from: DNSLab.far).answers.count == 1)
    }

    private static func privateLab(_ gate: Gate, loopTime: Duration) throws -> DNSLab {
        let answer = Answer(v4: .addresses([IPAddress(v4: 0x0a00_0005)], ttl: .seconds(60)))
        let system = ScriptedUpstream("system", kind: .system) { _ in .hold(gate, answer) }
        return try DNSLab([MessageDouble { _ in nil }], system: system) { $0.loopTime = loopTime }
    }

    @Test("questions for a private name that is being looked up wait for it, and are not refused")
    func concurrentPrivateNames() async throws {
        let gate = Gate()
        let lab = try Self.privateLab(gate, loopTime: .seconds(30))
        let handlings = [DNSType.a, .a, DNSLab.mail].enumerated().map { number, type in
            lab.handle([UInt8(number)] + DNSLab.query("printer.lan", type).dropFirst())
        }
        async let first = lab.reply(handlings[0])
        async let second = lab.reply(handlings[1])
        async let third = lab.reply(handlings[2])
        try await gate.arrivals(atLeast: 1)
        gate.open()
        let replies = try await [first, second, third]
        #expect(replies.map(\.flags.responseCode) == [.noError, .noError, .noError])
        #expect(replies.map(\.answers.count) == [1, 1, 0])
        await lab.resolver.shutDown()
    }

    @Test("a question that this machine's resolver has sent back is refused when its time ends")
    func loop() async throws {
        let gate = Gate()
        let lab = try Self.privateLab(gate, loopTime: .zero)
        let handling = lab.handle(DNSLab.query("printer.lan", .a))
        async let first = lab.reply(handling)
        try await gate.arrivals(atLeast: 1)
        // The resolver's own query has another ID.
        let again = [0x56] + DNSLab.query("printer.lan", .a).dropFirst()
        #expect(try await lab.ask(Array(again)).flags.responseCode == .refused)
        gate.open()
        #expect(try await first.answers.count == 1)
        await lab.resolver.shutDown()
    }
}
