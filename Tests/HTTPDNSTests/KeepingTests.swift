// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOConcurrencyHelpers
import Names
import Testing

@testable import HTTPDNS

@Suite("How long answers are kept")
struct KeepingTests {
    static let www = host("www.example.com")

    static func resolver(
        _ upstreams: [any Upstream],
        clock: ManualClock,
        at wall: Int64 = 0,
        _ change: (inout ResolverConfiguration) -> Void = { _ in }
    ) -> Resolver {
        var configuration = ResolverConfiguration(upstreams: upstreams, system: nil)
        configuration.families = .v4
        configuration.network.monitor = nil
        change(&configuration)
        return Resolver(configuration, clock: clock, wallClock: { wall })
    }

    @Test(
        "each kind of answer is kept for the time in its row",
        arguments: [
            ("an address, its TTL", v4("192.0.2.1", ttl: 60), 60),
            ("without TTL, the default", v4("192.0.2.1", ttl: nil), 60),
            ("above the range", v4("192.0.2.1", ttl: 999_999), 86_400), ("zero", v4("192.0.2.1", ttl: 0), 0),
            ("no such name, with the SOA's TTL", Answer(v4: .absent(.noName, ttl: .seconds(30))), 30),
            ("none, capped", Answer(v4: .absent(.noName, ttl: .seconds(9_999))), 300),
            ("no record, and no TTL", Answer(v4: .absent(.noRecord, ttl: nil)), 5),
        ] as [(String, Answer, Int)]
    )
    func rules(_ what: String, _ answer: Answer, _ seconds: Int) {
        let now = Moment(nanoseconds: 7)
        let kept = ResolverConfiguration.Cache().kept(answer, of: Self.www, asked: .v4, now: now)
        #expect(kept.v4.map { $0.expiresAt - now } == .seconds(seconds))
        #expect(kept.v6 == nil)
    }

