// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

@testable import BeelineServer

/// An upstream that carries messages and answers from a table. It counts its questions.
final class MessageDouble: MessageUpstream {
    let name = "double"
    let answersOneFamily = true
    let isAuthenticated: Bool
    private let table: @Sendable (MessageQuery) -> DNSMessage?
    private let asked = NIOLockedValueBox<[MessageQuery]>([])

    init(isAuthenticated: Bool = true, _ table: @escaping @Sendable (MessageQuery) -> DNSMessage?) {
        self.isAuthenticated = isAuthenticated
        self.table = table
    }

    var questions: [MessageQuery] { asked.withLockedValue { $0 } }

    func response(to query: MessageQuery) async throws(UpstreamError) -> DNSMessage {
        asked.withLockedValue { $0.append(query) }
        guard let message = table(query) else { throw UpstreamError(.unreachable, "no answer") }
        return message
    }

    func answer(_ question: HTTPDNS.Question) async throws(UpstreamError) -> Answer {
        var answer = Answer()
        for family in question.families.members {
            guard let name = DNSName(question.host.text) else { continue }
            let query = MessageQuery(DNSQuestion(name, family == .v4 ? .a : .aaaa))
            let addresses = ServerAnswer(try await response(to: query)).addresses
            answer[family] =
                addresses.isEmpty ? .absent(.noRecord, ttl: .seconds(60)) : .addresses(addresses, ttl: .seconds(60))
        }
        return answer
    }

    /// A response with records.
    static func reply(
        _ query: MessageQuery,
        _ records: [DNSRecord] = [],
        code: DNSResponseCode = .noError,
        additionals: [DNSRecord] = []
    ) -> DNSMessage {
        var message = DNSMessage(questions: [query.question], answers: records, additionals: additionals)
        message.flags.isResponse = true
        message.flags.responseCode = code
        return message
    }

    static func text(_ query: MessageQuery, _ count: Int = 1, ttl: UInt32 = 60) -> DNSMessage {
        reply(
            query,
            (0..<count).map {
                DNSRecord(
                    query.question.name,
                    ttl: ttl,
                    .other(DNSType(rawValue: 16), [4, 0x74, 0x30, UInt8($0 / 256), UInt8($0 % 256)])
                )
            }
        )
    }
}

@Suite("DNS server")
struct DNSServerTests {
    static let text = DNSType(rawValue: 16)

    private func query(_ name: String, _ type: DNSType, edns: [UInt8]? = nil, flags: [UInt8] = [1, 0]) -> [UInt8] {
        var octets: [UInt8] = [0x12, 0x34] + flags + [0, 1, 0, 0, 0, 0, 0, edns == nil ? 0 : 1]
        octets += DNSName(name)?.wire ?? []
        octets += [UInt8(type.rawValue >> 8), UInt8(type.rawValue & 255), 0, 1]
        return octets + (edns ?? [])
    }

    private static let plainEDNS: [UInt8] = [0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]

    private func service(
        _ double: MessageDouble,
        rules: String = "",
        zones: ZoneFiles? = nil,
        change: (inout DNSServerConfiguration) -> Void = { _ in }
    ) throws -> DNSService {
        try DNSLab([double], rules: rules, zones: zones, change: change).service
    }

