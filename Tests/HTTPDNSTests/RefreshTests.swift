// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOConcurrencyHelpers
import Names
import Testing

@testable import HTTPDNS

@Suite("Expired answers and refreshes", .timeLimit(.minutes(2)))
struct RefreshTests {
    static let www = host("www.example.com")
    static let failure = ScriptedUpstream.Step.fail(UpstreamError(.unreachable, "no"))
    static let six = addresses("2001:db8::1")

    /// An upstream that answers one family per question, and answers for IPv6 only while `works` is true.
    static func halves(_ works: NIOLockedValueBox<Bool>, _ four: String) -> ScriptedUpstream {
        ScriptedUpstream("one", oneFamily: true) { question in
            if question.families == .v4 { return .answer(v4(four)) }
            guard works.withLockedValue({ $0 }) else { return failure }
            return .answer(Answer(v6: .addresses(six, ttl: .seconds(60))))
        }
    }

    @Test("with maxStale = 0, callers join a running refresh when the TTL ends")
    func refreshIsJoined() async throws {
        let clock = ManualClock()
        let gate = Gate()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1", ttl: 100)), .hold(gate, v4("192.0.2.2")))
        let resolver = KeepingTests.resolver([upstream], clock: clock) {
            $0.cache.maxStale = .zero
            $0.refresh.minUses = 1
        }
        _ = try await resolver.resolve(Self.www)
        clock.advance(by: .milliseconds(99_500))
        #expect(try await resolver.resolve(Self.www).source == .cached)
        try await gate.arrivals(atLeast: 1)
        clock.advance(by: .milliseconds(700))
        async let joined = resolver.resolve(Self.www)
        await until { resolver.waitingCallers == 1 }
        gate.open()
        #expect(try await joined.addresses == addresses("192.0.2.2"))
    }

