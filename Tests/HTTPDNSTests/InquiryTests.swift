// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("Inquiries")
struct InquiryTests {
    static func candidate(_ index: Int, oneFamily: Bool = false, hedge: Duration? = nil) -> Inquiry.Candidate {
        Inquiry.Candidate(upstream: index, answersOneFamily: oneFamily, budget: .seconds(2), hedgeAfter: hedge)
    }

    /// An inquiry on time that the test moves, with what it did as words.
    struct Run {
        var inquiry: Inquiry
        var log: [String] = []
        var now = Moment(nanoseconds: 0)

        init(_ candidates: [Inquiry.Candidate], atOnce: Int = 1, families: Families = .both) {
            let plan = Inquiry.Plan(
                candidates: candidates,
                atOnce: atOnce,
                limit: .seconds(5),
                resolutionDelay: .milliseconds(50)
            )
            inquiry = Inquiry(plan, families: families, now: now)
            note(inquiry.start(now: now).actions)
        }

        mutating func at(_ milliseconds: Int, _ event: Inquiry.Event) {
            now = Moment(nanoseconds: Int64(milliseconds) * 1_000_000)
            note(inquiry.event(event, now: now).actions)
        }

        /// Ticks whenever a tick is due, until the time given.
        mutating func ticks(until milliseconds: Int) {
            let end = Moment(nanoseconds: Int64(milliseconds) * 1_000_000)
            while inquiry.nextTick <= end {
                now = inquiry.nextTick
                note(inquiry.event(.tick, now: now).actions)
            }
        }

        mutating func note(_ actions: [Inquiry.Action]) {
            let time = now.nanoseconds / 1_000_000
            for action in actions {
                switch action {
                case .ask(let upstream, let families): log.append("\(time) ask \(upstream) \(families)")
                case .cancel(let upstream, let silentSince):
                    log.append("\(time) \(silentSince != nil ? "drop" : "cancel") \(upstream)")
                case .deliver(let outcome): log.append("\(time) deliver \(Self.words(outcome))")
                case .end(let outcome): log.append("\(time) end \(Self.words(outcome))")
                }
            }
        }

        static func words(_ outcome: Inquiry.Outcome) -> String {
            let parts = IPAddress.Family.allCases.compactMap { family -> String? in
                switch outcome.answer[family] {
                case .addresses(let addresses, _): addresses.map(\.description).joined(separator: ",")
                case .absent(let absence, let ttl): "\(absence)\(ttl == nil ? "?" : "")"
                case nil: nil
                }
            }
            let failures = outcome.failures.map { "\($0.upstream):\($0.error.code)" }
            let who = outcome.upstream.map { "\($0)" } ?? (outcome.isOverdue ? "overdue" : "nobody")
            return ([who] + parts + failures).joined(separator: " ")
        }
    }

    static let failure = UpstreamError(.unreachable, "no")
    static let four = v4("192.0.2.1")
    static let six = Answer(v6: .addresses(addresses("2001:db8::1"), ttl: .seconds(60)))
    static let noName = Answer(v4: .absent(.noName, ttl: .seconds(9)), v6: .absent(.noName, ttl: .seconds(9)))
    static let unvouched = Answer(v4: .absent(.noRecord, ttl: nil), v6: .absent(.noRecord, ttl: nil))

    @Test("a look that comes much too late, as after a sleep of the machine, blames no upstream")
    func lateLook() {
        for (time, words) in [(2_500, "drop"), (10_000, "cancel")] {
            var run = Run([Self.candidate(0)], families: .v4)
            run.at(time, .tick)
            #expect(run.log.dropFirst().first == "\(time) \(words) 0")
        }
    }

    @Test("the first that answers is the only one asked")
    func first() {
        var run = Run([Self.candidate(0), Self.candidate(1)])
        run.at(20, .answered(upstream: 0, .both, .both("192.0.2.1", "2001:db8::1")))
        #expect(run.log == ["0 ask 0 IPv4 and IPv6", "20 end 0 192.0.2.1 2001:db8::1"])
        #expect(run.inquiry.nextTick == .never)
    }

    @Test("one that fails is followed by the next at once")
    func fallback() {
        var run = Run([Self.candidate(0), Self.candidate(1)], families: .v4)
        run.at(20, .failed(upstream: 0, .v4, Self.failure))
        run.at(30, .answered(upstream: 1, .v4, Self.four))
        #expect(run.log == ["0 ask 0 IPv4", "20 ask 1 IPv4", "30 end 1 192.0.2.1 0:unreachable"])
    }

