// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineServer

@Suite("Faults of upstreams do not reach clients of the DNS server", .timeLimit(.minutes(2)))
struct DNSFaultTests {
    /// A forged or broken response that comes before the correct one, or alone.
    enum Forgery: String, CaseIterable, Sendable {
        case id, port, name, letterCase, type, recordClass, noResponse, cut, trailing, pointer, twoQuestions

        func datagram(_ query: DNSMessage) -> DatagramServer.Reply {
            var message = FaultyDNS.response(to: query, FaultyDNS.forged)
            switch self {
            case .id: message.id = query.id &+ 1
            case .port: return message.datagram(isFromElsewhere: true)
            case .name:
                guard let name = DNSName("evil.example") else { break }
                message.questions[0].name = name
                for index in message.answers.indices { message.answers[index].name = name }
            case .letterCase:
                let wire = query.questions[0].name.wire
                message.questions[0].name = DNSName(wire: wire.map { $0 >= 0x41 ? $0 ^ 0x20 : $0 })
            case .type: message.questions[0].type = .aaaa
            case .recordClass: message.questions[0].recordClass = 3
            case .noResponse: message.flags.isResponse = false
            case .twoQuestions: message.questions += message.questions
            case .cut: return DatagramServer.Reply((message.encoded() ?? []).dropLast())
            case .trailing: return DatagramServer.Reply((message.encoded() ?? []) + [0])
            case .pointer:
                // The question's name points into the header.
                let octets = message.encoded() ?? []
                return DatagramServer.Reply(octets.prefix(12) + [0xc0, 0x03] + octets.suffix(4))
            }
            return message.datagram()
        }
    }

    private static let types = [DNSType.a, DNSLab.text]

    private static func expectFailure(_ lab: FaultyDNS, _ name: String = "www.example.com") async throws {
        for type in types {
            let reply = try await lab.ask(name, type)
            #expect(reply.flags.responseCode == .serverFailure && reply.answers.isEmpty, "\(reply)")
        }
    }

    @Test("a forged response before the correct one is ignored", arguments: Forgery.allCases)
    func forged(_ forgery: Forgery) async throws {
        let lab = try await FaultyDNS { query in
            let correct = FaultyDNS.response(to: query, FaultyDNS.correct)
            return .init(datagrams: [forgery.datagram(query), correct.datagram()], stream: correct.encoded())
        }
        for type in Self.types {
            let reply = try await lab.ask("www.example.com", type)
            #expect(reply.answers.count == 1 && !reply.mentions(FaultyDNS.forged), "\(reply)")
        }
        await lab.stop()
    }

    @Test("a forged response alone is a failure", arguments: Forgery.allCases)
    func forgedAlone(_ forgery: Forgery) async throws {
        let lab = try await FaultyDNS(limits: FaultyDNS.shortLimits) { .init(datagrams: [forgery.datagram($0)]) }
        try await Self.expectFailure(lab)
        await lab.stop()
    }

    @Test("an upstream that does not answer is a failure within the time limit")
    func silent() async throws {
        let lab = try await FaultyDNS(limits: FaultyDNS.shortLimits) { _ in .init() }
        let start = ContinuousClock.now
        try await Self.expectFailure(lab)
        #expect(ContinuousClock.now - start < .seconds(10))
        await lab.stop()
    }

    @Test(
        "the records of a truncated response are not used, whether or not TCP has the whole",
        arguments: [true, false]
    )
    func truncated(_ hasStream: Bool) async throws {
        let lab = try await FaultyDNS { query in
            var short = FaultyDNS.response(to: query, FaultyDNS.forged)
            short.flags.isTruncated = true
            let whole = FaultyDNS.response(to: query, FaultyDNS.correct)
            return .init(datagrams: [short.datagram()], stream: hasStream ? whole.encoded() : nil)
        }
        guard hasStream else {
            try await Self.expectFailure(lab)
            return await lab.stop()
        }
        for type in Self.types {
            let reply = try await lab.ask("www.example.com", type)
            #expect(reply.answers.count == 1 && !reply.mentions(FaultyDNS.forged))
        }
        await lab.stop()
    }

    @Test(
        "over TCP, a response to another question or of 64 KiB with trailing octets is a failure",
        arguments: [true, false]
    )
    func faultsOverTCP(_ isOversized: Bool) async throws {
        let lab = try await FaultyDNS { query in
            var short = FaultyDNS.response(to: query, FaultyDNS.forged)
            short.flags.isTruncated = true
            var whole = FaultyDNS.response(to: query, FaultyDNS.forged)
            if !isOversized { whole.questions[0].name = DNSName("evil.example") ?? .root }
            var octets = whole.encoded() ?? []
            if isOversized { octets += [UInt8](repeating: 0, count: 65_535 - octets.count) }
            return .init(datagrams: [short.datagram()], stream: octets)
        }
        try await Self.expectFailure(lab)
        await lab.stop()
    }