    @Test("a family missing from the answer is kept as absent for a minute at most, while the other has addresses")
    func partner() {
        let now = Moment(nanoseconds: 0)
        for (ttl, seconds) in [(30, 30), (600, 60)] {
            let kept = ResolverConfiguration.Cache()
                .kept(v4("192.0.2.1", ttl: ttl), of: Self.www, asked: .both, now: now)
            #expect(
                kept.v6
                    == AnswerCache.Part(
                        addresses: [],
                        absence: .noRecord,
                        isConfirmed: false,
                        storedAt: now,
                        expiresAt: now + .seconds(seconds)
                    )
            )
        }
    }

    @Test("some domains have their own bounds for TTLs")
    func overrides() async throws {
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1", ttl: 60)) }
        let resolver = Self.resolver([upstream], clock: ManualClock()) {
            $0.cache.ttlOverrides = [
                "example.com": .seconds(600) ... .seconds(900), "short.example.com": .zero ... .seconds(5),
            ]
        }
        #expect(try await resolver.resolve(Self.www).ttl == .seconds(600))
        #expect(try await resolver.resolve(host("a.short.example.com")).ttl == .seconds(5))
        #expect(try await resolver.resolve(host("example.org")).ttl == .seconds(60))
    }

    @Test("with staleWhileRefresh, an expired answer is returned at once and a new one is fetched in the background")
    func staleWhileRefresh() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")), .answer(v4("192.0.2.2")))
        let resolver = Self.resolver([upstream], clock: clock) { $0.cache.staleWhileRefresh = .seconds(30) }
        _ = try await resolver.resolve(Self.www)
        clock.advance(by: .seconds(80))
        let stale = try await resolver.resolve(Self.www)
        #expect(stale.source == .stale)
        #expect(stale.addresses == addresses("192.0.2.1"))
        await until { resolver.cached(Self.www)?.addresses == addresses("192.0.2.2") }
        upstream.add(.answer(v4("192.0.2.3")))
        clock.advance(by: .seconds(91))
        #expect(try await resolver.resolve(Self.www).source == .fresh)
    }

    /// Once, a caller that read an expired answer just before the new answer arrived started a second lookup.
    @Test("a caller that reads an expired answer while the new one arrives starts no further lookup")
    func refreshesOnce() async throws {
        let clock = ManualClock()
        let resolver = Self.resolver([ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1")) }], clock: clock)
        let names = try (0..<2_000).map { try Host("n\($0).example.com") }
        for name in names { _ = try await resolver.resolve(name) }
        clock.advance(by: .seconds(80))
        for name in names {
            await withTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { await until { resolver.cached(name)?.source != .stale } }
                }
            }
        }
        #expect(resolver.questionsSent == 2 * names.count)
    }

    @Test("callers get an expired answer when upstreams are slow (RFC 8767)")
    func staleAnswerDelay() async throws {
        let clock = ManualClock()
        let gate = Gate()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")), .hold(gate, v4("192.0.2.2")))
        let resolver = Self.resolver([upstream], clock: clock)
        _ = try await resolver.resolve(Self.www)
        clock.advance(by: .seconds(600))
        async let late = resolver.resolve(Self.www)
        try await gate.arrivals(atLeast: 1)
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .milliseconds(1_800))
        #expect(try await late.source == .stale)
        gate.open()
        await until { resolver.cached(Self.www)?.addresses == addresses("192.0.2.2") }
    }

    @Test("after a failure, an expired answer is used for half a minute before upstreams are asked again")
    func staleRecheck() async throws {
        let clock = ManualClock()
        let failure = ScriptedUpstream.Step.fail(UpstreamError(.lookupFailed, "no"))
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")), failure, .answer(v4("192.0.2.2")))
        let resolver = Self.resolver([upstream], clock: clock)
        _ = try await resolver.resolve(Self.www)
        clock.advance(by: .seconds(60))
        #expect(try await resolver.resolve(Self.www).source == .stale)
        clock.advance(by: .seconds(29))
        #expect(try await resolver.resolve(Self.www).source == .stale)
        #expect(upstream.questions.count == 2)
        clock.advance(by: .seconds(1))
        #expect(try await resolver.resolve(Self.www).source == .fresh)
    }

    @Test("a denial without a TTL does not replace an expired answer")
    func unvouchedDenial() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream(
            "one",
            .answer(v4("192.0.2.1")),
            .answer(Answer(v4: .absent(.noRecord, ttl: nil)))
        )
        let resolver = Self.resolver([upstream], clock: clock)
        _ = try await resolver.resolve(Self.www)
        clock.advance(by: .seconds(60))
        #expect(try await resolver.resolve(Self.www).source == .stale)
    }

    @Test("a name in use is refreshed once in the last tenth of its TTL, and callers do not wait for it")
    func refreshAhead() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1", ttl: 100)) }
        let resolver = Self.resolver([upstream], clock: clock)
        for _ in 0..<4 { _ = try await resolver.resolve(Self.www) }
        clock.advance(by: .seconds(89))
        _ = try await resolver.resolve(Self.www)
        #expect(upstream.questions.count == 1)
        clock.advance(by: .seconds(2))
        #expect(try await resolver.resolve(Self.www).source == .cached)
        await resolver.waitUntilIdle()
        #expect(upstream.questions.count == 2)
        #expect(try await resolver.resolve(Self.www).ttl == .seconds(100))
    }

    @Test("a name that is not in use is not refreshed")
    func coldNames() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1", ttl: 100)) }
        let resolver = Self.resolver([upstream], clock: clock)
        _ = try await resolver.resolve(Self.www)
        clock.advance(by: .seconds(95))
        _ = try await resolver.resolve(Self.www)
        await resolver.waitUntilIdle()
        #expect(upstream.questions.count == 1)
    }

    @Test("names in the list keptFresh are refreshed without being used")
    func keptFresh() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1", ttl: 100)) }
        let resolver = Self.resolver([upstream], clock: clock) { $0.refresh.hosts = [Self.www] }
        let running = Task { await resolver.run() }
        for round in 1...3 {
            await until { upstream.questions.count == round }
            await resolver.waitUntilIdle()
            // Two sleepers: the task that keeps the name fresh and the time limit of its last question.
            try await clock.sleepers { $0 > 1 }
            clock.advance(by: .seconds(76))
        }
        await resolver.shutDown()
        await running.value
    }

    @Test("the question carries the subnet, and each subnet has its own answers")
    func subnets() async throws {
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")), .answer(v4("192.0.2.2")))
        let resolver = Self.resolver([upstream], clock: ManualClock())
        let subnet = try #require(IPNetwork("203.0.113.0/24"))
        #expect(try await resolver.resolve(Self.www).addresses == addresses("192.0.2.1"))
        #expect(try await resolver.resolve(Self.www, subnet: subnet).addresses == addresses("192.0.2.2"))
        #expect(try await resolver.resolve(Self.www).addresses == addresses("192.0.2.1"))
        #expect(resolver.cached(Self.www, subnet: subnet)?.addresses == addresses("192.0.2.2"))
        #expect(upstream.questions.map(\.subnet) == [nil, subnet])
    }

    // MARK: Order and speed

    @Test("a race uses the first good answer and cancels the other question")
    func race() async throws {
        let slow = ScriptedUpstream("slow", .silence)
        let fast = ScriptedUpstream("fast", .answer(v4("192.0.2.2")))
        let resolver = Self.resolver([slow, fast], clock: ManualClock()) { $0.order = .race(2) }
        #expect(try await resolver.resolve(Self.www).upstream == "fast")
        await until { slow.cancelled == 1 }
    }

    @Test("a hedge asks the next upstream when the first takes longer than usual")
    func hedge() async throws {
        let clock = ManualClock()
        let slow = ScriptedUpstream("slow", .silence)
        let next = ScriptedUpstream("next", .answer(v4("192.0.2.2")))
        let resolver = Self.resolver([slow, next], clock: clock) { $0.order = .hedge }
        async let resolution = resolver.resolve(Self.www)
        await until { slow.questions.count == 1 }
        await until { clock.nextDeadline?.sinceStart == .milliseconds(250) }
        #expect(next.questions.isEmpty)
        clock.advance(by: .milliseconds(250))
        #expect(try await resolution.upstream == "next")
    }

    @Test("a failure for one family leaves the other family's answer usable and does not prevent asking for it")
    func failureOfOneFamily() async throws {
        let failure = ScriptedUpstream.Step.fail(UpstreamError(.lookupFailed, "SERVFAIL"))
        let upstream = ScriptedUpstream("one") { $0.families == .v6 ? failure : .answer(v4("192.0.2.1")) }
        let resolver = Self.resolver([upstream], clock: ManualClock())
        for name in ["before", "after"].map({ host("\($0).example") }) {
            if name == host("before.example") { _ = try await resolver.resolve(name, families: .v4) }
            await #expect(throws: ResolutionError.self) { try await resolver.resolve(name, families: .v6) }
            #expect(try await resolver.resolve(name, families: .v4).addresses == addresses("192.0.2.1"))
            #expect(try await resolver.resolve(name, families: .v4).source == .cached)
            // The failure itself is remembered.
            await #expect(throws: ResolutionError.self) { try await resolver.resolve(name, families: .v6) }
        }
        #expect(upstream.questions.map(\.families) == [.v4, .v6, .v6, .v4])
    }

    // MARK: Prefetch and comparison

    /// An upstream that answers several names in one question.
    final class Batch: BatchUpstream {
        let name = "batch"
        let maxNames = 3
        let asked = NIOLockedValueBox<[[String]]>([])

        func answer(_ question: Question) async throws(UpstreamError) -> Answer {
            asked.withLockedValue { $0.append([question.host.text]) }
            return v4("192.0.2.1")
        }

        func answers(_ hosts: [Host], families: Families) async throws(UpstreamError) -> [Host: Answer] {
            asked.withLockedValue { $0.append(hosts.map(\.text)) }
            if hosts.contains(host("n3.example")) { throw UpstreamError(.malformedAnswer, "no") }
            return Dictionary(uniqueKeysWithValues: hosts.dropLast().map { ($0, v4("192.0.2.2")) })
        }
    }

    @Test("a prefetch asks for several names in one question, and asks for each missing name separately")
    func batch() async throws {
        let batch = Batch()
        let resolver = Self.resolver([batch], clock: ManualClock()) { $0.limits.prefetchWidth = 1 }
        await resolver.prefetch((0..<6).map { host("n\($0).example") } + [host("n0.example"), host("192.0.2.1")])
        #expect(
            batch.asked.withLockedValue { $0 } == [
                ["n0.example", "n1.example", "n2.example"], ["n3.example", "n4.example", "n5.example"], ["n2.example"],
                ["n3.example"], ["n4.example"], ["n5.example"],
            ]
        )
        #expect(resolver.cached(host("n0.example"))?.addresses == addresses("192.0.2.2"))
        #expect(resolver.cached(host("n5.example"))?.addresses == addresses("192.0.2.1"))
    }

    @Test(
        "a prefetch sends no name in a table to a service if tables come first",
        arguments: [UpstreamOrder.race(2), .weighted]
    )
    func batchAfterTables(_ order: UpstreamOrder) async {
        let batch = Batch()
        let table = FixedUpstream(HostsTable(parsing: "192.0.2.9 n0.example"))
        let resolver = Self.resolver([batch, table], clock: ManualClock()) { $0.order = order }
        await resolver.prefetch([host("n0.example"), host("n1.example")])
        #expect(batch.asked.withLockedValue { $0 } == [["n1.example"]])
        #expect(resolver.cached(host("n0.example"))?.addresses == addresses("192.0.2.9"))
    }

    @Test("askAll asks all upstreams at once and reports each one's result")
    func askAll() async throws {
        let one = ScriptedUpstream("one", .answer(v4("192.0.2.1")))
        let two = ScriptedUpstream("two", .answer(v4("127.0.0.1")))
        let resolver = Self.resolver([one, two], clock: ManualClock()) {
            $0.system = ScriptedUpstream("system", kind: .system, .fail(UpstreamError(.lookupFailed, "no")))
        }
        let reports = await resolver.askAll(Self.www)
        #expect(reports.map(\.upstream) == ["one", "two", "system"])
        #expect(try reports[0].result.get() == v4("192.0.2.1"))
        #expect(throws: UpstreamError.self) { try reports[1].result.get() }
        #expect(resolver.cachedNames == 0)
    }

    @Test("askAll asks only the system for private and denied names, and does not check the system's answer")
    func askAllOfPrivateNames() async throws {
        for name in ["printer.local", "intranet", "pay.example.com"] {
            let service = ScriptedUpstream("one")
            let resolver = Self.resolver([service], clock: ManualClock()) {
                $0.names.denied = ["pay.example.com"]
                $0.names.canary = Canary(percentage: 0, installation: "x")
                $0.system = ScriptedUpstream("system", kind: .system, .answer(v4("127.0.1.1")))
            }
            let reports = await resolver.askAll(host(name))
            #expect(reports.map(\.upstream) == ["system"])
            #expect(try reports.first?.result.get() == v4("127.0.1.1"))
            #expect(service.questions.isEmpty)
        }
    }

    // MARK: The store

    /// A store in memory.
    final class MemoryStore: AnswerStore {
        let answers = NIOLockedValueBox<[StoredAnswer]>([])

        func load() async throws -> [StoredAnswer] { answers.withLockedValue { $0 } }
        func save(_ answers: [StoredAnswer]) async throws { self.answers.withLockedValue { $0 = answers } }
    }

    @Test("stored answers are restored with their age and their network")
    func store() async throws {
        let store = MemoryStore()
        let clock = ManualClock()
        let first = Self.resolver([ScriptedUpstream("one", .answer(v4("192.0.2.1")))], clock: clock, at: 1_000) {
            $0.cache.store = store
        }
        await first.networkChanged(to: Network(id: "home"))
        _ = try await first.resolve(Self.www)
        clock.advance(by: .seconds(10))
        await first.save()
        #expect(store.answers.withLockedValue { $0 }.map(\.network) == ["home"])
        let second = Self.resolver([ScriptedUpstream("one")], clock: ManualClock(), at: 1_020) {
            $0.cache.store = store
        }
        await second.restore()
        await second.networkChanged(to: Network(id: "home"))
        let resolution = try await second.resolve(Self.www)
        #expect(resolution.source == .cached)
        #expect(resolution.age == .seconds(30))
        #expect(resolution.ttl == .seconds(30))
        #expect(resolution.upstream == "one")
    }

    @Test("an answer from before the running resolver finds the network stays, and is used after a restart in it")
    func answersBeforeTheNetwork() async throws {
        let store = MemoryStore()
        for isRestart in [false, true] {
            let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")))
            let resolver = Self.resolver([upstream], clock: ManualClock(), at: 1_000) {
                $0.cache.store = store
                $0.network.monitor = NetworkTests.ScriptedMonitor()
            }
            if !isRestart { _ = try await resolver.resolve(Self.www) }
            let running = Task { await resolver.run() }
            await until { resolver.network.id == "home" && resolver.cachedNames == 1 }
            #expect(try await resolver.resolve(Self.www).source == .cached)
            running.cancel()
            await running.value
            #expect(store.answers.withLockedValue { $0 }.map(\.network) == ["home"])
            #expect(upstream.questions.count == (isRestart ? 0 : 1))
            await resolver.shutDown()
        }
    }

    @Test("a name with only one family cached can be resolved for both families without a crash")
    func oneFamilyThenBoth() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1", ttl: 60)), .fail(ResolverLab.failure))
        let resolver = ResolverLab.resolver([upstream], clock: clock, families: .both)
        _ = try await resolver.resolve(ResolverLab.www, families: .v4)
        // The clock is past zero: the span from now back to the earliest moment exceeds 64 bits of nanoseconds.
        clock.advance(by: .seconds(1))
        _ = resolver.cached(ResolverLab.www)
        let both = try await resolver.resolve(ResolverLab.www)
        #expect(both.addresses == addresses("192.0.2.1"))
        #expect(both.ttl == .seconds(59))
    }

    /// A store with an address of each name.
    private static func store(of names: [String]) -> MemoryStore {
        let store = MemoryStore()
        let part = StoredAnswer.Part(addresses: ["192.0.2.1"], storedAt: 1_000, expiresAt: 1_600)
        store.answers.withLockedValue {
            $0 = names.map { StoredAnswer(name: $0, network: "", upstream: "one", v4: part) }
        }
        return store
    }

    @Test("TTL bounds of a domain also apply to restored answers")
    func restoreUnderOverride() async throws {
        let store = Self.store(of: ["www.example.com", "www.other.example"])
        let resolver = Self.resolver([ScriptedUpstream("one")], clock: ManualClock(), at: 1_000) {
            $0.cache.store = store
            $0.cache.ttlOverrides = ["example.com": .zero ... .seconds(60)]
        }
        await resolver.restore()
        #expect(resolver.cached(Self.www)?.ttl == .seconds(60))
        #expect(resolver.cached(host("www.other.example"))?.ttl == .seconds(600))
    }

    @Test("answers that are too old, from the future, bogus or from a removed upstream are not restored")
    func restoreRefuses() async throws {
        let part = { (text: String, stored: Int64) in
            StoredAnswer.Part(addresses: [text], storedAt: stored, expiresAt: stored + 60)
        }
        let store = MemoryStore()
        store.answers.withLockedValue {
            $0 = [
                StoredAnswer(name: "old.example", network: "", upstream: "one", v4: part("192.0.2.1", 0)),
                // A damaged file can hold any number.
                StoredAnswer(name: "damaged.example", network: "", upstream: "one", v4: part("192.0.2.1", .min)),
                StoredAnswer(name: "future.example", network: "", upstream: "one", v4: part("192.0.2.1", 200_000)),
                StoredAnswer(name: "bogus.example", network: "", upstream: "one", v4: part("127.0.0.1", 99_990)),
                StoredAnswer(name: "gone.example", network: "", upstream: "gone", v4: part("192.0.2.1", 99_990)),
                StoredAnswer(name: "private.local", network: "", upstream: "one", v4: part("192.0.2.1", 99_990)),
                StoredAnswer(name: "not a name", network: "", upstream: "one", v4: part("192.0.2.1", 99_990)),
                StoredAnswer(name: "good.example", network: "", upstream: "one", v4: part("192.0.2.1", 99_990)),
                StoredAnswer(name: "stale.example", network: "", upstream: "one", v4: part("192.0.2.1", 90_000)),
            ]
        }
        let resolver = Self.resolver(
            [ScriptedUpstream("one") { _ in .silence }],
            clock: ManualClock(),
            at: 100_000
        ) {
            $0.cache.store = store
        }
        await resolver.restore()
        #expect(resolver.cachedNames == 2)
        #expect(resolver.cached(host("good.example"))?.source == .cached)
        #expect(resolver.cached(host("stale.example"))?.source == .stale)
        await resolver.shutDown()
    }

    @Test("a stored answer for a name that the remote switch denies is not restored")
    func restoreUnderRemoteRules() async throws {
        let store = Self.store(of: ["pay.example.com", "www.example.com"])
        let system = ScriptedUpstream("system", kind: .system, .answer(v4("192.0.2.9")))
        let resolver = Self.resolver([ScriptedUpstream("one")], clock: ManualClock(), at: 1_000) {
            $0.cache.store = store
            $0.system = system
        }
        let text = #"{"enabled":true,"expires":2000,"denied":["pay.example.com"]}"#
        let document = try RemoteDocument(Array(text.utf8), signedBy: nil)
        resolver.handle(.documentReceived(document, wall: 1_000), now: Moment(nanoseconds: 0))
        await resolver.restore()
        #expect(try await resolver.resolve(host("pay.example.com")).upstream == "system")
        #expect(resolver.cached(Self.www)?.source == .cached)
    }

    @Test("answers from the system and from tables are not stored")
    func storesServicesAlone() async throws {
        let store = MemoryStore()
        let table = FixedUpstream(HostsTable(parsing: "192.0.2.1 www.example.com"))
        let resolver = Self.resolver([table], clock: ManualClock()) { $0.cache.store = store }
        _ = try await resolver.resolve(Self.www)
        await resolver.save()
        #expect(store.answers.withLockedValue { $0 }.isEmpty)
    }

    @Test(
        "a duration converts to the nearest number of nanoseconds that 64 bits hold",
        arguments: [
            (0, 0, 0), (0, 1_000_000_000, 1), (0, -1_000_000_000, -1), (20, 5_000_000_000, 20_000_000_005),
            (0, 999_999_999, 0), (0, -999_999_999, 0), (10_000_000_000, 0, .max), (-10_000_000_000, 0, .min),
        ] as [(Int64, Int64, Int64)]
    )
    func nanoseconds(_ seconds: Int64, _ attoseconds: Int64, _ nanoseconds: Int64) {
        let duration = Duration(secondsComponent: seconds, attosecondsComponent: attoseconds)
        #expect(duration.nanoseconds == nanoseconds)
    }
}
