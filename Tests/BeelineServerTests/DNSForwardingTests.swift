// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import HTTPTypes
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

    @Test("hosts with marks of zone files are in lists and tables as they are written there")
    func hostsWithMarks() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let table = FixedUpstream(HostsTable(parsing: "192.0.2.9 a$b.example"))
        let lab = try DNSLab([table, double], rules: "0.0.0.0 ads$.example")
        let found = try await lab.ask(DNSLab.query("a$b.example", .a, wantsSignatures: true))
        #expect(ServerAnswer(found).addresses == [IPAddress(v4: 0xc000_0209)])
        let blocked = try await lab.ask(DNSLab.query("ads$.example", .a))
        #expect(blocked.flags.responseCode == .noSuchName && double.questions.isEmpty)
    }

    @Test("a host of a table has the table's addresses only, also for validators and for other types")
    func tables() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let table = FixedUpstream(HostsTable(parsing: "192.0.2.9 www.example.com"))
        let lab = try DNSLab([table, double])
        let signed = try await lab.ask(DNSLab.query("www.example.com", .a, wantsSignatures: true))
        #expect(ServerAnswer(signed).addresses == [IPAddress(v4: 0xc000_0209)] && signed.authorities.isEmpty)
        for type in [DNSType.https, .aaaa, DNSLab.mail] {
            let reply = try await lab.ask(DNSLab.query("www.example.com", type, wantsSignatures: true))
            #expect(reply.flags.responseCode == .noError && reply.answers.isEmpty)
            // Clients can cache and believe it.
            #expect(reply.authorities.count == 1 && ServerAnswer(reply).ttl == 60)
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

    @Test(
        "a name above a name that a list gives an address exists without records (RFC 8020)",
        arguments: [
            ("corp.example", .noError), ("a.corp.example", .noError), ("b.corp.example", .noSuchName),
            ("ads.example", .noError), ("x.ads.example", .noSuchName), ("c.lab.example", .noError),
            ("lab.example", .noError), ("empty.example", .noSuchName),
        ] as [(String, DNSResponseCode)]
    )
    func parentsOfListedNames(name: String, code: DNSResponseCode) async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let domains = "local=/corp.example/lab.example/empty.example/\naddress=/ads.example/\n"
        let names = "address=/d.c.lab.example/192.0.2.8\n192.0.2.7 www.a.corp.example ok.ads.example\n"
        let reply = try await DNSLab([double], rules: domains + names + "0.0.0.0 x.b.corp.example").ask(
            DNSLab.query(name, .a)
        )
        #expect(reply.flags.responseCode == code && reply.answers.isEmpty && reply.authorities.count == 1)
        #expect(double.questions.isEmpty)
    }

    @Test("a comment after a rule of dnsmasq, or a blank before it, does not hide the rule")
    func commentsAfterRules() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let blocked = "address=/evil.example/# # see a/b\nlocal=/corp.example/ # x\n"
        let lab = try DNSLab([double], rules: blocked + "\taddress=/lab.example/192.0.2.8\t# y/z\n")
        for name in ["www.evil.example", "www.corp.example"] {
            #expect(try await lab.ask(DNSLab.query(name, .a)).flags.responseCode == .noSuchName, "\(name)")
        }
        #expect(try await lab.ask(DNSLab.query("lab.example", .a)).answers.count == 1)
        #expect(double.questions.isEmpty)
    }

    @Test(
        "a name that a list both blocks and gives an address has this address alone",
        arguments: ["0.0.0.0 a.example\n192.0.2.9 a.example\n", "address=/example/#\naddress=/example/192.0.2.9\n"]
    )
    func blockedWithAddress(rules: String) async throws {
        let lab = try DNSLab([MessageDouble { MessageDouble.text($0) }], rules: rules)
        let answers = try await lab.ask(DNSLab.query("a.example", .a)).answers
        #expect(answers.map(\.data) == [.address(IPAddress(v4: 0xc000_0209))])
    }

    // MARK: Answers

    @Test("hints of HTTPS records are checked as addresses are", arguments: ["127.0.0.1", "198.51.100.1"])
    func hints(_ hint: String) async throws {
        let service = try #require(HTTPSRecord(text: "1 . ipv4hint=\(hint)"))
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
                    DNSRecord(alias, ttl: 60, .other(.signature, [UInt8](repeating: 0, count: 20))),
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
        #expect(reply.additionals.filter { $0.type != .opt }.map(\.data) == [.address(Self.address)])
    }

    @Test("the records of a name and type get the least of the TTLs that the upstream gives them (RFC 2181 §5.2)")
    func differentTTLs() async throws {
        let double = MessageDouble { query in
            var message = MessageDouble.text(query, 3)
            for (index, ttl) in [900, 60, 300].enumerated() { message.answers[index].ttl = UInt32(ttl) }
            return message
        }
        let reply = try await DNSLab([double]).ask(DNSLab.query("a.example", DNSLab.text))
        #expect(reply.answers.map(\.ttl) == [60, 60, 60])
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

    @Test("an alias of a zone is authoritative also if it leads out of the zone (RFC 1035 §4.1.1)")
    func authoritativeAlias() async throws {
        let lab = try await ServerLab()
        for (name, isAuthoritative) in [("away.corp.test", true), ("www.a.test", false)] {
            let query = DNSLab.query(name, .a)
            let reply = try DNSMessage(octets: try await lab.get("/dns-query", method: .post, message: query).body)
            #expect(ServerAnswer(reply).addresses.count == 2 && reply.flags.isAuthoritative == isAuthoritative)
        }
        await lab.stop()
    }

    @Test("the records of a failure are not passed on")
    func recordsOfFailures() async throws {
        let double = MessageDouble { query in
            var message = MessageDouble.text(query)
            message.flags.responseCode = .serverFailure
            message.additionals = [DNSRecord(query.question.name, ttl: 60, .address(DNSLab.loopback))]
            return message
        }
        let reply = try await DNSLab([double]).ask(DNSLab.query("a.example", DNSLab.text))
        #expect(reply.flags.responseCode == .serverFailure && reply.answers.isEmpty)
        #expect(reply.additionals.allSatisfy { $0.type == .opt })
    }

    @Test("an extended response code is SERVFAIL, not success, for a client without EDNS")
    func extendedCode() async throws {
        let option = DNSRecord(.root, ttl: 1 << 24, .other(.opt, []), recordClass: 1_232)
        let double = MessageDouble { MessageDouble.reply($0, additionals: [option]) }
        let query = DNSLab.query("a.example", DNSLab.text)
        let plain = query[..<11] + [0] + query[12...].dropLast(11)
        let lab = try DNSLab([double])
        #expect(try await lab.ask(Array(plain)).flags.responseCode == .serverFailure)
        let reply = try await lab.ask(query)
        #expect(reply.additionals.first { $0.type == .opt }.map { $0.ttl >> 24 } == 1)
    }

    @Test("padding does not make a reply larger than a message may be")
    func padding() throws {
        var answer = ServerAnswer()
        let name = try #require(DNSName("a.example"))
        let record = DNSRecord(name, ttl: 60, .other(DNSLab.text, [UInt8](repeating: 0, count: 255)))
        answer.answers = [DNSRecord](repeating: record, count: 244)
        // 5 octets less than the maximum, with OPT.
        let body = try #require(ReplyBody(answer, question: DNSQuestion(name, DNSLab.text)))
        let padded = DNSLab.query("a.example", DNSLab.text).dropLast(2) + [0, 4, 0, 12, 0, 0]
        let query = try QueryHead(Array(padded))
        var form = ReplyBody.Form(maxSize: body.size + 16, paddingBlock: 468)
        let reply = body.reply(to: query, form)
        #expect(reply.count == body.size + 16 && reply[2] & 2 == 0)
        form.maxSize = DNSMessage.maxOctets
        #expect(body.reply(to: query, form).count % 468 == 0)
    }

    @Test("an empty answer below a DNAME is kept as long as the zone says, not as long as the DNAME")
    func absenceBelowDNAME() throws {
        let (name, target) = (try #require(DNSName("a.old.example")), try #require(DNSName("a.new.example")))
        var answer = ServerAnswer()
        answer.answeredType = DNSLab.text
        answer.answers = [
            DNSRecord(try #require(DNSName("old.example")), ttl: 86_400, .other(.subtreeAlias, target.wire)),
            DNSRecord(name, ttl: 86_400, .alias(target)),
        ]
        #expect(answer.isNegative && answer.ttl == 5)
        answer.answeredType = .subtreeAlias
        #expect(!answer.isNegative)
    }
}
