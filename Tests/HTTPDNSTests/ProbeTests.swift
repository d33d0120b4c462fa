// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOConcurrencyHelpers
import Names
import Testing

@testable import HTTPDNS

@Suite("Probes of upstreams that are down", .timeLimit(.minutes(1)))
struct ProbeTests {
    /// A resolver with an upstream that fails while `isUp` is false.
    private static func resolver(
        isUp: NIOLockedValueBox<Bool>,
        table: FixedUpstream? = nil,
        system: ScriptedUpstream? = nil,
        clock: ManualClock,
        _ change: (inout ResolverConfiguration) -> Void = { _ in }
    ) -> Resolver {
        let upstream = ScriptedUpstream("away") { _ in
            isUp.withLockedValue { $0 }
                ? .answer(v4("192.0.2.1")) : .fail(UpstreamError(.unreachable, "is away"))
        }
        var upstreams: [any Upstream] = [upstream]
        if let table { upstreams.insert(table, at: 0) }
        var configuration = ResolverConfiguration(upstreams: upstreams, system: system)
        configuration.families = .v4
        configuration.network.monitor = nil
        change(&configuration)
        return Resolver(configuration, clock: clock)
    }

    @Test("a table does not make a resolver able to ask while its services are down")
    func table() async throws {
        let isUp = NIOLockedValueBox(false)
        let clock = ManualClock()
        let table = FixedUpstream(HostsTable(parsing: "192.0.2.9 t.example"))
        let resolver = Self.resolver(isUp: isUp, table: table, clock: clock)
        #expect(resolver.canAsk)
        for number in 0..<3 { _ = try? await resolver.resolve(host("n\(number).example")) }
        #expect(!resolver.canAsk)
        #expect(try await resolver.resolve(host("t.example")).addresses == addresses("192.0.2.9"))
        #expect(!resolver.canAsk)
        // The resolver asks for a name of its own after the last failure.
        await resolver.waitUntilIdle()
        isUp.withLockedValue { $0 = true }
        clock.advance(by: .seconds(1))
        resolver.probe()
        await until { resolver.canAsk }
        await resolver.shutDown()
    }

    @Test(
        "a table does not keep the first question after an outage from the only service",
        arguments: [UpstreamOrder.sequence, .hedge, .race(2), .weighted]
    )
    func tableAfterOutage(_ order: UpstreamOrder) async throws {
        let isUp = NIOLockedValueBox(false)
        let clock = ManualClock()
        let table = FixedUpstream(HostsTable(parsing: "192.0.2.9 t.example"))
        let resolver = Self.resolver(isUp: isUp, table: table, clock: clock) { $0.order = order }
        for number in 0..<3 { _ = try? await resolver.resolve(host("n\(number).example")) }
        #expect(!resolver.canAsk)
        // The resolver asks for a name of its own after the last failure.
        await resolver.waitUntilIdle()
        isUp.withLockedValue { $0 = true }
        clock.advance(by: .seconds(1))
        #expect(try await resolver.resolve(host("n9.example")).addresses == addresses("192.0.2.1"))
        #expect(resolver.canAsk)
        await resolver.shutDown()
    }

    @Test("a probe reaches the upstream although the policy keeps other names from it, and not the system")
    func policy() async throws {
        let isUp = NIOLockedValueBox(false)
        let clock = ManualClock()
        let system = ScriptedUpstream("system", kind: .system)
        let resolver = Self.resolver(isUp: isUp, system: system, clock: clock) {
            $0.names.allowed = ["corp.example"]
        }
        for number in 0..<3 { _ = try? await resolver.resolve(host("n\(number).corp.example")) }
        #expect(!resolver.canAsk)
        // The resolver asks for a name of its own after the last failure.
        await resolver.waitUntilIdle()
        isUp.withLockedValue { $0 = true }
        clock.advance(by: .seconds(1))
        resolver.probe()
        await until { resolver.canAsk }
        #expect(system.questions.isEmpty)
        await resolver.shutDown()
    }

    @Test("a name whose own servers are silent does not take the only upstream from other names")
    func silentName() async throws {
        let clock = ManualClock()
        let dead = host("dead.example")
        let upstream = ScriptedUpstream("one") { $0.host == dead ? .silence : .answer(v4("192.0.2.1")) }
        var configuration = ResolverConfiguration(upstreams: [upstream], system: nil)
        configuration.families = .v4
        configuration.network.monitor = nil
        let resolver = Resolver(configuration, clock: clock)
        for number in 1...3 {
            // The failure is cached for a second.
            clock.advance(by: .seconds(2))
            let lost = Task { try await resolver.resolve(dead) }
            await until { upstream.questions.count == number && clock.sleeperCount > 0 }
            clock.advance(by: .seconds(2))
            await #expect(throws: ResolutionError.self) { try await lost.value }
        }
        // The third timeout takes the upstream out of use, and the answer for another name brings it back.
        await until { upstream.questions.count == 4 && resolver.canAsk }
        #expect(try await resolver.resolve(host("n.example")).addresses == addresses("192.0.2.1"))
        await resolver.shutDown()
    }

    @Test("a name whose answer is malformed does not take the only upstream from other names")
    func malformedName() async throws {
        let upstream = ScriptedUpstream("one") { question in
            question.host.text.hasPrefix("bad")
                ? .fail(UpstreamError(.malformedAnswer, "cut")) : .answer(v4("192.0.2.1"))
        }
        var configuration = ResolverConfiguration(upstreams: [upstream], system: nil)
        configuration.families = .v4
        configuration.network.monitor = nil
        let resolver = Resolver(configuration, clock: ManualClock())
        for number in 0..<3 { _ = try? await resolver.resolve(host("bad\(number).example")) }
        await until { upstream.questions.count == 4 && resolver.canAsk }
        #expect(try await resolver.resolve(host("n.example")).addresses == addresses("192.0.2.1"))
        await resolver.shutDown()
    }

    @Test("an upstream that stays silent is not asked again without a question of a program")
    func silentUpstream() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one") { _ in .silence }
        var configuration = ResolverConfiguration(upstreams: [upstream], system: nil)
        configuration.families = .v4
        configuration.network.monitor = nil
        let resolver = Resolver(configuration, clock: clock)
        for number in 1...3 {
            let lost = Task { try await resolver.resolve(host("n\(number).example")) }
            await until { upstream.questions.count == number && clock.sleeperCount > 0 }
            clock.advance(by: .seconds(2))
            await #expect(throws: ResolutionError.self) { try await lost.value }
        }
        await until { upstream.questions.count == 4 && clock.sleeperCount > 0 }
        clock.advance(by: .seconds(2))
        await resolver.waitUntilIdle()
        #expect(upstream.questions.map(\.host.text).last == "a.root-servers.net")
        #expect(upstream.questions.count == 4)
        #expect(!resolver.canAsk)
        await resolver.shutDown()
    }
}
