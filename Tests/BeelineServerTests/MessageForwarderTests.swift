// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineServer

@Suite("The forwarder of messages", .timeLimit(.minutes(1)))
struct MessageForwarderTests {
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

    @Test("ttlRange and ttlOverrides limit how long a message is cached")
    func longestTTL() async throws {
        let double = MessageDouble { MessageDouble.text($0, ttl: 3_600) }
        var settings = ResolverConfiguration(upstreams: [double], system: nil)
        settings.cache.ttlRange = Duration.zero...Duration.seconds(60)
        settings.cache.ttlOverrides = ["short.example": Duration.zero...Duration.seconds(5)]
        let forwarder = MessageForwarder(settings)
        for (name, ttl) in [("a.example", 60), ("a.short.example", 5)] as [(String, UInt32)] {
            let query = MessageQuery(DNSQuestion(try #require(DNSName(name)), DNSLab.text))
            #expect(await forwarder.answer(query).answers.map(\.ttl) == [ttl])
        }
    }

    @Test("a cached failure keeps no texts of upstreams, which do not count in the size of the cache")
    func cachedFailure() async throws {
        let double = MessageDouble { _ in nil }
        var settings = ResolverConfiguration(upstreams: [double], system: nil)
        settings.cache.failureTTL = .seconds(60)
        let forwarder = MessageForwarder(settings)
        let query = MessageQuery(DNSQuestion(try #require(DNSName("a.example")), DNSLab.text))
        let (first, second) = (await forwarder.answer(query), await forwarder.answer(query))
        #expect(first.failures.map(\.upstream) == ["double"] && second.failures.isEmpty)
        #expect(first.isFailure && second.errors == first.errors && double.questions.count == 1)
    }

    @Test("the SOA of a negative answer has the time that is left, and not the MINIMUM, which does not age")
    func agedDenial() async throws {
        let zone = try #require(DNSName("example"))
        let double = MessageDouble { query in
            var message = MessageDouble.reply(query, code: .noSuchName)
            message.authorities = [FaultyDNS.authority(of: zone, minimum: 120)]
            return message
        }
        let forwarder = MessageForwarder(ResolverConfiguration(upstreams: [double], system: nil))
        let query = MessageQuery(DNSQuestion(try #require(DNSName("a.example")), DNSLab.text))
        var answer = await forwarder.answer(query)
        #expect(answer.authorities.map(\.ttl) == [120] && answer.ttl == 120)
        answer.age(by: 100)
        #expect(answer.authorities.map(\.ttl) == [20] && answer.ttl == 20)
        // The same for a message that a cache on the way has aged.
        var message = try await double.response(to: query)
        message.age(by: 100)
        #expect(ServerAnswer(message).ttl == 20)
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
            limits: .init(failover: hasEnded ? .zero : .seconds(3_600), silencesUntilDown: 1)
        )
        for name in ["a.example", "b.example"] {
            _ = await forwarder.answer(MessageQuery(DNSQuestion(try #require(DNSName(name)), DNSLab.text)))
            works.withLockedValue { $0 = true }
        }
        #expect(preferred.questions.count == (hasEnded ? 2 : 1))
        #expect(other.questions.count == (hasEnded ? 1 : 2))
    }

    @Test("a name whose lookup fails does not move other questions to another upstream", arguments: [true, false])
    func failureOfOneName(_ hasResponse: Bool) async throws {
        // Without a response: the name servers of one zone are silent, and the upstream waits for them.
        let preferred = MessageDouble { query in
            guard query.question.name == DNSName("broken.example") else { return MessageDouble.text(query) }
            return hasResponse ? MessageDouble.reply(query, code: .serverFailure) : nil
        }
        let other = MessageDouble { MessageDouble.text($0) }
        let forwarder = MessageForwarder(ResolverConfiguration(upstreams: [preferred, other], system: nil))
        for name in ["broken.example", "a.example", "b.example"] {
            _ = await forwarder.answer(MessageQuery(DNSQuestion(try #require(DNSName(name)), DNSLab.text)))
        }
        #expect(preferred.questions.count == 3 && other.questions.count == 1)
    }

    @Test("an answer past its TTL comes soon if upstreams are silent, and their late answer is kept")
    func staleBeforeSilence() async throws {
        let gate = Gate()
        let upstream = GatedUpstream(gate)
        var settings = ResolverConfiguration(upstreams: [upstream], system: nil)
        settings.cache.staleAnswerDelay = .milliseconds(1)
        let forwarder = MessageForwarder(settings)
        let query = MessageQuery(DNSQuestion(try #require(DNSName("a.example")), DNSLab.text))
        #expect(await forwarder.answer(query).source == "fresh")
        #expect(await forwarder.answer(query).source == "stale")
        gate.open()
        try await eventually("the answer in the cache") { forwarder.known(query) != nil }
        #expect(forwarder.known(query)?.source == "cached")
    }

    @Test(
        "a cancelled question ends at once, and its query ends with the last question only if places are scarce",
        arguments: [3, 1_024]
    )
    func cancelledQuestion(_ places: Int) async throws {
        let gate = Gate()
        let forwarder = MessageForwarder(
            ResolverConfiguration(upstreams: [GatedUpstream(gate, answersFirst: false)], system: nil),
            limits: .init(maxQueries: places)
        )
        let query = MessageQuery(DNSQuestion(try #require(DNSName("a.example")), DNSLab.text))
        let key = MessageForwarder.Key(query, in: "")
        let questions = (0..<3).map { _ in Task { await forwarder.answer(query) } }
        try await eventually("three callers") { forwarder.state.withLockedValue { $0.queries[key]?.wanted } == 3 }
        try await gate.arrivals(atLeast: 1)
        for question in questions.dropLast() {
            question.cancel()
            #expect(await question.value.source == "cancelled")
            #expect(forwarder.state.withLockedValue { $0.queries[key] != nil })
        }
        questions[2].cancel()
        #expect(await questions[2].value.source == "cancelled")
        #expect(forwarder.state.withLockedValue { $0.queries.isEmpty } == (places == 3))
        async let next = forwarder.answer(query)
        try await eventually("one caller") { forwarder.state.withLockedValue { $0.queries[key]?.wanted } == 1 }
        if places == 3 { try await gate.arrivals(atLeast: 2) }
        gate.open()
        #expect(await next.source == "fresh")
    }

    /// An upstream whose first answer has TTL 0. Later ones wait for a gate, if their names start with a prefix.
    private final class GatedUpstream: MessageUpstream {
        let name = "gated"
        let answersOneFamily = true
        let isAuthenticated = true
        private let gate: Gate
        private let prefix: String
        private let answersNext: NIOLockedValueBox<Bool>
        private let failures: NIOLockedValueBox<Int>

        init(_ gate: Gate, prefix: String = "", answersFirst: Bool = true, failures: Int = 0) {
            self.gate = gate
            self.prefix = prefix
            self.failures = NIOLockedValueBox(failures)
            answersNext = NIOLockedValueBox(answersFirst)
        }

        func response(to query: MessageQuery) async throws(UpstreamError) -> DNSMessage {
            let isFirst = answersNext.withLockedValue { isNext in
                defer { isNext = false }
                return isNext
            }
            if isFirst { return MessageDouble.text(query, ttl: 0) }
            let fails = failures.withLockedValue { failures in
                failures -= 1
                return failures >= 0
            }
            if fails { throw UpstreamError(.unreachable, "no answer") }
            guard prefix.isEmpty || query.question.name.description.hasPrefix(prefix) else {
                return MessageDouble.text(query)
            }
            do {
                try await gate.wait()
            } catch {
                throw UpstreamError(.cancelled, "cancelled")
            }
            return MessageDouble.text(query)
        }

        func answer(_ question: HTTPDNS.Question) async throws(UpstreamError) -> Answer { Answer() }
    }

    @Test("a client whose names get no answers does not keep other questions from an upstream that works")
    func silentNames() async throws {
        let gate = Gate()
        let upstream = GatedUpstream(gate, prefix: "dead", answersFirst: false, failures: 3)
        var settings = ResolverConfiguration(upstreams: [upstream], system: nil)
        (settings.limits.upstream, settings.limits.total) = (.seconds(60), .seconds(60))
        let forwarder = MessageForwarder(settings, limits: .init(maxQueriesWhileDown: 2))
        @Sendable func ask(_ name: String) async throws -> ServerAnswer {
            await forwarder.answer(MessageQuery(DNSQuestion(try #require(DNSName(name)), DNSLab.text)))
        }
        for number in 0..<3 { #expect(try await ask("dead\(number).example").isFailure) }
        async let first = ask("dead3.example")
        async let second = ask("dead4.example")
        try await gate.arrivals(atLeast: 2)
        try await eventually("an answer") { try await ask("a.example").source == "fresh" }
        gate.open()
        #expect(try await [first.source, second.source] == ["fresh", "fresh"])
    }

    @Test("while no upstream responds, few questions wait for one, and all do again after a response")
    func downUpstreams() async throws {
        let gate = Gate()
        let forwarder = MessageForwarder(
            ResolverConfiguration(upstreams: [GatedUpstream(gate, answersFirst: false, failures: 3)], system: nil),
            limits: .init(maxQueriesWhileDown: 2)
        )
        @Sendable func ask(_ number: Int) async throws -> ServerAnswer {
            let name = try #require(DNSName("n\(number).example"))
            return await forwarder.answer(MessageQuery(DNSQuestion(name, DNSLab.text)))
        }
        for number in 0..<3 { #expect(try await ask(number).source == "allUpstreamsFailed") }
        async let first = ask(3)
        async let second = ask(4)
        try await gate.arrivals(atLeast: 2)
        #expect(try await ask(5).source == "tooManyLookups")
        gate.open()
        #expect(try await [first.source, second.source] == ["fresh", "fresh"])
        let sources = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 6..<16 { group.addTask { try await ask(number).source } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(sources == ["fresh"])
    }
}
