// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import Names
import Testing

@Suite("The resolver: callers that share a lookup")
struct ResolverSharingTests {
    /// Once, a caller that missed the cache just before the answer arrived joined no lookup and asked again.
    @Test("a caller that looks while the answer arrives gets it without a second question")
    func nobodyAsksTwice() async throws {
        let resolver = ResolverLab.resolver([ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1")) }])
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
        let resolver = ResolverLab.resolver([upstream])
        try await withThrowingTaskGroup(of: Resolution.self) { group in
            for _ in 0..<50 { group.addTask { try await resolver.resolve(ResolverLab.www) } }
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
        let resolver = ResolverLab.resolver([upstream])
        let leaver = Task { try await resolver.resolve(ResolverLab.www) }
        try await gate.arrivals(atLeast: 1)
        let stayer = Task { try await resolver.resolve(ResolverLab.www) }
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
        let resolver = ResolverLab.resolver([ScriptedUpstream("one", .hold(gate, v4("192.0.2.1")))])
        var callers: [Task<Resolution, any Error>] = []
        for count in 1...9 {
            callers.append(Task { try await resolver.resolve(ResolverLab.www) })
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
        let resolver = ResolverLab.resolver([upstream])
        let caller = Task { try await resolver.resolve(ResolverLab.www) }
        try await gate.arrivals(atLeast: 1)
        caller.cancel()
        _ = await #expect(throws: ResolutionError.self) { try await caller.value }
        await until { upstream.cancelled == 1 }
        #expect(try await resolver.resolve(ResolverLab.www).addresses == addresses("192.0.2.2"))
    }

    @Test("a task that was cancelled before it asks gets an error at once")
    func cancelledBefore() async {
        let resolver = ResolverLab.resolver([ScriptedUpstream("one") { _ in .silence }])
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await resolver.resolve(ResolverLab.www)
        }
        let error = await #expect(throws: ResolutionError.self) { try await task.value }
        #expect(error?.code == .cancelled)
    }

    @Test("cached() returns at once and refreshes in the background")
    func cachedRefreshesBehind() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1", ttl: 60)), .answer(v4("192.0.2.2", ttl: 60)))
        let resolver = ResolverLab.resolver([upstream], clock: clock)
        #expect(resolver.cached(ResolverLab.www) == nil)
        await until { resolver.cachedNames == 1 }
        #expect(resolver.cached(ResolverLab.www)?.addresses == addresses("192.0.2.1"))
        clock.advance(by: .seconds(90))
        let stale = try #require(resolver.cached(ResolverLab.www))
        #expect(stale.source == .stale)
        #expect(stale.ttl == .seconds(-30))
        #expect(stale.age == .seconds(90))
        await until { resolver.cached(ResolverLab.www)?.source == .cached }
        #expect(resolver.cached(ResolverLab.www)?.addresses == addresses("192.0.2.2"))
    }

    @Test("a prefetch asks only for unknown names, a few at a time")
    func prefetch() async throws {
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1")) }
        let resolver = ResolverLab.resolver([upstream]) { $0.limits.prefetchWidth = 2 }
        let hosts = (0..<20).map { host("n\($0).example") }
        await resolver.prefetch(hosts)
        await resolver.prefetch(hosts)
        #expect(upstream.questions.count == 20)
        #expect(resolver.cached(hosts[7])?.source == .cached)
    }

    @Test("a shutdown ends callers and questions, and returns when no question is running")
    func shutDown() async throws {
        let upstream = ScriptedUpstream("one", .silence)
        let resolver = ResolverLab.resolver([upstream])
        let caller = Task { try await resolver.resolve(ResolverLab.www) }
        await until { upstream.questions.count == 1 }
        await resolver.shutDown()
        let error = await #expect(throws: ResolutionError.self) { try await caller.value }
        #expect(error?.code == .shutDown)
        #expect(upstream.cancelled == 1)
        let late = await #expect(throws: ResolutionError.self) { try await resolver.resolve(ResolverLab.www) }
        #expect(late?.code == .shutDown)
    }
}
