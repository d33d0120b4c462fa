// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("UpstreamSchedule: which upstream is asked when")
struct InquiryTests {
    static func candidate(_ index: Int, oneFamily: Bool = false, hedge: Duration? = nil) -> UpstreamSchedule.Candidate {
        UpstreamSchedule.Candidate(upstream: index, answersOneFamily: oneFamily, budget: .seconds(2), hedgeAfter: hedge)
    }

    /// An schedule whose clock the test sets, with a log of its actions as text.
    struct Run {
        var schedule: UpstreamSchedule
        var log: [String] = []
        var now = Moment(nanoseconds: 0)

        init(_ candidates: [UpstreamSchedule.Candidate], atOnce: Int = 1, families: Families = .both) {
            let plan = UpstreamSchedule.Plan(
                candidates: candidates,
                atOnce: atOnce,
                limit: .seconds(5),
                resolutionDelay: .milliseconds(50)
            )
            schedule = UpstreamSchedule(plan, families: families, now: now)
            note(schedule.start(now: now))
        }

        mutating func at(_ milliseconds: Int, _ event: UpstreamSchedule.Event) {
            now = Moment(nanoseconds: Int64(milliseconds) * 1_000_000)
            note(schedule.event(event, now: now))
        }

        /// Sends each tick at the time it is due, until the given time.
        mutating func ticks(until milliseconds: Int) {
            let end = Moment(nanoseconds: Int64(milliseconds) * 1_000_000)
            while schedule.nextTick <= end {
                now = schedule.nextTick
                note(schedule.event(.tick, now: now))
            }
        }

        mutating func note(_ actions: [UpstreamSchedule.Action]) {
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

        static func words(_ outcome: UpstreamSchedule.Outcome) -> String {
            let parts = IPAddress.Family.allCases.compactMap { family -> String? in
                switch outcome.answer[family] {
                case .addresses(let addresses, _): addresses.map(\.description).joined(separator: ",")
                case .absent(let absence, let ttl): "\(absence)\(ttl == nil ? "?" : "")"
                case nil: nil
                }
            }
            let failures = outcome.failures.map { "\($0.upstream):\($0.error.code)" }
            let who = outcome.upstream.map { "\($0)" } ?? (outcome.isOverdue ? "overdue" : "unanswered")
            return ([who] + parts + failures).joined(separator: " ")
        }
    }

    static let failure = UpstreamError(.unreachable, "no")
    static let four = v4("192.0.2.1")
    static let six = Answer(v6: .addresses(addresses("2001:db8::1"), ttl: .seconds(60)))
    static let noName = Answer(v4: .absent(.noName, ttl: .seconds(9)), v6: .absent(.noName, ttl: .seconds(9)))
    static let unvouched = Answer(v4: .absent(.noRecord, ttl: nil), v6: .absent(.noRecord, ttl: nil))

    @Test("a very late tick, for example after the machine slept, does not count against an upstream")
    func lateLook() {
        for (time, words) in [(2_500, "drop"), (10_000, "cancel")] {
            var run = Run([Self.candidate(0)], families: .v4)
            run.at(time, .tick)
            #expect(run.log.dropFirst().first == "\(time) \(words) 0")
        }
    }

    @Test("when the first upstream answers, no other upstream is asked")
    func first() {
        var run = Run([Self.candidate(0), Self.candidate(1)])
        run.at(20, .answered(upstream: 0, .both, .both("192.0.2.1", "2001:db8::1")))
        #expect(run.log == ["0 ask 0 IPv4 and IPv6", "20 end 0 192.0.2.1 2001:db8::1"])
        #expect(run.schedule.nextTick == .never)
    }

    @Test("when an upstream fails, the next one is asked at once")
    func fallback() {
        var run = Run([Self.candidate(0), Self.candidate(1)], families: .v4)
        run.at(20, .failed(upstream: 0, .v4, Self.failure))
        run.at(30, .answered(upstream: 1, .v4, Self.four))
        #expect(run.log == ["0 ask 0 IPv4", "20 ask 1 IPv4", "30 end 1 192.0.2.1 0:unreachable"])
    }

    @Test("a silent upstream is replaced after its time budget, and the whole schedule has a time limit")
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

    @Test("when all upstreams fail, the result lists each failure")
    func allFail() {
        var run = Run([Self.candidate(0), Self.candidate(1)], families: .v4)
        run.at(1, .failed(upstream: 0, .v4, Self.failure))
        run.at(2, .failed(upstream: 1, .v4, UpstreamError(.lookupFailed, "no")))
        #expect(run.log == ["0 ask 0 IPv4", "1 ask 1 IPv4", "2 end unanswered 0:unreachable 1:lookupFailed"])
    }

    @Test("without upstreams the schedule ends at once")
    func noUpstreams() {
        #expect(Run([]).log == ["0 end unanswered"])
    }

    @Test("an upstream of one family per question is asked for both at once, and the answers are combined")
    func bothFamilies() {
        var run = Run([Self.candidate(0, oneFamily: true)])
        run.at(10, .answered(upstream: 0, .v4, Self.four))
        run.at(20, .answered(upstream: 0, .v6, Self.six))
        #expect(run.log == ["0 ask 0 IPv6", "0 ask 0 IPv4", "20 end 0 192.0.2.1 2001:db8::1"])
    }

    @Test("a slow family delays the answer by the resolution delay at most, and still completes it later")
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

    @Test("a family that never answers ends with the upstream's time budget")
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

