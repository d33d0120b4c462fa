// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

@testable import BeelineServer

@Suite("The questions that the DNS server forwards, and the answers that it passes on", .timeLimit(.minutes(1)))
struct DNSForwardingTests {
    private static let address = IPAddress(v4: 0xc633_6401)

    // MARK: Names

    @Test(
        "reverse names below a private network are not sent to upstreams, whatever precedes them",
        arguments: [
            "b._dns-sd._udp.0.1.168.192.in-addr.arpa", "0-63.1.168.192.in-addr.arpa", "1.0.0.10.in-addr.arpa",
            "b._dns-sd._udp.1.0.0.127.in-addr.arpa", "x.8.e.f.ip6.arpa",
        ]
    )
    func privateReverseNames(_ name: String) async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let reply = try await DNSLab([double]).ask(DNSLab.query(name, .pointer))
        #expect(reply.flags.responseCode == .noSuchName && double.questions.isEmpty)
    }

    @Test("reverse names of public networks are sent to upstreams")
    func publicReverseNames() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let lab = try DNSLab([double])
        for name in ["0-63.100.51.198.in-addr.arpa", "b._dns-sd._udp.0.100.51.198.in-addr.arpa", "x.in-addr.arpa"] {
            _ = try await lab.ask(DNSLab.query(name, .pointer))
        }
        #expect(double.questions.count == 3)
    }

    @Test("names that no host has are blocked, private and forwarded as the names beside them")
    func namesOfNoHost() async throws {
        let double = MessageDouble { query in
            MessageDouble.reply(query, [DNSRecord(query.question.name, ttl: 60, .address(Self.address))])
        }
        let lab = try DNSLab([double], rules: "address=/evil.example/#")
        for name in ["a b.evil.example", "a@b.evil.example", "my printer.lan", "my printer", "a%2e.evil.example"] {
            let reply = try await lab.ask(DNSLab.query(name, .a))
            #expect(reply.flags.responseCode == .noSuchName, "\(name)")
        }
        #expect(double.questions.isEmpty)
        #expect(try await lab.ask(DNSLab.query("my host.example", .a)).answers.count == 1)
        #expect(double.questions.count == 1)
        let root = try await lab.ask(DNSLab.query(".", .a))
        #expect(root.flags.responseCode == .noError && root.answers.isEmpty && double.questions.count == 1)
    }

    @Test("a host of a table has the table's addresses only, also for validators and for other types")
    func tables() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let table = FixedUpstream(HostsTable(parsing: "192.0.2.9 www.example.com"))
        let lab = try DNSLab([table, double])
        let signed = try await lab.ask(DNSLab.query("www.example.com", .a, wantsSignatures: true))
        #expect(ServerAnswer(signed).addresses == [IPAddress(v4: 0xc000_0209)])
        for type in [DNSType.https, .aaaa, DNSLab.mail] {
            let reply = try await lab.ask(DNSLab.query("www.example.com", type, wantsSignatures: true))
            #expect(reply.flags.responseCode == .noError && reply.answers.isEmpty)
        }
        #expect(double.questions.isEmpty)
        _ = try await lab.ask(DNSLab.query("other.example.com", DNSLab.text))
        #expect(double.questions.count == 1)
    }

    @Test("a local domain is not reported as blocked, and has the names of lists")
    func localDomains() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let lab = try DNSLab([double], rules: "local=/corp.example/\n192.0.2.9 www.corp.example") {
            $0.blockedAnswer = .unspecifiedAddress
        }
        let reply = try await lab.ask(DNSLab.query("other.corp.example", .a))
        #expect(reply.flags.responseCode == .noSuchName && ExtendedError.errors(in: reply).isEmpty)
        #expect(try await lab.ask(DNSLab.query("www.corp.example", .a)).answers.count == 1)
        #expect(double.questions.isEmpty)
    }

    // MARK: Answers

    @Test("hints of HTTPS records are checked as addresses are", arguments: ["127.0.0.1", "198.51.100.1"])
    func hints(_ hint: String) async throws {
        let service = try #require(ServiceRecord(text: "1 . ipv4hint=\(hint)"))
        let double = MessageDouble { query in
            MessageDouble.reply(query, [DNSRecord(query.question.name, ttl: 60, .other(.https, service.octets))])
        }
        let reply = try await DNSLab([double]).ask(DNSLab.query("a.example", .https))
        #expect(reply.answers.count == (hint.hasPrefix("127.") ? 0 : 1))
        #expect(reply.flags.responseCode == (hint.hasPrefix("127.") ? .serverFailure : .noError))
    }

    @Test("records of other names, and additional local addresses, are not passed on")
    func foreignRecords() async throws {
        let (alias, other) = (try #require(DNSName("b.example")), try #require(DNSName("bank.example")))
        let double = MessageDouble { query in
            let name = query.question.name
            return MessageDouble.reply(
                query,
                [
                    DNSRecord(name, ttl: 60, .alias(alias)), DNSRecord(alias, ttl: 60, .other(DNSLab.text, [1, 0x61])),
                    DNSRecord(alias, ttl: 0x8000_0001, .other(.signature, [UInt8](repeating: 0, count: 20))),
                    DNSRecord(other, ttl: 60, .address(Self.address)),
                ],
                additionals: [
                    DNSRecord(alias, ttl: 60, .address(DNSLab.loopback)),
                    DNSRecord(alias, ttl: 60, .address(Self.address)),
                ]
            )
        }
        let reply = try await DNSLab([double]).ask(DNSLab.query("a.example", DNSLab.text, wantsSignatures: true))
        #expect(reply.answers.map(\.type) == [.cname, DNSLab.text, .signature])
        #expect(reply.answers.last?.ttl == 0)
        #expect(reply.additionals.filter { $0.type != .opt }.map(\.data) == [.address(Self.address)])
    }

    @Test(
        "AD comes from authenticated upstreams only, and not only for the client that asked first",
        arguments: [true, false]
    )
    func verdicts(_ isAuthenticated: Bool) async throws {
        let double = MessageDouble(isAuthenticated: isAuthenticated) { query in
            var message = MessageDouble.text(query)
            message.flags.reserved = query.wantsVerdict ? 2 : 0
            return message
        }
        let lab = try DNSLab([double])
        let first = try await lab.ask(DNSLab.query("a.example", DNSLab.text))
        let second = try await lab.ask(DNSLab.query("a.example", DNSLab.text, wantsVerdict: true))
        #expect(first.flags.reserved & 2 == 0)
        #expect(second.flags.reserved & 2 == (isAuthenticated ? 2 : 0))
        #expect(double.questions.count == 1)
    }

    @Test("answers of another network are not used")
    func networkChange() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let network = NIOLockedValueBox("one")
        let forwarder = MessageForwarder(ResolverConfiguration(upstreams: [double], system: nil)) {
            network.withLockedValue { $0 }
        }
        let query = MessageQuery(DNSQuestion(try #require(DNSName("a.example")), DNSLab.text))
        for name in ["one", "one", "two", "one"] {
            network.withLockedValue { $0 = name }
            _ = await forwarder.answer(query)
        }
        #expect(double.questions.count == 2)
    }

    @Test(
        "after a failure, the preferred upstream is asked first again when the failover ends",
        arguments: [true, false]
    )
    func failover(_ hasEnded: Bool) async throws {
        let works = NIOLockedValueBox(false)
        let preferred = MessageDouble { query in works.withLockedValue { $0 } ? MessageDouble.text(query) : nil }
        let other = MessageDouble { MessageDouble.text($0) }
        let forwarder = MessageForwarder(
            ResolverConfiguration(upstreams: [preferred, other], system: nil),
            limits: .init(failover: hasEnded ? .zero : .seconds(3_600))
        )
        for name in ["a.example", "b.example"] {
            _ = await forwarder.answer(MessageQuery(DNSQuestion(try #require(DNSName(name)), DNSLab.text)))
            works.withLockedValue { $0 = true }
        }
        #expect(preferred.questions.count == (hasEnded ? 2 : 1))
        #expect(other.questions.count == (hasEnded ? 1 : 2))
    }

    // MARK: Waiting

    @Test("one client cannot take all questions that wait for upstreams")
    func waitingOfAClient() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let lab = try DNSLab([double]) { $0.waitingPerClient = 1 }
        let first = lab.handle(DNSLab.query("a.example", DNSLab.text), from: DNSLab.far)
        let second = try await lab.ask(DNSLab.query("b.example", DNSLab.text), from: DNSLab.far)
        #expect(second.flags.responseCode == .serverFailure)
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
        let handlings = [DNSType.a, .a, DNSLab.mail].map { lab.handle(DNSLab.query("printer.lan", $0)) }
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
        #expect(try await lab.ask(DNSLab.query("printer.lan", .a)).flags.responseCode == .refused)
        gate.open()
        #expect(try await first.answers.count == 1)
        await lab.resolver.shutDown()
    }
}
