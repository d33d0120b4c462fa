// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import Names
import Testing

@Suite("The resolver: limits of lookups")
struct ResolverLimitTests {
    @Test("names above the limit of concurrent lookups are refused")
    func tooMany() async throws {
        let gate = Gate()
        let upstream = ScriptedUpstream("one") { _ in .hold(gate, v4("192.0.2.1")) }
        let resolver = ResolverLab.resolver([upstream]) { $0.limits.maxLookups = 1 }
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
        let resolver = ResolverLab.resolver([upstream], clock: clock) { $0.limits.maxLookups = 1 }
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
        let resolver = ResolverLab.resolver([upstream], clock: clock) { $0.limits.maxLookups = 1 }
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
}