    @Test("one that is silent has its budget, then the next is asked; the whole has its limit")
    func budget() {
        var run = Run([Self.candidate(0), Self.candidate(1), Self.candidate(2)], families: .v4)
        run.ticks(until: 10_000)
        #expect(
            run.log == [
                "0 ask 0 IPv4", "2000 drop 0", "2000 ask 1 IPv4", "4000 drop 1", "4000 ask 2 IPv4", "5000 cancel 2",
                "5000 end overdue 0:timeLimit 1:timeLimit",
            ]
        )
    }

    @Test("when all have failed, all failures are told")
    func allFail() {
        var run = Run([Self.candidate(0), Self.candidate(1)], families: .v4)
        run.at(1, .failed(upstream: 0, .v4, Self.failure))
        run.at(2, .failed(upstream: 1, .v4, UpstreamError(.lookupFailed, "no")))
        #expect(run.log == ["0 ask 0 IPv4", "1 ask 1 IPv4", "2 end nobody 0:unreachable 1:lookupFailed"])
    }

    @Test("nobody to ask")
    func nobody() {
        #expect(Run([]).log == ["0 end nobody"])
    }

    @Test("upstreams of one family are asked for both at once; both in time come together")
    func bothFamilies() {
        var run = Run([Self.candidate(0, oneFamily: true)])
        run.at(10, .answered(upstream: 0, .v4, Self.four))
        run.at(20, .answered(upstream: 0, .v6, Self.six))
        #expect(run.log == ["0 ask 0 IPv6", "0 ask 0 IPv4", "20 end 0 192.0.2.1 2001:db8::1"])
    }

    @Test("a slow family is not waited for longer than the resolution delay, and still completes the answer")
    func resolutionDelay() {
        var run = Run([Self.candidate(0, oneFamily: true), Self.candidate(1)])
        run.at(10, .answered(upstream: 0, .v4, Self.four))
        run.ticks(until: 100)
        run.at(300, .answered(upstream: 0, .v6, Self.six))
        #expect(
            run.log == [
                "0 ask 0 IPv6", "0 ask 0 IPv4", "60 deliver 0 192.0.2.1", "300 end 0 192.0.2.1 2001:db8::1",
            ]
        )
    }

    @Test("a family that never comes ends with the budget")
    func neverComes() {
        var run = Run([Self.candidate(0, oneFamily: true)])
        run.at(10, .answered(upstream: 0, .v6, Self.six))
        run.ticks(until: 5_000)
        #expect(
            run.log == [
                "0 ask 0 IPv6", "0 ask 0 IPv4", "60 deliver 0 2001:db8::1", "2000 drop 0",
                "2000 end 0 2001:db8::1 0:timeLimit",
            ]
        )
    }

    @Test("one family fails, the other has addresses: that is an answer")
    func halfFails() {
        var run = Run([Self.candidate(0, oneFamily: true), Self.candidate(1)])
        run.at(5, .failed(upstream: 0, .v6, UpstreamError(.lookupFailed, "no")))
        run.at(10, .answered(upstream: 0, .v4, Self.four))
        #expect(run.log.last == "10 end 0 192.0.2.1 0:lookupFailed")
    }

    @Test("one family fails, the other has none: the next is asked")
    func halfFailsWithoutAddress() {
        var run = Run([Self.candidate(0, oneFamily: true), Self.candidate(1)])
        run.at(5, .failed(upstream: 0, .v4, UpstreamError(.lookupFailed, "no")))
        run.at(10, .answered(upstream: 0, .v6, Answer(v6: .absent(.noRecord, ttl: .seconds(1)))))
        #expect(run.log.last == "10 ask 1 IPv4 and IPv6")
    }

    @Test("\"no such name\" for one family is an answer for both")
    func noSuchName() {
        var run = Run([Self.candidate(0, oneFamily: true), Self.candidate(1)])
        run.at(10, .answered(upstream: 0, .v4, Answer(v4: .absent(.noName, ttl: .seconds(9)))))
        #expect(run.log == ["0 ask 0 IPv6", "0 ask 0 IPv4", "10 cancel 0", "10 end 0 noName noName"])
    }

    @Test("a denial that nobody vouches for is believed only when nobody knows better")
    func unvouchedDenial() {
        var run = Run([Self.candidate(0), Self.candidate(1)])
        run.at(1, .answered(upstream: 0, .both, Self.unvouched))
        run.at(2, .answered(upstream: 1, .both, Self.four))
        #expect(run.log.last == "2 end 1 192.0.2.1")
        var lone = Run([Self.candidate(0), Self.candidate(1)])
        lone.at(1, .answered(upstream: 0, .both, Self.unvouched))
        lone.at(2, .failed(upstream: 1, .both, Self.failure))
        #expect(lone.log.last == "2 end 0 noRecord? noRecord? 1:unreachable")
    }

    @Test("an answer that says nothing is a failure")
    func saysNothing() {
        var run = Run([Self.candidate(0)])
        run.at(1, .answered(upstream: 0, .both, Answer()))
        #expect(run.log.last == "1 end nobody 0:malformedAnswer")
    }

    @Test("a race asks several at once; the first good answer ends the others")
    func race() {
        var run = Run((0..<3).map { Self.candidate($0) }, atOnce: 2, families: .v4)
        run.at(10, .failed(upstream: 1, .v4, Self.failure))
        run.at(20, .answered(upstream: 2, .v4, Self.four))
        #expect(
            run.log == [
                "0 ask 0 IPv4", "0 ask 1 IPv4", "10 ask 2 IPv4", "20 cancel 0", "20 end 2 192.0.2.1 1:unreachable",
            ]
        )
    }

    @Test("a hedge asks the next after the usual time, and keeps the first")
    func hedge() {
        var run = Run([Self.candidate(0, hedge: .milliseconds(30)), Self.candidate(1)], families: .v4)
        run.ticks(until: 40)
        run.at(45, .answered(upstream: 0, .v4, Self.four))
        #expect(run.log == ["0 ask 0 IPv4", "30 ask 1 IPv4", "45 cancel 1", "45 end 0 192.0.2.1"])
    }

    @Test("what comes after the end is not minded")
    func afterTheEnd() {
        var run = Run([Self.candidate(0)], families: .v4)
        run.at(1, .answered(upstream: 0, .v4, Self.four))
        run.at(2, .answered(upstream: 0, .v4, Self.four))
        run.at(3, .tick)
        #expect(run.log.count == 2)
    }
}
