// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import DirectHTTP

@Suite("Race plan (RFC 8305)")
struct RacePlanTests {
    var plan = RacePlan(count: 3, stagger: .milliseconds(250), handshakeStagger: .seconds(2))

    private func at(_ milliseconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .milliseconds(milliseconds) }

    @Test("a silent endpoint is raced by the next one after the stagger")
    mutating func stagger() {
        #expect(plan.handle(.start, now: at(0)) == [.dial(0), .wake(at(250))])
        #expect(plan.handle(.timer, now: at(250)) == [.dial(1), .wake(at(500))])
        #expect(plan.handle(.connected(1), now: at(260)) == [.handshake(1), .wake(at(2260))])
    }

    @Test("a refused connection starts the next endpoint at once")
    mutating func refused() {
        #expect(plan.handle(.start, now: at(0)) == [.dial(0), .wake(at(250))])
        #expect(plan.handle(.failed(0), now: at(1)) == [.dial(1), .wake(at(251))])
        #expect(plan.handle(.failed(1), now: at(2)) == [.dial(2)])
        #expect(plan.handle(.failed(2), now: at(3)) == [.giveUp])
    }

    @Test("a limit of attempts ends the oldest one before the next begins, and the last ones keep their time")
    mutating func limit() {
        plan = RacePlan(count: 4, limit: 2, stagger: .milliseconds(250), handshakeStagger: .seconds(2))
        #expect(plan.handle(.start, now: at(0)) == [.dial(0), .wake(at(250))])
        #expect(plan.handle(.timer, now: at(250)) == [.dial(1), .wake(at(500))])
        #expect(plan.handle(.timer, now: at(500)) == [.drop(0), .dial(2), .wake(at(750))])
        #expect(plan.handle(.failed(1), now: at(600)) == [.dial(3)])
        #expect(plan.handle(.failed(3), now: at(700)).isEmpty)
        #expect(plan.handle(.failed(2), now: at(800)) == [.giveUp], "a dropped attempt counts as failed")
    }

    @Test("after a failed handshake a connected endpoint is used before another one is dialled")
    mutating func reserve() {
        _ = plan.handle(.start, now: at(0))
        _ = plan.handle(.timer, now: at(250))
        #expect(plan.handle(.connected(0), now: at(260)) == [.handshake(0), .wake(at(2260))])
        #expect(plan.handle(.connected(1), now: at(270)).isEmpty)
        #expect(plan.handle(.failed(0), now: at(300)) == [.handshake(1), .wake(at(2300))])
        #expect(plan.handle(.failed(1), now: at(310)) == [.dial(2)])
        #expect(plan.handle(.failed(2), now: at(320)) == [.giveUp])
    }

    @Test("a handshake that hangs is raced by the next endpoint after its stagger")
    mutating func handshakeStagger() {
        _ = plan.handle(.start, now: at(0))
        _ = plan.handle(.connected(0), now: at(10))
        #expect(plan.handle(.timer, now: at(250)) == [.wake(at(2010))], "an early timer changes nothing")
        #expect(plan.handle(.timer, now: at(2010)) == [.dial(1), .wake(at(2260))])
        #expect(plan.handle(.connected(1), now: at(2020)).isEmpty == false, "the rival may shake hands too")
    }

    @Test("an endpoint that fails beside a handshake that has had its time is followed by the next one at once")
    mutating func failedBesideHandshake() {
        _ = plan.handle(.start, now: at(0))
        _ = plan.handle(.connected(0), now: at(10))
        #expect(plan.handle(.timer, now: at(2010)) == [.dial(1), .wake(at(2260))])
        #expect(plan.handle(.failed(1), now: at(2020)) == [.dial(2)])
        #expect(plan.handle(.failed(2), now: at(2030)).isEmpty, "the handshake may still end")
        #expect(plan.handle(.failed(0), now: at(2040)) == [.giveUp])
    }
}
