// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import Names
import Testing

@Suite("The resolver: order and failures of upstreams")
struct ResolverFailureTests {
    @Test("upstreams are asked in order, and the result lists the failures before it")
    func fallback() async throws {
        let first = ScriptedUpstream("one", .fail(ResolverLab.failure))
        let second = ScriptedUpstream("two", .answer(v4("127.0.0.1")))
        let third = ScriptedUpstream("three", .answer(v4("192.0.2.3")))
        let resolver = ResolverLab.resolver([first, second, third])
        let resolution = try await resolver.resolve(ResolverLab.www)
        #expect(resolution.upstream == "three")
        #expect(resolution.failures.map(\.upstream) == ["one", "two"])
        #expect(resolution.failures.map(\.error.code) == [.unreachable, .bogusAnswer])
        #expect(resolver.cached(ResolverLab.www)?.failures.count == 2)
    }

    @Test("the error names every upstream and its failure")
    func allFail() async throws {
        let resolver = ResolverLab.resolver([
            ScriptedUpstream("one", .fail(ResolverLab.failure)),
            ScriptedUpstream("two", .fail(UpstreamError(.lookupFailed, "no"))),
        ])
        let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(ResolverLab.www) }
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
        let upstream = ScriptedUpstream("one", .fail(ResolverLab.failure), .answer(v4("192.0.2.1")))
        let resolver = ResolverLab.resolver([upstream], clock: clock)
        for _ in 0..<3 {
            let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(ResolverLab.www) }
            #expect(error?.failures.count == 1)
        }
        #expect(resolver.questionsSent == 1)
        clock.advance(by: .seconds(1))
        #expect(try await resolver.resolve(ResolverLab.www).source == .fresh)
    }

    @Test("two errors for a name that does not exist are equal, although the time that remains in the cache differs")
    func equalErrors() async throws {
        let clock = ManualClock()
        let absent = Answer.Records.absent(.noName, ttl: .seconds(60))
        let upstream = ScriptedUpstream("one") { _ in .answer(Answer(v4: absent)) }
        let resolver = ResolverLab.resolver([upstream], clock: clock)
        let first = await #expect(throws: ResolutionError.self) { try await resolver.resolve(ResolverLab.www) }
        clock.advance(by: .seconds(10))
        let second = await #expect(throws: ResolutionError.self) { try await resolver.resolve(ResolverLab.www) }
        #expect(first?.ttl == .seconds(60) && second?.ttl == .seconds(50))
        #expect(first == second && first?.hashValue == second?.hashValue)
    }

    @Test("a bogus address is refused with an error that names it and its upstream, unless it is allowed")
    func bogus() async throws {
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("127.0.0.1")) }
        let error = await #expect(throws: ResolutionError.self) {
            try await ResolverLab.resolver([upstream]).resolve(ResolverLab.www)
        }
        #expect(error?.code == .bogusAnswer)
        #expect(error?.message.contains("one: 127.0.0.1 ") == true)
        let lenient = ResolverLab.resolver([upstream]) { $0.check.allowsLocalAnswers = true }
        #expect(try await lenient.resolve(ResolverLab.www).addresses == addresses("127.0.0.1"))
    }

    @Test("a silent upstream is replaced by the next one after its time budget")
    func budget() async throws {
        let clock = ManualClock()
        let silent = ScriptedUpstream("silent", .silence)
        let second = ScriptedUpstream("two", .answer(v4("192.0.2.1")))
        let resolver = ResolverLab.resolver([silent, second], clock: clock)
        async let resolution = resolver.resolve(ResolverLab.www)
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(2))
        #expect(try await resolution.upstream == "two")
        #expect(try await resolution.failures.map(\.error.code) == [.timeLimit])
        await until { silent.cancelled == 1 }
    }

    @Test("when no upstream answers, an expired answer is used for a limited time")
    func staleIfError() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1", ttl: 60)))
        let resolver = ResolverLab.resolver([upstream], clock: clock)
        _ = try await resolver.resolve(ResolverLab.www)
        clock.advance(by: .seconds(3_600))
        upstream.add(.fail(ResolverLab.failure))
        let stale = try await resolver.resolve(ResolverLab.www)
        #expect(stale.source == .stale)
        #expect(stale.addresses == addresses("192.0.2.1"))
        clock.advance(by: .seconds(43_200))
        upstream.add(.fail(ResolverLab.failure))
        let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(ResolverLab.www) }
        #expect(error?.code == .allUpstreamsFailed)
        #expect(resolver.cached(ResolverLab.www) == nil)
    }

    @Test("an upstream that is down is skipped until a probe succeeds")
    func health() async throws {
        let clock = ManualClock()
        let first = ScriptedUpstream(
            "one",
            .fail(ResolverLab.failure),
            .fail(ResolverLab.failure),
            .fail(ResolverLab.failure)
        )
        let second = ScriptedUpstream("two") { _ in .answer(v4("192.0.2.2")) }
        let resolver = ResolverLab.resolver([first, second], clock: clock)
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

    @Test("a failed endpoint comes last, and a refresh follows when all endpoints have failed")
    func reports() async throws {
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1 192.0.2.2")), .answer(v4("192.0.2.3")))
        let resolver = ResolverLab.resolver([upstream])
        let endpoints = try await resolver.resolve(ResolverLab.www).endpoints
        resolver.report(.failed, at: endpoints[0], for: ResolverLab.www)
        #expect(try await resolver.resolve(ResolverLab.www).addresses == addresses("192.0.2.2 192.0.2.1"))
        resolver.report(.connected(after: .milliseconds(3)), at: endpoints[0], for: ResolverLab.www)
        #expect(try await resolver.resolve(ResolverLab.www).addresses == addresses("192.0.2.1 192.0.2.2"))
        for endpoint in endpoints { resolver.report(.failed, at: endpoint, for: ResolverLab.www) }
        #expect(try await resolver.resolve(ResolverLab.www).addresses == addresses("192.0.2.3"))
        #expect(upstream.questions.count == 2)
    }
}
