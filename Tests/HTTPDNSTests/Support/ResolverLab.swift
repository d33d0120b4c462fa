// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import Names

/// Resolvers for the tests of the resolver.
enum ResolverLab {
    static let failure = UpstreamError(.unreachable, "connection refused")
    static let www = host("www.example.com")

    static func resolver(
        _ upstreams: [ScriptedUpstream],
        system: ScriptedUpstream? = nil,
        clock: ManualClock = ManualClock(),
        families: Families = .v4,
        _ change: (inout ResolverConfiguration) -> Void = { _ in }
    ) -> Resolver {
        var configuration = ResolverConfiguration(upstreams: upstreams, system: system)
        configuration.families = families
        change(&configuration)
        return Resolver(configuration, clock: clock)
    }
}

/// An upstream that answers one family per question, with a gate for one of the families.
struct FamilyUpstream: Upstream {
    let name = "family"
    let answersOneFamily = true
    let now: Answer
    let late: (family: IPAddress.Family, gate: Gate, answer: Answer)

    init(_ now: Answer, late: (IPAddress.Family, Gate, Answer)) {
        self.now = now
        self.late = late
    }

    func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        var answer = Answer()
        for family in question.families.members {
            if family == late.family {
                _ = try? await late.gate.wait()
                answer[family] = late.answer[family]
            } else {
                answer[family] = now[family]
            }
        }
        return answer
    }
}