    @Test("with maxStale = 0, a refresh that failed within the TTL delays the next question only until the TTL ends")
    func refreshFailed() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream(
            "one",
            .answer(v4("192.0.2.1", ttl: 100)),
            Self.failure,
            .answer(v4("192.0.2.2"))
        )
        let resolver = KeepingTests.resolver([upstream], clock: clock) {
            $0.cache.maxStale = .zero
            $0.refresh.minUses = 1
        }
        _ = try await resolver.resolve(Self.www)
        clock.advance(by: .seconds(95))
        #expect(try await resolver.resolve(Self.www).source == .cached)
        await resolver.waitUntilIdle()
        clock.advance(by: .seconds(5))
        #expect(try await resolver.resolve(Self.www).addresses == addresses("192.0.2.2"))
    }

    @Test("when an AAAA lookup fails, the expired AAAA stays in use and is not asked for at each use")
    func failedFamilyStays() async throws {
        let clock = ManualClock()
        let works = NIOLockedValueBox(true)
        let upstream = Self.halves(works, "192.0.2.1")
        let resolver = ResolverLab.resolver([upstream], clock: clock, families: .both)
        _ = try await resolver.resolve(Self.www)
        clock.advance(by: .seconds(70))
        works.withLockedValue { $0 = false }
        let both = try await resolver.resolve(Self.www)
        #expect(Set(both.addresses) == Set(addresses("192.0.2.1") + Self.six))
        #expect(both.source == .stale)
        #expect(try await resolver.resolve(Self.www, families: .v6).addresses == Self.six)
        #expect(try await resolver.resolve(Self.www).addresses == both.addresses)
        #expect(upstream.questions.count == 4)
        // A failure for IPv6 has no effect on IPv4.
        #expect(try await resolver.resolve(Self.www, families: .v4).source == .cached)
        works.withLockedValue { $0 = true }
        clock.advance(by: .seconds(30))
        #expect(try await resolver.resolve(Self.www).source == .fresh)
    }

    @Test("each caller waits for the whole delay, even if it joined the lookup late")
    func lateJoiners() async throws {
        let clock = ManualClock()
        let gate = Gate()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")), .hold(gate, v4("192.0.2.2")))
        let resolver = KeepingTests.resolver([upstream], clock: clock) {
            $0.limits.upstream = .seconds(20)
            $0.limits.total = .seconds(20)
        }
        _ = try await resolver.resolve(Self.www)
        clock.advance(by: .seconds(600))
        async let first = resolver.resolve(Self.www)
        try await gate.arrivals(atLeast: 1)
        await until { resolver.waitingCallers == 1 && clock.sleeperCount == 1 }
        clock.advance(by: .seconds(1))
        async let second = resolver.resolve(Self.www)
        await until { resolver.waitingCallers == 2 }
        clock.advance(by: .milliseconds(800))
        #expect(try await first.source == .stale)
        #expect(resolver.waitingCallers == 1)
        await until { clock.nextDeadline == clock.now.advanced(by: .seconds(1)) }
        clock.advance(by: .seconds(1))
        await until { resolver.waitingCallers == 0 }
        gate.open()
        #expect(try await second.source == .stale)
        await resolver.shutDown()
    }

    @Test("a caller that joins a refresh started within the TTL also gets the expired answer after the delay")
    func lateRefresh() async throws {
        let clock = ManualClock()
        let gate = Gate()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1", ttl: 100)), .hold(gate, v4("192.0.2.2")))
        let resolver = KeepingTests.resolver([upstream], clock: clock) {
            $0.refresh.minUses = 1
            $0.limits.upstream = .seconds(20)
            $0.limits.total = .seconds(20)
        }
        _ = try await resolver.resolve(Self.www)
        clock.advance(by: .milliseconds(99_500))
        _ = try await resolver.resolve(Self.www)
        try await gate.arrivals(atLeast: 1)
        clock.advance(by: .seconds(2))
        async let joined = resolver.resolve(Self.www)
        await until { resolver.waitingCallers == 1 }
        await until { clock.nextDeadline == clock.now.advanced(by: .milliseconds(1_800)) }
        clock.advance(by: .milliseconds(1_800))
        await until { resolver.waitingCallers == 0 }
        gate.open()
        #expect(try await joined.source == .stale)
        await resolver.shutDown()
    }

    @Test("one family's answer is not returned as an expired answer for both families")
    func halfIsNotStale() async throws {
        let upstream = ScriptedUpstream("one") { question in
            .answer(question.families == .v4 ? v4("192.0.2.1") : .both("192.0.2.1", "2001:db8::1"))
        }
        let resolver = ResolverLab.resolver([upstream], families: .both)
        _ = try await resolver.resolve(Self.www, families: .v4)
        let both = try await resolver.resolve(Self.www)
        #expect(both.source == .fresh && both.addresses.contains(Self.six[0]))
    }

    @Test("with maxStale = 0, failed endpoints do not remove an answer before its TTL ends")
    func reportKeepsAnswer() async throws {
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")), Self.failure)
        let resolver = KeepingTests.resolver([upstream], clock: ManualClock()) { $0.cache.maxStale = .zero }
        let endpoints = try await resolver.resolve(Self.www).endpoints
        resolver.report(.failed, at: endpoints[0], for: Self.www)
        await resolver.waitUntilIdle()
        #expect(upstream.questions.count == 2)
        #expect(try await resolver.resolve(Self.www).endpoints == endpoints)
    }

    @Test("a kept failure of one family still names the upstream that failed")
    func keptFailureSaysWho() async throws {
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")), Self.failure)
        let resolver = ResolverLab.resolver([upstream], families: .both)
        _ = try await resolver.resolve(Self.www, families: .v4)
        for _ in 0..<2 {
            let error = await #expect(throws: ResolutionError.self) {
                try await resolver.resolve(Self.www, families: .v6)
            }
            #expect(error?.failures.map(\.upstream) == ["one"])
        }
        #expect(upstream.questions.count == 2)
    }

    /// A store whose first loads fail.
    final class LateStore: AnswerStore {
        let memory = KeepingTests.MemoryStore()
        let loads = NIOLockedValueBox(0)
        let failures: Int

        init(failures: Int = 1) { self.failures = failures }

        func load() async throws -> [StoredAnswer] {
            let fails = loads.withLockedValue { loads in
                loads += 1
                return loads <= failures
            }
            if fails { throw UpstreamError(.busy, "locked") }
            return try await memory.load()
        }

        func save(_ answers: [StoredAnswer]) async throws { try await memory.save(answers) }
    }

    @Test("a store that fails to load is overwritten only after many failures", arguments: [3, 100])
    func unreadableStore(failures: Int) async {
        let store = LateStore(failures: failures)
        let part = StoredAnswer.Part(addresses: ["192.0.2.1"], storedAt: 1_000, expiresAt: 1_600)
        store.memory.answers.withLockedValue {
            $0 = [StoredAnswer(name: "www.example.com", network: "", upstream: "one", v4: part)]
        }
        let resolver = KeepingTests.resolver([ScriptedUpstream("one")], clock: ManualClock(), at: 1_000) {
            $0.cache.store = store
        }
        await resolver.restore()
        for _ in 0..<3 { await resolver.save() }
        #expect(store.memory.answers.withLockedValue { $0 }.map(\.name) == ["www.example.com"])
        for _ in 0..<3 { await resolver.save() }
        #expect(store.memory.answers.withLockedValue { $0 }.count == (failures == 3 ? 1 : 0))
    }

    @Test("a save does not empty a store that failed to load once")
    func unreadStore() async throws {
        let store = LateStore()
        let part = StoredAnswer.Part(addresses: ["192.0.2.1"], storedAt: 1_000, expiresAt: 1_600)
        store.memory.answers.withLockedValue {
            $0 = [StoredAnswer(name: "www.example.com", network: "", upstream: "one", v4: part)]
        }
        let resolver = KeepingTests.resolver([ScriptedUpstream("one")], clock: ManualClock(), at: 1_000) {
            $0.cache.store = store
        }
        await resolver.restore()
        await resolver.save()
        #expect(store.memory.answers.withLockedValue { $0 }.map(\.name) == ["www.example.com"])
        #expect(resolver.cached(Self.www)?.addresses == addresses("192.0.2.1"))
    }
}