    @Test("a response that is larger than announced reaches a client whole over TCP, and truncated over UDP")
    func oversized() async throws {
        let lab = try await FaultyDNS { query in
            .init(datagrams: [FaultyDNS.response(to: query, FaultyDNS.correct, count: 2_000).datagram()])
        }
        let reply = try await lab.ask("www.example.com", DNSLab.text)
        #expect(reply.answers.count == 2_000)
        await lab.stop()
    }

    @Test("a name that points into the header ends in a failure, not in a trap", arguments: [true, false])
    func pointerIntoTheHeader(_ isOverTCP: Bool) async throws {
        let lab = try await FaultyDNS(limits: FaultyDNS.shortLimits) { query in
            let start = [UInt8(query.id >> 8), UInt8(query.id & 255)]
            let question: [UInt8] = [0xc0, 0x03, 0, 2, 0, 1]
            // The octets 3 to 9 of the header are the name that was asked for.
            let header: [UInt8] = [0x81, 0x05, 0, 1, 0, 0, 0, 0, 0, 0]
            var short = FaultyDNS.response(to: query, FaultyDNS.correct)
            short.flags.isTruncated = true
            let octets = start + header + question
            return .init(
                datagrams: [isOverTCP ? short.datagram() : DatagramServer.Reply(octets)],
                stream: octets
            )
        }
        let name = DNSName(wire: [5, 0, 1, 0, 0, 0, 0])
        let query = MessageQuery(DNSQuestion(name, DNSType(rawValue: 2)))
        let reply = try await DNSUpstream(at: [lab.endpoint]).response(to: query)
        #expect(reply.flags.responseCode == .serverFailure)
        await lab.stop()
    }

    @Test("aliases that loop, or that are too many, are a failure", arguments: [1, 2, 40])
    func aliases(_ length: Int) async throws {
        let lab = try await FaultyDNS { query in
            var message = FaultyDNS.response(to: query, FaultyDNS.forged, count: 0)
            let first = query.questions[0].name
            var names = [first] + (1..<max(2, length)).compactMap { DNSName("n\($0).example") }
            // 1 and 2: the alias of a name is itself, or leads back to it.
            names = length == 1 ? [first, first] : length == 2 ? names + [first] : names
            message.answers = zip(names, names.dropFirst()).map { DNSRecord($0, ttl: 60, .alias($1)) }
            if length > 2 {
                message.answers.append(DNSRecord(names[names.count - 1], ttl: 60, .address(FaultyDNS.forged)))
            }
            return .init(datagrams: [message.datagram()])
        }
        try await Self.expectFailure(lab)
        await lab.stop()
    }

    @Test("while upstreams fail, a name keeps its IPv4 address and its lack of IPv6 addresses")
    func staleFamilies() async throws {
        let works = NIOLockedValueBox(true)
        let lab = try await FaultyDNS { query in
            var message = FaultyDNS.response(to: query, FaultyDNS.correct)
            for index in message.answers.indices { message.answers[index].ttl = 0 }
            if message.answers.isEmpty { message.authorities = [FaultyDNS.authority(of: .root, minimum: 0)] }
            if !works.withLockedValue({ $0 }) {
                (message.answers, message.authorities) = ([], [])
                message.flags.responseCode = .serverFailure
            }
            return .init(datagrams: [message.datagram()])
        }
        for type in [DNSType.a, .aaaa] { _ = try await lab.ask("www.example.com", type) }
        works.withLockedValue { $0 = false }
        // The last questions come while the failure is cached.
        for type in [DNSType.a, .aaaa, .aaaa, .a] {
            let reply = try await lab.ask("www.example.com", type)
            #expect(reply.flags.responseCode == .noError && ExtendedError.errors(in: reply) == [.staleAnswer])
            #expect(reply.answers.count == (type == .a ? 1 : 0) && ServerAnswer(reply).ttl == 30)
        }
        await lab.stop()
    }

    @Test("addresses of this machine, and records that were not asked for, do not reach a client")
    func wrongRecords() async throws {
        let lab = try await FaultyDNS { query in
            let question = query.questions[0]
            guard question.name != DNSName("local.example") else {
                return .init(datagrams: [FaultyDNS.response(to: query, DNSLab.loopback).datagram()])
            }
            var message = FaultyDNS.response(to: query, FaultyDNS.correct)
            let bank = DNSName("bank.example") ?? .root
            message.answers.append(DNSRecord(bank, ttl: 60, .address(FaultyDNS.forged)))
            return .init(datagrams: [message.datagram()])
        }
        let local = try await lab.ask("local.example", .a)
        #expect(local.flags.responseCode == .serverFailure && local.answers.isEmpty)
        for type in Self.types {
            let reply = try await lab.ask("www.example.com", type)
            #expect(reply.answers.count == 1 && !reply.mentions(FaultyDNS.forged))
        }
        await lab.stop()
    }
}
