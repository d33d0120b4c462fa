// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

@testable import BeelineServer

@Suite("A flood of names", .timeLimit(.minutes(1)))
struct DNSFloodTests {
    @Test("a flood of keys that are asked for once does not displace values that were found again")
    func cache() {
        var cache = GenerationCache<Int, Int>(maxCount: 100, maxCost: 10_000) { _ in 10 }
        for key in 0..<40 {
            cache.store(key, for: key)
            #expect(cache.find(key) == key)
        }
        for key in 1_000..<20_000 { cache.store(key, for: key) }
        #expect((0..<40).allSatisfy { cache.find($0) == $0 })
        #expect(cache.count <= 200)
        // A value that was found is replaced where it is.
        cache.store(-1, for: 0)
        for key in 20_000..<30_000 { cache.store(key, for: key) }
        #expect(cache.find(0) == -1)
    }

    @Test("that a name has no address is known without waiting", arguments: [DNSType.a, .aaaa])
    func absence(_ type: DNSType) async throws {
        let double = MessageDouble { query in
            let record = DNSRecord(query.question.name, ttl: 60, .address(IPAddress(v4: 0xc000_0201)))
            return MessageDouble.reply(query, query.question.type == .a ? [record] : [])
        }
        // With an access log, no reply is reused.
        let lab = try DNSLab([double]) { $0.accessLog = { _ in } }
        let first = try await lab.ask(DNSLab.query("a.example", type))
        guard case .reply(let octets) = lab.handle(DNSLab.query("a.example", type)) else {
            Issue.record("the cached answer was not known")
            return
        }
        #expect(try DNSMessage(octets: octets).answers.count == first.answers.count)
        #expect(double.questions.count == 1)
        await lab.resolver.shutDown()
    }

    /// An upstream with records of TTL 0, and names that wait for a gate.
    private static func lab(_ gate: Gate, change: (inout DNSServerConfiguration) -> Void) throws -> DNSLab {
        try DNSLab([SlowUpstream(gate)], limit: .seconds(60), change: change)
    }

    private final class SlowUpstream: MessageUpstream {
        let name = "slow"
        let answersOneFamily = true
        let isAuthenticated = true
        private let gate: Gate

        init(_ gate: Gate) { self.gate = gate }

        func response(to query: MessageQuery) async throws(UpstreamError) -> DNSMessage {
            try await wait(query.question.name.description)
            return MessageDouble.text(query, ttl: 0)
        }

        func answer(_ question: HTTPDNS.Question) async throws(UpstreamError) -> Answer {
            try await wait(question.host.text)
            return Answer(v4: .addresses([IPAddress(v4: 0xc633_6401)], ttl: .zero))
        }

        private func wait(_ name: String) async throws(UpstreamError) {
            guard name.lowercased().hasPrefix("slow") else { return }
            do {
                try await gate.wait()
            } catch {
                throw UpstreamError(.cancelled, "cancelled")
            }
        }
    }

    @Test("a question above the limit gets the answer past its TTL, or SERVFAIL", arguments: [DNSType.a, DNSLab.text])
    func withoutRoom(_ type: DNSType) async throws {
        let gate = Gate()
        let lab = try Self.lab(gate) { $0.maxPendingQuestions = 1 }
        #expect(try await lab.ask(DNSLab.query("a.example", type)).answers.count == 1)
        let handling = lab.handle(DNSLab.query("slow.example", type))
        async let slow = lab.reply(handling)
        try await gate.arrivals(atLeast: 1)
        let stale = try await lab.ask(DNSLab.query("a.example", type))
        #expect(stale.answers.count == 1 && ExtendedError.errors(in: stale) == [.staleAnswer])
        let other = try await lab.ask(DNSLab.query("b.example", type))
        #expect(other.flags.responseCode == .serverFailure && other.questions.count == 1)
        #expect(lab.service.counters.busy == 2)
        gate.open()
        #expect(try await slow.answers.count == 1)
        await lab.resolver.shutDown()
    }

