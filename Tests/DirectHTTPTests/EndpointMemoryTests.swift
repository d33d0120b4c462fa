// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names
import Testing

@testable import DirectHTTP

@Suite("Memory of failed endpoints")
struct EndpointMemoryTests {
    static let (a, b, c) = (endpoint(1), endpoint(2), endpoint(3))
    static func endpoint(_ last: UInt32) -> Endpoint { Endpoint(IPAddress(v4: 0xc000_0200 + last), port: 443) }
    static func origin(_ name: String) throws -> Origin { Origin(scheme: .https, host: try Host(name)) }

    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private func failed(_ endpoint: Endpoint, connect: Duration? = nil) -> Attempt {
        Attempt(endpoint: endpoint, outcome: .failed(.connectFailed, "refused"), connect: connect)
    }

    private func memory(bound: Int = 1024) -> EndpointMemory {
        var settings = DialSettings()
        settings.rememberedFailures = bound
        return EndpointMemory(settings)
    }

    @Test("a pause that overflows the clock or is negative does not trap", arguments: [Int64.max, -1])
    func extremePauses(_ seconds: Int64) throws {
        var settings = DialSettings()
        settings.failurePause = .seconds(seconds)
        var memory = EndpointMemory(settings)
        let origin = try Self.origin("a.test")
        for _ in 0..<5 { memory.record(failed(Self.a), of: origin, now: start) }
        let order = memory.ordered([Self.a, Self.b], for: origin, now: start + .hours(1_000_000))
        #expect(order == (seconds > 0 ? [Self.b, Self.a] : [Self.a, Self.b]))
    }

    @Test("a failure moves an endpoint to the end for a time that doubles, and a success clears it")
    func decays() throws {
        let (a, b, c) = (Self.a, Self.b, Self.c)
        let origin = try Self.origin("a.test")
        var memory = memory()
        memory.record(failed(a), of: origin, now: start)
        #expect(memory.ordered([a, b, c], for: origin, now: start) == [b, c, a])
        #expect(memory.ordered([a, b, c], for: origin, now: start + .seconds(31)) == [a, b, c])
        memory.record(failed(a), of: origin, now: start + .seconds(31))
        #expect(memory.ordered([a, b], for: origin, now: start + .seconds(85)) == [b, a], "twice as long")
        memory.record(Attempt(endpoint: a, outcome: .connected), of: origin, now: start + .seconds(85))
        #expect(memory.ordered([a, b], for: origin, now: start + .seconds(85)) == [a, b])
        #expect(memory.count == 0)
    }

    @Test("if all endpoints failed, all are tried, in the order in which their pauses end")
    func allFailed() throws {
        let origin = try Self.origin("a.test")
        var memory = memory()
        memory.record(failed(Self.b), of: origin, now: start)
        memory.record(failed(Self.a), of: origin, now: start + .seconds(1))
        #expect(memory.ordered([Self.a, Self.b], for: origin, now: start + .seconds(2)) == [Self.b, Self.a])
    }

    @Test("a wrong certificate counts against the endpoint for its origin only, and a refused connection for all")
    func scopes() throws {
        var memory = memory()
        let (one, two) = (try Self.origin("a.test"), try Self.origin("b.test"))
        memory.record(failed(Self.a, connect: .zero), of: one, now: start)
        #expect(memory.ordered([Self.a, Self.b], for: one, now: start) == [Self.b, Self.a])
        #expect(memory.ordered([Self.a, Self.b], for: two, now: start) == [Self.a, Self.b])
        memory.record(failed(Self.a), of: one, now: start)
        #expect(memory.ordered([Self.a, Self.b], for: two, now: start) == [Self.b, Self.a])
    }

    @Test("an endpoint that stays silent while another connects counts as failed, and a slower one does not")
    func silence() throws {
        let origin = try Self.origin("a.test")
        for (winnerStart, isFailed) in [(Duration.milliseconds(250), true), (.milliseconds(249), false)] {
            var memory = memory()
            var silent = Attempt(endpoint: Self.a, outcome: .abandoned)
            let winner = Attempt(endpoint: Self.b, outcome: .connected, start: winnerStart)
            silent.lose(to: winner, stagger: .milliseconds(250))
            for attempt in [winner, silent] { memory.record(attempt, of: origin, now: start) }
            #expect((memory.ordered([Self.a, Self.b], for: origin, now: start) == [Self.b, Self.a]) == isFailed)
        }
    }

    @Test("the memory keeps its bound, and forgets the failure that ends first")
    func bound() throws {
        let origin = try Self.origin("a.test")
        var memory = memory(bound: 2)
        for (offset, endpoint) in [Self.a, Self.b, Self.c].enumerated() {
            memory.record(failed(endpoint), of: origin, now: start + .seconds(Int64(offset)))
        }
        #expect(memory.count == 2)
        #expect(
            memory.ordered([Self.c, Self.b, Self.a], for: origin, now: start + .seconds(3)) == [Self.a, Self.b, Self.c]
        )
        var nothing = self.memory(bound: 0)
        nothing.record(failed(Self.a), of: origin, now: start)
        #expect(nothing.count == 0)
    }
}
