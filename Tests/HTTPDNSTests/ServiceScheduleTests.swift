// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("ServiceSchedule: chains of aliases")
struct ServiceScheduleTests {
    private static func name(_ text: String) throws -> DNSName { try #require(DNSName(text)) }

    /// Answers each question by `zone`, and returns the outcome and the number of questions.
    private static func run(_ zone: [String: [String]]) throws -> (outcome: ServiceSchedule.Outcome, questions: Int) {
        let host = try Host("n0.example")
        var schedule = ServiceSchedule(
            origin: host,
            name: try name(host.text),
            candidates: [0],
            budget: .seconds(2),
            limit: .seconds(5),
            now: .past
        )
        var actions = schedule.start(now: .past)
        var questions = 0
        while let action = actions.first {
            switch action {
            case .ask(let upstream, let asked):
                questions += 1
                let records = (zone["\(asked)"] ?? []).compactMap { HTTPSRecord(text: $0) }
                let reply = ServiceReply(records, owner: asked, ttl: .seconds(60 - questions))
                actions = schedule.event(.answered(upstream: upstream, reply), chance: 0, now: .past)
            case .cancel: actions.removeFirst()
            case .end(let outcome): return (outcome, questions)
            }
        }
        Issue.record("the schedule stopped")
        return (ServiceSchedule.Outcome(), questions)
    }

    @Test("eight aliases are followed, with the lowest TTL; nine are not")
    func bound() throws {
        for (count, isFollowed) in [(1, true), (8, true), (9, false)] {
            var zone: [String: [String]] = [:]
            for index in 0..<count { zone["n\(index).example"] = ["0 n\(index + 1).example."] }
            zone["n\(count).example"] = ["1 . port=8443"]
            let (outcome, questions) = try Self.run(zone)
            #expect(outcome.routes.isEmpty != isFollowed, "\(count)")
            #expect(outcome.routes.first?.port == (isFollowed ? 8_443 : nil))
            #expect(questions == min(count, 8) + 1)
            #expect(outcome.ttl == .seconds(60 - questions))
        }
    }

    @Test("a loop of aliases counts as no records")
    func loop() throws {
        let zone = ["n0.example": ["0 n1.example."], "n1.example": ["0 n0.example."]]
        #expect(try Self.run(zone).outcome.routes.isEmpty)
        #expect(try Self.run(["n0.example": ["0 n0.example."]]).outcome.routes.isEmpty)
    }

    @Test("an alias overrules the other records of its name, and the end without records is a host")
    func mixed() throws {
        let (outcome, _) = try Self.run(["n0.example": ["1 . port=1", "0 n1.example."]])
        #expect(outcome.routes == [ServiceRoute(to: try Host("n1.example"))] && outcome.records.count == 2)
    }

    @Test("the target . means that there is no service, but the addresses decide")
    func none() throws {
        #expect(try Self.run(["n0.example": ["0 ."]]).outcome.routes.isEmpty)
    }
}