    @Test("a flood gets a bounded number of refusals over UDP, and other clients and connections still get theirs")
    func refusals() async throws {
        let gate = Gate()
        let lab = try Self.lab(gate) { $0.maxPendingQuestions = 1 }
        async let slow = lab.reply(lab.handle(DNSLab.query("slow.example", .a)))
        try await gate.arrivals(atLeast: 1)
        func refusals(
            from client: IPAddress = DNSLab.loopback,
            _ transport: DNSService.Transport = .udp,
            at time: NIODeadline
        ) -> Int {
            (0..<1_100).count { number in
                let query = DNSLab.query("n\(number).example", .a)
                if case .reply = lab.service.handle(query, from: client, transport, now: time) { return true }
                return false
            }
        }
        let (now, most) = (NIODeadline.now(), Int(DNSService.maxRefusals))
        #expect(refusals(at: now) == most)
        #expect(refusals(from: IPAddress(v4: 0x7f00_0002), at: now) == most)
        #expect(refusals(.tcp, at: now) == 1_100)
        #expect(refusals(at: now + .milliseconds(500)) == most / 2)
        #expect(lab.service.counters.busy == 4_400)
        gate.open()
        #expect(try await slow.answers.count == 1)
        await lab.resolver.shutDown()
    }

    @Test("a socket is flooded while many questions are held and reads do not empty it")
    func pace() {
        var pace = LookupPace()
        let (now, full, many) = (NIODeadline.now(), LookupPace.batch * LookupPace.callsPerRead, LookupPace.heldInFlood)
        pace.readEnded(datagrams: full - 1, at: now)
        #expect(!pace.isFlooded(held: many, at: now) && pace.starts(held: many, at: now) == LookupPace.starts)
        pace.readEnded(datagrams: full, at: now)
        #expect(pace.isFlooded(held: many, at: now) && pace.starts(held: many, at: now) == LookupPace.startsInFlood)
        #expect(!pace.isFlooded(held: many - 1, at: now))
        pace.readEnded(datagrams: 0, at: now + LookupPace.floodTime - .nanoseconds(1))
        #expect(pace.isFlooded(held: many, at: now + LookupPace.floodTime - .nanoseconds(1)))
        #expect(!pace.isFlooded(held: many, at: now + LookupPace.floodTime))
    }