    @Test("a failure for one family and addresses for the other give an answer")
    func halfFails() {
        var run = Run([Self.candidate(0, oneFamily: true), Self.candidate(1)])
        run.at(5, .failed(upstream: 0, .v6, UpstreamError(.lookupFailed, "no")))
        run.at(10, .answered(upstream: 0, .v4, Self.four))
        #expect(run.log.last == "10 end 0 192.0.2.1 0:lookupFailed")
    }

    @Test("a failure for one family and no addresses for the other lead to the next upstream")
    func halfFailsWithoutAddress() {
        var run = Run([Self.candidate(0, oneFamily: true), Self.candidate(1)])
        run.at(5, .failed(upstream: 0, .v4, UpstreamError(.lookupFailed, "no")))
        run.at(10, .answered(upstream: 0, .v6, Answer(v6: .absent(.noRecord, ttl: .seconds(1)))))
        #expect(run.log.last == "10 ask 1 IPv4 and IPv6")
    }

    static let noNameForSix = Answer(v6: .absent(.noName, ttl: .seconds(9)))

    @Test("\"no such name\" for one family does not hide the addresses of the other, in any order (RFC 4074 §4.2)")
    func noSuchNameForOneFamily() {
        var run = Run([Self.candidate(0, oneFamily: true), Self.candidate(1)])
        run.at(10, .answered(upstream: 0, .v6, Self.noNameForSix))
        run.at(12, .answered(upstream: 0, .v4, Self.four))
        #expect(run.log == ["0 ask 0 IPv6", "0 ask 0 IPv4", "12 end 0 192.0.2.1 noName"])
        var other = Run([Self.candidate(0, oneFamily: true), Self.candidate(1)])
        other.at(10, .answered(upstream: 0, .v4, Self.four))
        other.at(12, .answered(upstream: 0, .v6, Self.noNameForSix))
        #expect(other.log == run.log)
    }

    @Test("\"no such name\" for one family answers both when the other question has ended or its time is over")
    func noSuchName() {
        var both = Run([Self.candidate(0, oneFamily: true), Self.candidate(1)])
        both.at(10, .answered(upstream: 0, .v6, Self.noNameForSix))
        both.at(12, .answered(upstream: 0, .v4, Answer(v4: .absent(.noName, ttl: .seconds(9)))))
        #expect(both.log == ["0 ask 0 IPv6", "0 ask 0 IPv4", "12 end 0 noName noName"])
        var failed = Run([Self.candidate(0, oneFamily: true), Self.candidate(1)])
        failed.at(10, .answered(upstream: 0, .v6, Self.noNameForSix))
        failed.at(12, .failed(upstream: 0, .v4, Self.failure))
        #expect(failed.log.last == "12 end 0 noName noName 0:unreachable")
        var silent = Run([Self.candidate(0, oneFamily: true), Self.candidate(1)])
        silent.at(10, .answered(upstream: 0, .v6, Self.noNameForSix))
        silent.ticks(until: 5_000)
        #expect(silent.log.suffix(2) == ["2000 drop 0", "2000 end 0 noName noName 0:timeLimit"])
    }

    @Test("\"no such name\" for one family answers both when the time limit of the lookup ends first")
    func noSuchNameAtTheLimit() {
        var run = Run((0..<3).map { Self.candidate($0, oneFamily: true) })
        run.ticks(until: 4_000)
        run.at(4_010, .answered(upstream: 2, .v6, Self.noNameForSix))
        run.ticks(until: 6_000)
        #expect(run.log.suffix(2) == ["5000 cancel 2", "5000 end 2 noName noName 0:timeLimit 1:timeLimit"])
    }

    @Test("a denial without a TTL is used only when no other upstream has an answer")
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

    @Test("a denial without a TTL is used when the other upstreams are silent until the time limit")
    func denialAtTheLimit() {
        var run = Run((0..<4).map { Self.candidate($0) })
        run.at(1, .answered(upstream: 0, .both, Self.unvouched))
        run.ticks(until: 6_000)
        #expect(run.log.last?.hasPrefix("5000 end 0 noRecord? noRecord?") == true, "\(run.log)")
    }

    @Test("an empty answer is a failure")
    func saysNothing() {
        var run = Run([Self.candidate(0)])
        run.at(1, .answered(upstream: 0, .both, Answer()))
        #expect(run.log.last == "1 end unanswered 0:malformedAnswer")
    }

    @Test("a race asks several upstreams at once, and the first good answer cancels the others")
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

    @Test("a race wider than the list asks each upstream once, and ends")
    func widestRace() {
        let run = Run((0..<2).map { Self.candidate($0) }, atOnce: .max, families: .v4)
        #expect(run.log == ["0 ask 0 IPv4", "0 ask 1 IPv4"])
    }

    @Test("a hedge asks the next upstream after the usual time and keeps the first question open")
    func hedge() {
        var run = Run([Self.candidate(0, hedge: .milliseconds(30)), Self.candidate(1)], families: .v4)
        run.ticks(until: 40)
        run.at(45, .answered(upstream: 0, .v4, Self.four))
        #expect(run.log == ["0 ask 0 IPv4", "30 ask 1 IPv4", "45 cancel 1", "45 end 0 192.0.2.1"])
    }

    @Test("events after the end are ignored")
    func afterTheEnd() {
        var run = Run([Self.candidate(0)], families: .v4)
        run.at(1, .answered(upstream: 0, .v4, Self.four))
        run.at(2, .answered(upstream: 0, .v4, Self.four))
        run.at(3, .tick)
        #expect(run.log.count == 2)
    }
}
