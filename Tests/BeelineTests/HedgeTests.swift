// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

@testable import Beeline

@Suite("Hedged requests", .timeLimit(.minutes(1)))
struct HedgeTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let events: [HedgePlan.Event]
        let actions: [HedgePlan.Action]
    }

    static let rows: [Row] = [
        Row(testDescription: "an answer in time is taken", events: [.answered(0)], actions: [.take(0)]),
        Row(testDescription: "a failure in time is the result", events: [.failed(0)], actions: [.take(0)]),
        Row(
            testDescription: "the first response wins, even if the second request gets it",
            events: [.delayPassed, .answered(1)],
            actions: [.send(1), .take(1)]
        ),
        Row(
            testDescription: "one failure waits for the other",
            events: [.delayPassed, .failed(1), .answered(0)],
            actions: [.send(1), .wait, .take(0)]
        ),
        Row(
            testDescription: "both fail: the later error is reported",
            events: [.delayPassed, .failed(0), .failed(1)],
            actions: [.send(1), .wait, .take(1)]
        ),
        Row(testDescription: "there is no third", events: [.delayPassed, .delayPassed], actions: [.send(1), .wait]),
    ]

    @Test("the plan decides which request is sent and which response is taken", arguments: rows)
    func plan(_ row: Row) {
        var plan = HedgePlan()
        #expect(row.events.map { plan.event($0) } == row.actions)
    }

    @Test(
        "a slow first request is overtaken by the second and cancelled, and the pool stays usable",
        arguments: ["http/1.1", "h2"]
    )
    func overtakes(_ proto: String) async throws {
        let clock = ManualClock()
        let gate = Gate()
        let first = NIOLockedValueBox(true)
        let lab = try await ClientLab(protocols: [proto], clock: clock) { request in
            let isFirst = first.withLockedValue { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            // The handler waits before the response's head.
            if isFirst { try await gate.wait() }
            return .text(isFirst ? "slow" : "fast")
        }
        var options = RequestOptions()
        options.hedge = HedgePolicy(delay: .milliseconds(150))
        async let response = lab.client.get(lab.url("a.test"), options: options)
        try await gate.arrivals(atLeast: 1)
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .milliseconds(150))
        let winner = try await response
        #expect(try await winner.text() == "fast")
        gate.open()
        for _ in 0..<3 { #expect(try await lab.client.get(lab.url("a.test")).text() == "fast") }
        if proto == "h2" {
            #expect(lab.site.connections.accepted == 1, "the loser's stream was reset, and its connection stays open")
        } else {
            _ = try await lab.site.connections(until: { $0.open == 1 })
        }
        await lab.stop()
    }

    @Test("a request that is not safe to repeat is sent once, however slow it is")
    func postIsNotHedged() async throws {
        let clock = ManualClock()
        let lab = try await ClientLab(clock: clock, configure: { $0.hedge = HedgePolicy(delay: .zero) }) {
            .text($0.text)
        }
        #expect(try await lab.client.post(lab.url("a.test"), body: .bytes("x".utf8)).text() == "x")
        #expect(lab.site.requests.count == 1 && clock.sleeperCount == 0)
        await lab.stop()
    }

    @Test(
        "the second request goes to another address than the first, because that address may be slow",
        arguments: ["http/1.1", "h2"]
    )
    func goesElsewhere(_ proto: String) async throws {
        let clock = ManualClock()
        let gate = Gate()
        let slow = try #require(IPAddress("127.0.0.1"))
        let fast = try #require(IPAddress("127.0.0.2"))
        let lab = try await ClientLab(
            protocols: [proto],
            clock: clock,
            configure: {
                $0.hedge = HedgePolicy(delay: .milliseconds(150))
                $0.engine.dial.stagger = .seconds(10)
                $0.engine.dial.handshakeStagger = .seconds(10)
                $0.pinned[.init(try Host("a.test"))] = [slow, fast]
            },
            handler: { request in
                if request.connection.local.address == slow { try await gate.wait() }
                return .text("\(request.connection.local.address)")
            }
        )
        // The third round reuses the connection of the second.
        for round in 1...3 {
            async let response = lab.client.get(lab.url("a.test"))
            if round == 1 || proto == "h2" {
                try await gate.arrivals(atLeast: round)
                try await clock.sleepers(atLeast: 1)
                clock.advance(by: .milliseconds(150))
            }
            let winner = try await response
            #expect(winner.endpoint.address == fast)
            #expect(try await winner.text() == "127.0.0.2")
        }
        #expect(lab.site.connections.accepted == 2)
        gate.open()
        await lab.stop()
    }

    @Test("a delay of .seconds(.max), which the clock cannot measure, sends no second request")
    func endlessDelay() async throws {
        let policy = HedgePolicy(delay: .seconds(Int64.max))
        let lab = try await ClientLab(configure: { $0.hedge = policy }) { _ in .text("ok") }
        #expect(try await lab.client.get(lab.url("a.test")).text() == "ok")
        #expect(lab.site.requests.count == 1)
        await lab.stop()
    }

    @Test("a call that is cancelled before the delay passes sends no second request")
    func leaves() async throws {
        let clock = ManualClock()
        let gate = Gate()
        let lab = try await ClientLab(
            clock: clock,
            configure: { $0.hedge = HedgePolicy(delay: .seconds(1)) },
            handler: { _ in
                try await gate.wait()
                return .text("late")
            }
        )
        let call = Task { try await lab.client.get(lab.url("a.test")) }
        try await gate.arrivals(atLeast: 1)
        call.cancel()
        let error = await #expect(throws: BeelineError.self) { _ = try await call.value }
        #expect(error?.code == .cancelled)
        _ = try await lab.site.connections(until: { $0.open == 0 })
        #expect(lab.site.connections.accepted == 1 && lab.site.requests.count == 1)
        gate.open()
        await lab.stop()
    }
}
