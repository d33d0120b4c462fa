// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import Names
import Testing

@Suite("The resolver")
struct ResolverTests {
    static let failure = UpstreamError(.unreachable, "connection refused")
    static let www = host("www.example.com")

    static func resolver(
        _ upstreams: [ScriptedUpstream],
        system: ScriptedUpstream? = nil,
        clock: ManualClock = ManualClock(),
        families: Families = .v4,
        _ change: (inout ResolverConfiguration) -> Void = { _ in }
    ) -> Resolver {
        var configuration = ResolverConfiguration(upstreams: upstreams, system: system)
        configuration.families = families
        change(&configuration)
        return Resolver(configuration, clock: clock)
    }

    @Test("a fresh answer names its upstream, and its TTL counts down in the cache")
    func freshThenCached() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1 192.0.2.2", ttl: 60)))
        let resolver = Self.resolver([upstream], clock: clock)
        let fresh = try await resolver.resolve(Self.www, port: 8_443)
        #expect(fresh.endpoints.map(\.description) == ["192.0.2.1:8443", "192.0.2.2:8443"])
        #expect(fresh.source == .fresh)
        #expect(fresh.upstream == "one")
        #expect(fresh.age == .zero)
        #expect(fresh.ttl == .seconds(60))
        clock.advance(by: .seconds(40))
        let cached = try await resolver.resolve(Self.www)
        #expect(cached.source == .cached)
        #expect(cached.age == .seconds(40))
        #expect(cached.ttl == .seconds(20))
        #expect(cached.port == 443)
        #expect(resolver.questionsSent == 1)
        #expect(resolver.cached(Self.www) == cached)
    }

    @Test("the upstream is asked again when the TTL ends")
    func expires() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1", ttl: 60)), .answer(v4("192.0.2.2", ttl: 60)))
        let resolver = Self.resolver([upstream], clock: clock)
        _ = try await resolver.resolve(Self.www)
        clock.advance(by: .seconds(60))
        let second = try await resolver.resolve(Self.www)
        #expect(second.source == .fresh)
        #expect(second.addresses == addresses("192.0.2.2"))
    }

    @Test("a forced resolution ignores the cache and stores its answer")
    func forced() async throws {
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")), .answer(v4("192.0.2.2")))
        let resolver = Self.resolver([upstream])
        _ = try await resolver.resolve(Self.www)
        #expect(try await resolver.resolve(Self.www, fresh: true).addresses == addresses("192.0.2.2"))
        #expect(try await resolver.resolve(Self.www).addresses == addresses("192.0.2.2"))
    }

    @Test("upstreams are asked in order, and the result lists the failures before it")
    func fallback() async throws {
        let first = ScriptedUpstream("one", .fail(Self.failure))
        let second = ScriptedUpstream("two", .answer(v4("127.0.0.1")))
        let third = ScriptedUpstream("three", .answer(v4("192.0.2.3")))
        let resolver = Self.resolver([first, second, third])
        let resolution = try await resolver.resolve(Self.www)
        #expect(resolution.upstream == "three")
        #expect(resolution.failures.map(\.upstream) == ["one", "two"])
        #expect(resolution.failures.map(\.error.code) == [.unreachable, .bogusAnswer])
        #expect(resolver.cached(Self.www)?.failures.count == 2)
    }

    @Test("the error names every upstream and its failure")
    func allFail() async throws {
        let resolver = Self.resolver([
            ScriptedUpstream("one", .fail(Self.failure)),
            ScriptedUpstream("two", .fail(UpstreamError(.lookupFailed, "no"))),
        ])
        let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(Self.www) }
        #expect(error?.code == .allUpstreamsFailed)
        #expect(error?.failures.map(\.upstream) == ["one", "two"])
        #expect(
            error?.message
                == "www.example.com: no upstream gave a usable answer: one: connection refused; two: no"
        )
    }

    @Test("a failure is kept for a second, so that a broken name is not asked for at each use (RFC 9520)")
    func failureIsKept() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one", .fail(Self.failure), .answer(v4("192.0.2.1")))
        let resolver = Self.resolver([upstream], clock: clock)
        for _ in 0..<3 {
            let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(Self.www) }
            #expect(error?.failures.count == 1)
        }
        #expect(resolver.questionsSent == 1)
        clock.advance(by: .seconds(1))
        #expect(try await resolver.resolve(Self.www).source == .fresh)
    }

    @Test("a bogus address is refused with an error that names it and its upstream, unless it is allowed")
    func bogus() async throws {
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("127.0.0.1")) }
        let error = await #expect(throws: ResolutionError.self) {
            try await Self.resolver([upstream]).resolve(Self.www)
        }
        #expect(error?.code == .bogusAnswer)
        #expect(error?.message.contains("one: 127.0.0.1 ") == true)
        let lenient = Self.resolver([upstream]) { $0.check.allowsLocalAnswers = true }
        #expect(try await lenient.resolve(Self.www).addresses == addresses("127.0.0.1"))
    }

    @Test("a silent upstream is replaced by the next one after its time budget")
    func budget() async throws {
        let clock = ManualClock()
        let silent = ScriptedUpstream("silent", .silence)
        let second = ScriptedUpstream("two", .answer(v4("192.0.2.1")))
        let resolver = Self.resolver([silent, second], clock: clock)
        async let resolution = resolver.resolve(Self.www)
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(2))
        #expect(try await resolution.upstream == "two")
        #expect(try await resolution.failures.map(\.error.code) == [.timeLimit])
        await until { silent.cancelled == 1 }
    }

    /// Once, a caller that missed the cache just before the answer arrived joined no lookup and asked again.
    @Test("a caller that looks while the answer arrives gets it without a second question")
    func nobodyAsksTwice() async throws {
        let resolver = Self.resolver([ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1")) }])
        let names = 3_000
        for name in 0..<names {
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { try await resolver.resolve(host("n\(name).example.com")) }
                }
                try await group.waitForAll()
            }
        }
        #expect(resolver.questionsSent == names)
    }

    @Test("concurrent callers share one question")
    func oneFlight() async throws {
        let gate = Gate()
        let upstream = ScriptedUpstream("one", .hold(gate, v4("192.0.2.1")))
        let resolver = Self.resolver([upstream])
        try await withThrowingTaskGroup(of: Resolution.self) { group in
            for _ in 0..<50 { group.addTask { try await resolver.resolve(Self.www) } }
            try await gate.arrivals(atLeast: 1)
            gate.open()
            for try await resolution in group { #expect(resolution.addresses == addresses("192.0.2.1")) }
        }
        #expect(upstream.questions.count == 1)
    }

    @Test("a cancelled caller leaves at once, and the lookup continues for the others")
    func oneCallerLeaves() async throws {
        let gate = Gate()
        let upstream = ScriptedUpstream("one", .hold(gate, v4("192.0.2.1")))
        let resolver = Self.resolver([upstream])
        let leaver = Task { try await resolver.resolve(Self.www) }
        try await gate.arrivals(atLeast: 1)
        let stayer = Task { try await resolver.resolve(Self.www) }
        await until { resolver.waitingCallers == 2 }
        leaver.cancel()
        let error = await #expect(throws: ResolutionError.self) { try await leaver.value }
        #expect(error?.code == .cancelled)
        #expect(upstream.cancelled == 0)
        gate.open()
        #expect(try await stayer.value.addresses == addresses("192.0.2.1"))
    }

    @Test("callers can leave in any order without ending the lookup of the others")
    func manyCallersLeave() async throws {
        let gate = Gate()
        let resolver = Self.resolver([ScriptedUpstream("one", .hold(gate, v4("192.0.2.1")))])
        var callers: [Task<Resolution, any Error>] = []
        for count in 1...9 {
            callers.append(Task { try await resolver.resolve(Self.www) })
            await until { resolver.waitingCallers == count }
        }
        let leavers = [0, 8, 4, 1, 7]
        for (count, index) in leavers.enumerated() {
            callers[index].cancel()
            await until { resolver.waitingCallers == 8 - count }
        }
        gate.open()
        for index in callers.indices {
            let result = await callers[index].result.map(\.addresses)
            if leavers.contains(index) {
                #expect(throws: ResolutionError.self) { try result.get() }
            } else {
                #expect(try result.get() == addresses("192.0.2.1"))
            }
        }
    }

    @Test("when the last caller leaves, the upstream's question is cancelled")
    func lastCallerLeaves() async throws {
        let gate = Gate()
        let upstream = ScriptedUpstream("one", .hold(gate, v4("192.0.2.1")), .answer(v4("192.0.2.2")))
        let resolver = Self.resolver([upstream])
        let caller = Task { try await resolver.resolve(Self.www) }
        try await gate.arrivals(atLeast: 1)
        caller.cancel()
        _ = await #expect(throws: ResolutionError.self) { try await caller.value }
        await until { upstream.cancelled == 1 }
        #expect(try await resolver.resolve(Self.www).addresses == addresses("192.0.2.2"))
    }

    @Test("a task that was cancelled before it asks gets an error at once")
    func cancelledBefore() async {
        let resolver = Self.resolver([ScriptedUpstream("one") { _ in .silence }])
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await resolver.resolve(Self.www)
        }
        let error = await #expect(throws: ResolutionError.self) { try await task.value }
        #expect(error?.code == .cancelled)
    }

    @Test("cached() returns at once and refreshes in the background")
    func cachedRefreshesBehind() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1", ttl: 60)), .answer(v4("192.0.2.2", ttl: 60)))
        let resolver = Self.resolver([upstream], clock: clock)
        #expect(resolver.cached(Self.www) == nil)
        await until { resolver.cachedNames == 1 }
        #expect(resolver.cached(Self.www)?.addresses == addresses("192.0.2.1"))
        clock.advance(by: .seconds(90))
        let stale = try #require(resolver.cached(Self.www))
        #expect(stale.source == .stale)
        #expect(stale.ttl == .seconds(-30))
        #expect(stale.age == .seconds(90))
        await until { resolver.cached(Self.www)?.source == .cached }
        #expect(resolver.cached(Self.www)?.addresses == addresses("192.0.2.2"))
    }

    @Test("when no upstream answers, an expired answer is used for a limited time")
    func staleIfError() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1", ttl: 60)))
        let resolver = Self.resolver([upstream], clock: clock)
        _ = try await resolver.resolve(Self.www)
        clock.advance(by: .seconds(3_600))
        upstream.add(.fail(Self.failure))
        let stale = try await resolver.resolve(Self.www)
        #expect(stale.source == .stale)
        #expect(stale.addresses == addresses("192.0.2.1"))
        clock.advance(by: .seconds(43_200))
        upstream.add(.fail(Self.failure))
        let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(Self.www) }
        #expect(error?.code == .allUpstreamsFailed)
        #expect(resolver.cached(Self.www) == nil)
    }

    @Test("\"no such name\" is an error that is kept for the SOA's time")
    func negative() async throws {
        let clock = ManualClock()
        let none = Answer(v4: .absent(.noName, ttl: .seconds(30)))
        let upstream = ScriptedUpstream("one", .answer(none), .answer(v4("192.0.2.1")))
        let other = ScriptedUpstream("two")
        let resolver = Self.resolver([upstream, other], clock: clock)
        for _ in 0..<2 {
            let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(Self.www) }
            #expect(error?.code == .noSuchName)
        }
        #expect(resolver.cached(Self.www) == nil)
        #expect(upstream.questions.count == 1)
        clock.advance(by: .seconds(30))
        #expect(try await resolver.resolve(Self.www).source == .fresh)
    }

    @Test("a name without addresses of the requested families is an error")
    func noAddress() async {
        let upstream = ScriptedUpstream("one", .answer(Answer(v6: .absent(.noRecord, ttl: .seconds(30)))))
        let error = await #expect(throws: ResolutionError.self) {
            try await Self.resolver([upstream], families: .v6).resolve(Self.www)
        }
        #expect(error?.code == .noAddress)
        #expect(error?.message.hasSuffix(": the name has no IPv6 address, according to one") == true)
    }

    @Test("a name that the system knows without addresses is an error in plain words")
    func noAddressOfTheSystem() async {
        let none = Answer(v4: .absent(.noRecord, ttl: .seconds(30)), v6: .absent(.noRecord, ttl: .seconds(30)))
        let error = await #expect(throws: ResolutionError.self) {
            try await Self.resolver([ScriptedUpstream("system", .answer(none))], families: .both).resolve(Self.www)
        }
        let words = "the name has neither an IPv4 nor an IPv6 address, according to the system's resolver"
        #expect(error?.message.hasSuffix(": \(words)") == true, "\(error?.message ?? "")")
    }

    @Test("while the resolver is off only the system is asked, and cached answers return when it is on again")
    func isEnabled() async throws {
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")))
        let system = ScriptedUpstream("system", kind: .system, .answer(v4("198.51.100.1", ttl: nil)))
        let resolver = Self.resolver([upstream], system: system)
        _ = try await resolver.resolve(Self.www)
        resolver.isEnabled = false
        let off = try await resolver.resolve(Self.www)
        #expect(off.source == .system)
        #expect(off.addresses == addresses("198.51.100.1"))
        #expect(try await resolver.resolve(Self.www).source == .cached)
        resolver.isEnabled = true
        #expect(try await resolver.resolve(Self.www).addresses == addresses("192.0.2.1"))
        #expect(upstream.questions.count == 1)
        #expect(system.questions.count == 1)
    }

    @Test("denied domains are left to the system by whole labels, and its answer is not checked")
    func denied() async throws {
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")))
        let system = ScriptedUpstream("system", kind: .system, .answer(v4("127.0.0.1", ttl: nil)))
        let resolver = Self.resolver([upstream], system: system) { $0.names.denied = ["corp.example"] }
        #expect(try await resolver.resolve(host("a.corp.example")).source == .system)
        #expect(try await resolver.resolve(host("acorp.example")).upstream == "one")
        #expect(system.questions.map(\.host.text) == ["a.corp.example"])
    }

    @Test("an address and localhost resolve to themselves")
    func literals() async throws {
        let resolver = Self.resolver([ScriptedUpstream("one")], families: .both)
        for (text, endpoints) in [
            ("192.0.2.1", ["192.0.2.1:443"]), ("[2001:db8::1]", ["[2001:db8::1]:443"]),
            ("localhost", ["[::1]:443", "127.0.0.1:443"]), ("a.localhost", ["[::1]:443", "127.0.0.1:443"]),
        ] {
            let resolution = try await resolver.resolve(host(text))
            #expect(resolution.source == .literal)
            #expect(resolution.endpoints.map(\.description) == endpoints)
            #expect(resolver.cached(host(text)) == resolution)
        }
        #expect(resolver.questionsSent == 0)
    }

    @Test("a fixed table may contain any address")
    func fixed() async throws {
        let table = FixedUpstream(HostsTable(parsing: "127.0.0.1 www.example.com"))
        var configuration = ResolverConfiguration(upstreams: [table], system: nil)
        configuration.families = .v4
        let resolver = Resolver(configuration, clock: ManualClock())
        for _ in 0..<2 {
            let resolution = try await resolver.resolve(Self.www)
            #expect(resolution.source == .fixed)
            #expect(resolution.addresses == addresses("127.0.0.1"))
        }
    }

    @Test("a DNS upstream is asked for both families at once, and a late AAAA is added to the cache")
    func lateFamily() async throws {
        let clock = ManualClock()
        let gate = Gate()
        let upstream = FamilyUpstream(v4("192.0.2.1"), late: (.v6, gate, .both("192.0.2.1", "2001:db8::1")))
        var configuration = ResolverConfiguration(upstreams: [upstream], system: nil)
        configuration.families = .both
        let resolver = Resolver(configuration, clock: clock)
        async let first = resolver.resolve(Self.www)
        try await gate.arrivals(atLeast: 1)
        await until { clock.nextDeadline?.sinceStart == .milliseconds(50) }
        clock.advance(by: .milliseconds(50))
        #expect(try await first.addresses == addresses("192.0.2.1"))
        gate.open()
        await until { resolver.cached(Self.www)?.addresses.count == 2 }
        #expect(resolver.cached(Self.www)?.addresses == addresses("2001:db8::1 192.0.2.1"))
        #expect(resolver.questionsSent == 2)
    }

    @Test("a name with one family is not asked for again while its addresses are valid")
    func oneFamilyOnly() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream(
            "one",
            .answer(Answer(v4: .addresses(addresses("192.0.2.1"), ttl: .seconds(60))))
        )
        let resolver = Self.resolver([upstream], clock: clock, families: .both)
        _ = try await resolver.resolve(Self.www)
        clock.advance(by: .seconds(59))
        #expect(try await resolver.resolve(Self.www).source == .cached)
    }

    @Test("a failed endpoint comes last, and a refresh follows when all endpoints have failed")
    func reports() async throws {
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1 192.0.2.2")), .answer(v4("192.0.2.3")))
        let resolver = Self.resolver([upstream])
        let endpoints = try await resolver.resolve(Self.www).endpoints
        resolver.report(.failed, at: endpoints[0], for: Self.www)
        #expect(try await resolver.resolve(Self.www).addresses == addresses("192.0.2.2 192.0.2.1"))
        resolver.report(.connected(after: .milliseconds(3)), at: endpoints[0], for: Self.www)
        #expect(try await resolver.resolve(Self.www).addresses == addresses("192.0.2.1 192.0.2.2"))
        for endpoint in endpoints { resolver.report(.failed, at: endpoint, for: Self.www) }
        #expect(try await resolver.resolve(Self.www).addresses == addresses("192.0.2.3"))
        #expect(upstream.questions.count == 2)
    }

    @Test("an upstream that is down is skipped until a probe succeeds")
    func health() async throws {
        let clock = ManualClock()
        let first = ScriptedUpstream("one", .fail(Self.failure), .fail(Self.failure), .fail(Self.failure))
        let second = ScriptedUpstream("two") { _ in .answer(v4("192.0.2.2")) }
        let resolver = Self.resolver([first, second], clock: clock)
        for index in 0..<5 {
            #expect(try await resolver.resolve(host("n\(index).example")).upstream == "two")
        }
        #expect(first.questions.count == 3)
        clock.advance(by: .seconds(30))
        first.add(.answer(v4("192.0.2.1")))
        #expect(try await resolver.resolve(host("n5.example")).upstream == "two")
        await until { first.questions.count == 4 }
        await resolver.waitUntilIdle()
        first.add(.answer(v4("192.0.2.1")))
        #expect(try await resolver.resolve(host("n6.example")).upstream == "one")
    }

    @Test("a prefetch asks only for unknown names, a few at a time")
    func prefetch() async throws {
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1")) }
        let resolver = Self.resolver([upstream]) { $0.limits.prefetchWidth = 2 }
        let hosts = (0..<20).map { host("n\($0).example") }
        await resolver.prefetch(hosts)
        await resolver.prefetch(hosts)
        #expect(upstream.questions.count == 20)
        #expect(resolver.cached(hosts[7])?.source == .cached)
    }

    @Test("names above the limit of concurrent lookups are refused")
    func tooMany() async throws {
        let gate = Gate()
        let upstream = ScriptedUpstream("one") { _ in .hold(gate, v4("192.0.2.1")) }
        let resolver = Self.resolver([upstream]) { $0.limits.maxLookups = 1 }
        async let first = resolver.resolve(host("a.example"))
        try await gate.arrivals(atLeast: 1)
        let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(host("b.example")) }
        #expect(error?.code == .tooManyLookups)
        gate.open()
        _ = try await first
    }

    @Test("a flood that takes all lookups does not cost an answer past its TTL")
    func staleWithoutRoom() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")), .hold(gate, v4("192.0.2.2")))
        let resolver = Self.resolver([upstream], clock: clock) { $0.limits.maxLookups = 1 }
        _ = try await resolver.resolve(host("a.example"))
        clock.advance(by: .seconds(61))
        #expect(resolver.hasRoom(host("b.example"), families: .v4, subnet: nil, leavesReserve: false))
        async let other = resolver.resolve(host("b.example"))
        try await gate.arrivals(atLeast: 1)
        #expect(!resolver.hasRoom(host("a.example"), families: .v4, subnet: nil, leavesReserve: false))
        #expect(resolver.hasRoom(host("b.example"), families: .v4, subnet: nil, leavesReserve: false))
        #expect(resolver.stale(host("a.example"), families: .v4, subnet: nil)?.source == .stale)
        #expect(try await resolver.resolve(host("a.example")).source == .stale)
        gate.open()
        _ = try await other
    }

    @Test("a fresh answer is refused, not taken from the cache, while a flood takes all lookups")
    func freshWithoutRoom() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")), .hold(gate, v4("192.0.2.2")))
        let resolver = Self.resolver([upstream], clock: clock) { $0.limits.maxLookups = 1 }
        _ = try await resolver.resolve(host("a.example"))
        async let other = resolver.resolve(host("b.example"))
        try await gate.arrivals(atLeast: 1)
        let error = await #expect(throws: ResolutionError.self) {
            try await resolver.resolve(host("a.example"), fresh: true)
        }
        #expect(error?.code == .tooManyLookups)
        gate.open()
        _ = try await other
    }

    @Test("a forgotten name is asked for again")
    func forget() async throws {
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1")) }
        let resolver = Self.resolver([upstream])
        _ = try await resolver.resolve(Self.www)
        resolver.forget(Self.www)
        _ = try await resolver.resolve(Self.www)
        resolver.forgetAll()
        #expect(resolver.cachedNames == 0)
        _ = try await resolver.resolve(Self.www)
        #expect(upstream.questions.count == 3)
    }

    @Test("a shutdown ends callers and questions, and returns when no question is running")
    func shutDown() async throws {
        let upstream = ScriptedUpstream("one", .silence)
        let resolver = Self.resolver([upstream])
        let caller = Task { try await resolver.resolve(Self.www) }
        await until { upstream.questions.count == 1 }
        await resolver.shutDown()
        let error = await #expect(throws: ResolutionError.self) { try await caller.value }
        #expect(error?.code == .shutDown)
        #expect(upstream.cancelled == 1)
        let late = await #expect(throws: ResolutionError.self) { try await resolver.resolve(Self.www) }
        #expect(late?.code == .shutDown)
    }

    @Test("without upstreams the system is asked, and without the system there is an error")
    func noUpstreams() async throws {
        let system = ScriptedUpstream("system", kind: .system, .answer(v4("192.0.2.1", ttl: nil)))
        #expect(try await Self.resolver([], system: system).resolve(Self.www).source == .system)
        let error = await #expect(throws: ResolutionError.self) { try await Self.resolver([]).resolve(Self.www) }
        #expect(error?.code == .allUpstreamsFailed)
    }
}

/// An upstream that answers one family per question, with a gate for one of the families.
struct FamilyUpstream: Upstream {
    let name = "family"
    let answersOneFamily = true
    let now: Answer
    let late: (family: IPAddress.Family, gate: Gate, answer: Answer)

    init(_ now: Answer, late: (IPAddress.Family, Gate, Answer)) {
        self.now = now
        self.late = late
    }

    func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        var answer = Answer()
        for family in question.families.members {
            if family == late.family {
                _ = try? await late.gate.wait()
                answer[family] = late.answer[family]
            } else {
                answer[family] = now[family]
            }
        }
        return answer
    }
}