    @Test("a record of another type comes from the upstream once, and its case is the client's")
    func otherTypes() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let service = try service(double)
        let first = try #require(await service.reply(to: query("a.example", Self.text)))
        let second = try #require(await service.reply(to: query("A.eXample", Self.text)))
        let message = try DNSMessage(octets: second)
        #expect(try DNSMessage(octets: first).answers.count == 1)
        #expect(message.id == 0x1234)
        #expect(message.questions[0].name.description == "A.eXample")
        #expect(message.answers[0].name.description == "A.eXample")
        #expect(message.flags.recursionAvailable && message.flags.recursionDesired && !message.flags.isAuthoritative)
        #expect(double.questions.count == 1)
    }

    @Test("a query without RD is answered from what is known, and asks no upstream (RFC 1034 §4.3.1)")
    func withoutRecursion() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let service = try service(double, rules: "192.0.2.7 printer.lan")
        func reply(_ name: String, _ type: DNSType, flags: [UInt8] = [0, 0]) async throws -> DNSMessage {
            let octets = query(name, type, edns: Self.plainEDNS, flags: flags)
            return try DNSMessage(octets: try #require(await service.reply(to: octets)))
        }
        let refusal = try await reply("a.example", Self.text)
        #expect(refusal.flags.responseCode == .refused && ExtendedError.errors(in: refusal) == [.notAuthoritative])
        #expect(double.questions.isEmpty)
        #expect(try await reply("printer.lan", .a).answers.count == 1)
        _ = try await reply("a.example", Self.text, flags: [1, 0])
        #expect(try await reply("a.example", Self.text).answers.count == 1)
        #expect(double.questions.count == 1)
    }

    @Test("a query without RD for an alias that leads out of its zone gets the alias (RFC 1034 §4.3.2)")
    func aliasWithoutRecursion() async throws {
        let file = try ListFolder("$ORIGIN c.test.\n$TTL 60\n@ SOA a b 1 1 1 1 1\nx CNAME y\ny CNAME a.example.\n")
        let double = MessageDouble { MessageDouble.text($0) }
        let service = try service(double, zones: try ZoneFiles([file.path]))
        func reply(flags: [UInt8]) async throws -> DNSMessage {
            try DNSMessage(octets: try #require(await service.reply(to: query("x.c.test", Self.text, flags: flags))))
        }
        let partial = try await reply(flags: [0, 0])
        #expect(partial.flags.responseCode == .noError && partial.flags.isAuthoritative)
        #expect(partial.answers.map(\.type) == [.cname, .cname])
        #expect(double.questions.isEmpty)
        // The same question with RD gets the whole answer, also at once.
        #expect(try await reply(flags: [1, 0]).answers.map(\.type) == [.cname, .cname, Self.text])
    }

    @Test("a query without RD asks neither this machine's resolver nor, for a cached name that is due, an upstream")
    func withoutRecursionInBackground() async throws {
        let answer = Answer(v4: .addresses([IPAddress(v4: 0xc633_6401)], ttl: .seconds(60)))
        let upstream = ScriptedUpstream("upstream") { _ in .answer(answer) }
        let system = ScriptedUpstream("system", kind: .system) { _ in .answer(answer) }
        var settings = ResolverConfiguration(upstreams: [upstream], system: system)
        settings.network.monitor = nil
        settings.cache.staleWhileRefresh = .seconds(3_600)
        let clock = ManualClock()
        let resolver = Resolver(settings, clock: clock)
        let service = DNSService(
            DNSServerConfiguration(),
            answerer: Answerer(backend: NameBackend(resolver), zones: try ZoneFiles([]))
        )
        func reply(_ name: String, _ type: DNSType) async throws -> DNSMessage {
            try DNSMessage(octets: try #require(await service.reply(to: query(name, type, flags: [0, 0]))))
        }
        for type in [DNSType.a, Self.text] {
            #expect(try await reply("printer.lan", type).flags.responseCode == .refused)
        }
        _ = try await resolver.resolve(try Host("a.example"), families: .v4)
        clock.advance(by: .seconds(61))
        let sent = resolver.questionsSent
        #expect(try await reply("a.example", .a).answers.count == 1)
        #expect(resolver.questionsSent == sent && system.questions.isEmpty)
        await resolver.shutDown()
    }

    @Test("of the domains of lists and of upstreams, the longest one that contains a name counts")
    func longestDomain() throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let backend = NameBackend(Resolver(ResolverConfiguration(upstreams: [double], system: nil)))
        var answerer = Answerer(backend: backend, zones: try ZoneFiles([]))
        var rules = NameRules()
        rules.add(parsing: "local=/c.test/\naddress=/ads.a.c.test/\n0.0.0.0 b.a.c.test\nlocal=/d.test/\n")
        answerer.rules = rules
        answerer.domains = ["a.c.test": backend, "d.test": backend, "test": backend]
        let rows = [
            ("x.c.test", false), ("a.c.test", true), ("x.a.c.test", true), ("ads.a.c.test", false),
            ("b.a.c.test", false), ("x.d.test", false), ("x.e.test", true),
        ]
        for (name, isForwarded) in rows {
            let step = answerer.step(MessageQuery(DNSQuestion(try #require(DNSName(name)), Self.text)))
            if case .message = step.route {
                #expect(isForwarded, "\(name)")
            } else {
                #expect(!isForwarded, "\(name)")
            }
        }
    }

    @Test("a reply that is too large for UDP is truncated, and whole over TCP")
    func truncation() async throws {
        let service = try service(MessageDouble { MessageDouble.text($0, 200) })
        let short = try DNSMessage(octets: try #require(await service.reply(to: query("a.example", Self.text))))
        #expect(short.flags.isTruncated && short.answers.isEmpty)
        let memo = try DNSMessage(octets: try #require(await service.reply(to: query("a.example", Self.text))))
        #expect(memo.flags.isTruncated)
        let octets = try #require(await service.reply(to: query("a.example", Self.text), over: .tcp))
        let whole = try DNSMessage(octets: octets)
        #expect(!whole.flags.isTruncated && whole.answers.count == 200)
    }

    @Test(
        "maxUDPPayloadBytes bounds a reply over UDP, however much the client accepts",
        arguments: [(1_232, 40), (600, 0), (0, 0)]
    )
    func largestDatagram(_ size: Int, _ count: Int) async throws {
        let service = try service(MessageDouble { MessageDouble.text($0, 40) }) { $0.maxUDPPayloadBytes = size }
        // The client accepts 4,096 octets, and about 720 are needed.
        let edns: [UInt8] = [0, 0, 41, 16, 0, 0, 0, 0, 0, 0, 0]
        let octets = try #require(await service.reply(to: query("a.example", Self.text, edns: edns)))
        let message = try DNSMessage(octets: octets)
        // 512 octets are always allowed.
        #expect(octets.count <= max(512, size) && message.answers.count == count)
        #expect(message.flags.isTruncated == (count == 0))
    }

    @Test("a message that is not a query gets no reply, and a malformed query gets FORMERR")
    func malformed() async throws {
        let service = try service(MessageDouble { _ in nil })
        #expect(await service.reply(to: []) == nil)
        #expect(await service.reply(to: query("a.example", .a, flags: [0x81, 0x80])) == nil)
        let cut = Array(query("a.example", .a).dropLast(3))
        #expect(await service.reply(to: cut)?[2...3] == [0x81, 0x81])
        let opcode = try #require(await service.reply(to: query("a.example", .a, flags: [0x28, 0])))
        #expect(opcode[2] & 0x78 == 0x28 && opcode[3] & 15 == 4)
        let version = try #require(
            await service.reply(to: query("a.example", .a, edns: [0, 0, 41, 4, 208, 0, 1, 0, 0, 0, 0]))
        )
        #expect(version.suffix(6).first == 1)
    }

    @Test(
        "blocked and rewritten names ask no upstream",
        arguments: [
            ("ads.example", DNSResponseCode.noSuchName, 0), ("printer.lan", .noError, 1),
            ("www.evil.example", .noSuchName, 0),
            ("lab.example", .noError, 1),
        ]
    )
    func rules(name: String, code: DNSResponseCode, count: Int) async throws {
        let double = MessageDouble { _ in nil }
        let list =
            "0.0.0.0 ads.example # no\n192.0.2.7 printer.lan\naddress=/evil.example/#\naddress=/lab.example/192.0.2.8\n"
        let service = try service(double, rules: list)
        let reply = try DNSMessage(octets: try #require(await service.reply(to: query(name, .a, edns: Self.plainEDNS))))
        #expect(reply.flags.responseCode == code && reply.answers.count == count)
        #expect(ExtendedError.errors(in: reply) == (count == 0 ? [.blocked] : []))
        #expect(double.questions.isEmpty)
    }

    @Test("a loop of aliases and a loopback address do not reach a client", arguments: [true, false])
    func wrongAnswers(isLoop: Bool) async throws {
        let double = MessageDouble { query in
            let name = query.question.name
            return MessageDouble.reply(
                query,
                [DNSRecord(name, ttl: 60, isLoop ? .alias(name) : .address(IPAddress(v4: 0x7f00_0001)))]
            )
        }
        let service = try service(double)
        let signed = query("a.example", .a, edns: [0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0])
        let reply = try DNSMessage(octets: try #require(await service.reply(to: signed)))
        #expect(reply.flags.responseCode == .serverFailure && reply.answers.isEmpty)
        #expect(double.questions.first?.wantsSignatures == true)
    }

    @Test("the extended error of an upstream's failure is passed on")
    func extendedErrors() async throws {
        let option = DNSRecord(.root, ttl: 0, .other(.opt, [0, 15, 0, 4, 0, 6, 0x6f, 0x6b]), recordClass: 1_232)
        let double = MessageDouble { MessageDouble.reply($0, code: .serverFailure, additionals: [option]) }
        let service = try service(double)
        let octets = try #require(await service.reply(to: query("a.example", Self.text, edns: Self.plainEDNS)))
        let reply = try DNSMessage(octets: octets)
        #expect(reply.flags.responseCode == .serverFailure)
        #expect(ExtendedError.errors(in: reply) == [ExtendedError(code: 6, text: [0x6f, 0x6b])])
    }

    @Test("an expired answer is used while upstreams fail")
    func stale() async throws {
        let works = NIOLockedValueBox(true)
        let double = MessageDouble { query in
            works.withLockedValue { $0 } ? MessageDouble.text(query, ttl: 0) : nil
        }
        let service = try service(double)
        _ = await service.reply(to: query("a.example", Self.text, edns: Self.plainEDNS))
        works.withLockedValue { $0 = false }
        let octets = try #require(await service.reply(to: query("a.example", Self.text, edns: Self.plainEDNS)))
        let reply = try DNSMessage(octets: octets)
        #expect(reply.answers.count == 1 && ExtendedError.errors(in: reply) == [.staleAnswer])
    }

    @Test("a client above its limit gets a truncated reply or none, and this machine has no limit")
    func limit() async throws {
        let service = try service(MessageDouble { MessageDouble.text($0) }) {
            $0.questionsPerSecond = 0.001
            $0.burst = 1
        }
        let far = IPAddress(v4: 0xc000_0201)
        #expect(await service.reply(to: query("a.example", Self.text), from: far)?[2] == 0x81)
        let limited = try #require(await service.reply(to: query("a.example", Self.text), from: far))
        #expect(limited[2] & 2 == 2 && limited.count <= query("a.example", Self.text).count)
        #expect(await service.reply(to: query("a.example", Self.text), from: far) == nil)
        #expect(await service.reply(to: query("a.example", Self.text)) != nil)
        // Datagrams with a forged source must not lock the client out of TCP.
        #expect(await service.reply(to: query("a.example", Self.text), from: far, over: .tcp)?[2] == 0x81)
        #expect(await service.reply(to: query("a.example", Self.text), from: far, over: .tcp) == nil)
    }

    @Test(
        "special names ask no upstream, and those above other names exist (RFC 8020, RFC 9462 §4)",
        arguments: [
            ("b.invalid", .noSuchName), ("c.onion", .noSuchName), ("1.0.168.192.in-addr.arpa", .noSuchName),
            ("0.168.192.in-addr.arpa", .noSuchName), ("_dns.resolver.arpa", .noError), ("resolver.arpa", .noError),
            ("10.in-addr.arpa", .noError), ("20.172.in-addr.arpa", .noError), ("8.e.f.ip6.arpa", .noError),
            ("0.0.127.in-addr.arpa", .noError), ("1.0.0.127.in-addr.arpa", .noError),
        ] as [(String, DNSResponseCode)]
    )
    func specialNames(name: String, code: DNSResponseCode) async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let service = try service(double)
        let reply = try DNSMessage(octets: try #require(await service.reply(to: query(name, Self.text))))
        #expect(reply.flags.responseCode == code && reply.answers.isEmpty && double.questions.isEmpty)
    }

    @Test("where NAT64 is known, a name without IPv6 addresses gets synthesized ones, unless the client sets CD")
    func dns64() async throws {
        let double = MessageDouble { query in
            let name = query.question.name
            var records = [DNSRecord(name, ttl: 60, .address(IPAddress(v4: 0xc000_0201)))]
            if query.wantsSignatures { records.append(DNSRecord(name, ttl: 60, .other(.signature, [0]))) }
            return MessageDouble.reply(query, query.question.type == .a ? records : [])
        }
        let clock = ManualClock()
        let resolver = Resolver(ResolverConfiguration(upstreams: [double], system: nil), clock: clock)
        let network = try #require(IPNetwork("64:ff9b::/96"))
        let prefix = try #require(NAT64Prefix(network))
        await resolver.networkChanged(to: Network(id: "six", families: .v6, nat64: [prefix]))
        var answerer = Answerer(backend: NameBackend(resolver), zones: try ZoneFiles([]))
        answerer.synthesizes = true
        let service = DNSService(DNSServerConfiguration(), answerer: answerer)
        let reply = try DNSMessage(octets: try #require(await service.reply(to: query("a.example", .aaaa))))
        #expect(ServerAnswer(reply).addresses == [IPAddress(v6: 0x0064_ff9b_0000_0000, 0xc000_0201)])
        // A flood must not cost it: it needs no upstream any more.
        let step = answerer.step(MessageQuery(DNSQuestion(try #require(DNSName("a.example")), .aaaa)))
        #expect(answerer.known(step)?.addresses == ServerAnswer(reply).addresses)
        // With DO, without the signatures of the IPv4 addresses (RFC 6147 §5.5).
        let options: [UInt8] = [0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0]
        let signed = query("a.example", .aaaa, edns: options)
        #expect(try DNSMessage(octets: try #require(await service.reply(to: signed))).answers == reply.answers)
        var signedQuery = step.query
        signedQuery.wantsSignatures = true
        #expect(answerer.known(answerer.step(signedQuery))?.addresses == ServerAnswer(reply).addresses)
        let unchecked = query("a.example", .aaaa, edns: options, flags: [1, 0x10])
        #expect(try DNSMessage(octets: try #require(await service.reply(to: unchecked))).answers.isEmpty)
        // Nor does it past the TTL of the answers.
        clock.advance(by: .seconds(120))
        #expect(answerer.known(step) == nil && answerer.stale(step)?.addresses == ServerAnswer(reply).addresses)
        await resolver.shutDown()
    }

    @Test(
        "where NAT64 is known, a failed lookup of IPv4 addresses is no denial, and the SOA bounds the TTL of new ones",
        arguments: [false, true]
    )
    func failureOfDNS64(_ wantsSignatures: Bool) async throws {
        let fails = NIOLockedValueBox(true)
        let zone = try #require(DNSName("example"))
        let double = MessageDouble { query in
            if query.question.type == .a {
                let record = DNSRecord(query.question.name, ttl: 3_600, .address(IPAddress(v4: 0xc000_0201)))
                return fails.withLockedValue { $0 } ? nil : MessageDouble.reply(query, [record])
            }
            var message = MessageDouble.reply(query)
            message.authorities = [FaultyDNS.authority(of: zone, minimum: 30)]
            return message
        }
        let resolver = Resolver(ResolverConfiguration(upstreams: [double], system: nil))
        let prefix = try #require(IPNetwork("64:ff9b::/96").flatMap { NAT64Prefix($0) })
        await resolver.networkChanged(to: Network(id: "six", families: .v6, nat64: [prefix]))
        var answerer = Answerer(backend: NameBackend(resolver), zones: try ZoneFiles([]))
        answerer.synthesizes = true
        let service = DNSService(DNSServerConfiguration(), answerer: answerer)
        let options: [UInt8] = [0, 0, 41, 4, 208, 0, 0, wantsSignatures ? 0x80 : 0, 0, 0, 0]
        let question = query("a.example", .aaaa, edns: options)
        // The second time, both answers are known.
        for _ in 0..<2 {
            let failure = try DNSMessage(octets: try #require(await service.reply(to: question)))
            #expect(failure.flags.responseCode == .serverFailure && failure.authorities.isEmpty)
        }
        fails.withLockedValue { $0 = false }
        try await eventually("an address") {
            let reply = try DNSMessage(octets: try #require(await service.reply(to: question)))
            // The absence has 30 s, and 60 s in the double's own answers.
            return reply.answers.map { (1...60).contains($0.ttl) } == [true]
        }
        await resolver.shutDown()
    }

    @Test("where NAT64 is known, a denial of IPv6 addresses is no answer in a flood unless the IPv4 ones are known")
    func floodOfDNS64() async throws {
        let double = MessageDouble { MessageDouble.reply($0) }
        let resolver = Resolver(ResolverConfiguration(upstreams: [double], system: nil))
        let prefix = try #require(IPNetwork("64:ff9b::/96").flatMap { NAT64Prefix($0) })
        await resolver.networkChanged(to: Network(id: "six", families: .v6, nat64: [prefix]))
        var answerer = Answerer(backend: NameBackend(resolver), zones: try ZoneFiles([]))
        answerer.synthesizes = true
        var asked = MessageQuery(DNSQuestion(try #require(DNSName("a.example")), .aaaa))
        asked.wantsSignatures = true
        let step = answerer.step(asked)
        _ = await answerer.backend.forwarder.answer(asked)
        #expect(answerer.known(step) == nil && answerer.stale(step) == nil)
        _ = await answerer.answer(step)
        #expect(answerer.stale(step)?.code == .noError)
        await resolver.shutDown()
    }

    @Test("private names are refused to other machines")
    func privateNames() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let service = try service(double)
        let far = IPAddress(v4: 0xc000_0201)
        #expect(try #require(await service.reply(to: query("printer.lan", .a), from: far))[3] & 15 == 5)
        #expect(double.questions.isEmpty)
    }

    @Test("a flood of names leaves the caches bounded")
    func flood() async throws {
        let forwarder = MessageForwarder(
            ResolverConfiguration(upstreams: [MessageDouble { MessageDouble.text($0) }], system: nil),
            limits: .init(maxAnswers: 100)
        )
        for number in 0..<1_000 {
            let name = try #require(DNSName("n\(number).example"))
            _ = await forwarder.answer(MessageQuery(DNSQuestion(name, Self.text)))
        }
        #expect(forwarder.count <= 200)
    }

    @Test("over sockets: UDP, then TCP for a long answer, with random letter case")
    func sockets() async throws {
        let double = MessageDouble { MessageDouble.text($0, 200) }
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(IPAddress(v4: 0x7f00_0001), port: 0)]
        let resolver = Resolver(ResolverConfiguration(upstreams: [double], system: nil))
        let server = try DNSServer(configuration, resolver: resolver)
        let endpoint = try await server.start().plain[0]
        let client = try DNSUpstream(at: [endpoint])
        let name = try #require(DNSName("Mixed.Case.Example"))
        let message = try await client.response(to: MessageQuery(DNSQuestion(name, Self.text)))
        #expect(message.answers.count == 200)
        #expect(message.answers[0].name.description == "Mixed.Case.Example")
        await server.stop()
        await resolver.shutDown()
    }

    @Test("names in the content of a record are decompressed, so that they can be copied")
    func compressedContent() throws {
        var octets: [UInt8] = [0, 0, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0] + (DNSName("example.com")?.wire ?? [])
        octets += [0, 15, 0, 1, 0xc0, 12, 0, 15, 0, 1, 0, 0, 0, 60, 0, 9, 0, 10, 4, 0x6d, 0x61, 0x69, 0x6c, 0xc0, 12]
        let message = try DNSMessage(octets: octets)
        let name = DNSName("mail.example.com")?.wire ?? []
        #expect(message.answers[0].data == .other(DNSType(rawValue: 15), [0, 10] + name))
    }
}