    @Test("a flooded socket answers what is known, and refuses what would wait for an upstream")
    func floodedSocket() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let answer = Answer(v4: .addresses([IPAddress(v4: 0x0a00_0005)], ttl: .seconds(60)))
        let system = ScriptedUpstream("system", kind: .system) { _ in .answer(answer) }
        let lab = try DNSLab([double], system: system)
        _ = try await lab.ask(DNSLab.query("known.example", DNSLab.text))
        func ask(_ name: String, _ type: DNSType) async throws -> DNSMessage {
            let query = DNSLab.query(name, type)
            return try await lab.reply(
                lab.service.handle(query, from: DNSLab.loopback, .udp, now: .now(), isFlooded: true)
            )
        }
        #expect(try await ask("known.example", DNSLab.text).answers.count == 1)
        #expect(try await ask("new.example", DNSLab.text).flags.responseCode == .serverFailure)
        #expect(try await ask("printer.lan", .a).answers.count == 1)
        #expect(double.questions.count == 1 && lab.service.waiting == 0)
        await lab.resolver.shutDown()
    }

    @Test("a name of the user's tables needs no room at the upstreams, and has no stale answer of theirs")
    func tablesWithoutRoom() async throws {
        let table = FixedUpstream(HostsTable(parsing: "192.0.2.7 a.example"))
        let double = MessageDouble { MessageDouble.text($0, ttl: 0) }
        let resolver = Resolver(ResolverConfiguration(upstreams: [table, double], system: nil))
        let answerer = Answerer(backend: NameBackend(resolver), zones: try ZoneFiles([]))
        let query = MessageQuery(DNSQuestion(try #require(DNSName("a.example")), DNSLab.text))
        _ = await answerer.backend.forwarder.answer(query)
        #expect(answerer.backend.forwarder.stale(query)?.answers.count == 1)
        #expect(answerer.stale(answerer.step(query)) == nil)
        let other = MessageQuery(DNSQuestion(try #require(DNSName("c.example")), DNSLab.text))
        _ = await answerer.backend.forwarder.answer(other)
        answerer.backend.forwarder.close()
        #expect(!answerer.backend.forwarder.hasRoom(query, leavesReserve: false))

        let service = DNSService(DNSServerConfiguration(), answerer: answerer)
        func ask(_ octets: [UInt8]) async throws -> DNSMessage {
            try DNSMessage(octets: try #require(await service.reply(to: octets)))
        }
        let signed = try await ask(DNSLab.query("a.example", .a, wantsSignatures: true))
        #expect(ServerAnswer(signed).addresses == [IPAddress(v4: 0xc000_0207)])
        let text = try await ask(DNSLab.query("a.example", DNSLab.text))
        #expect(text.flags.responseCode == .noError && text.answers.isEmpty)
        #expect(try await ask(DNSLab.query("b.example", DNSLab.text)).flags.responseCode == .serverFailure)
        // A name that no table has keeps its answer.
        #expect(try await ask(DNSLab.query("c.example", DNSLab.text)).answers.count == 1)
        await resolver.shutDown()
    }

    @Test("an answer within its TTL is not sent as a stale one")
    func freshIsNotStale() async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let forwarder = MessageForwarder(ResolverConfiguration(upstreams: [double], system: nil))
        let query = MessageQuery(DNSQuestion(try #require(DNSName("a.example")), DNSLab.text))
        _ = await forwarder.answer(query)
        let answer = try #require(forwarder.stale(query))
        #expect(answer.errors.isEmpty && answer.source == "cached")
    }

    @Test("a question to this machine's resolver is not held back, because others wait for it")
    func systemQuestionIsNotHeld() async throws {
        let gate = Gate()
        let answer = Answer(v4: .addresses([IPAddress(v4: 0x0a00_0005)], ttl: .seconds(60)))
        let system = ScriptedUpstream("system", kind: .system) { _ in .hold(gate, answer) }
        let lab = try DNSLab([], system: system)
        let first = lab.handle(DNSLab.query("printer.lan", .a))
        guard case .later(_, mayBeHeld: false) = first else {
            Issue.record("the first question may be held back")
            return
        }
        let second = lab.handle(DNSLab.query("printer.lan", .a), from: IPAddress(v4: 0x7f00_0002))
        async let replies = [lab.reply(first), lab.reply(second)]
        gate.open()
        #expect(try await replies.map(\.answers.count) == [1, 1])
        await lab.resolver.shutDown()
    }

    @Test("questions that are started later are answered although no datagram follows them")
    func heldQuestions() async throws {
        let gate = Gate()
        let resolver = Resolver(ResolverConfiguration(upstreams: [SlowUpstream(gate)], system: nil))
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(DNSLab.loopback, port: 0)]
        let server = try DNSServer(configuration, resolver: resolver)
        let client = try DNSUpstream(at: try await server.start().plain)
        let count = LookupPace.starts * 8
        let answers = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<count {
                let name = try #require(DNSName("slow\(number).example"))
                group.addTask {
                    try await client.response(to: MessageQuery(DNSQuestion(name, DNSLab.text))).answers.count
                }
            }
            try await gate.arrivals(atLeast: count)
            gate.open()
            return try await group.reduce(0, +)
        }
        #expect(answers == count)
        await server.stop()
        await resolver.shutDown()
    }

    @Test("a read takes only some of the pipelined questions, so that other connections soon have their turn")
    func shortReads() async throws {
        let lab = try DNSLab([MessageDouble { _ in nil }]) { $0.listen = [Endpoint(DNSLab.loopback, port: 0)] }
        let listeners = try DNSListeners(lab.service.configuration, lab.service)
        let connection = try await RawConnection.connect(to: try await listeners.start().plain[0])
        try await eventually("the connection") { !lab.service.connections.channels.isEmpty }
        let channel = try #require(lab.service.connections.channels.first)
        #expect(try await channel.getOption(.maxMessagesPerRead).get() == 1)
        let buffers = try await channel.getOption(.recvAllocator).get() as? AdaptiveRecvByteBufferAllocator
        #expect(buffers?.maximum == 16_384)
        await connection.close()
        await listeners.stop()
        await lab.resolver.shutDown()
    }
}
