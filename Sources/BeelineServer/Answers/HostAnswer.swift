// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// The answers for the addresses of one host.
struct HostAnswer: Sendable {
    let name: DNSName
    /// The answers of the families that the question asks for, IPv4 first.
    let parts: [(family: IPAddress.Family, answer: ServerAnswer)]

    subscript(family: IPAddress.Family) -> ServerAnswer? { parts.first { $0.family == family }?.answer }

    /// Whether an upstream failed and the other family has no address. "No address" would then be a guess.
    var isFailure: Bool { hasFailure && parts.allSatisfy { $0.answer.addresses.isEmpty } }

    /// Whether every requested family failed.
    var saysNothing: Bool { parts.allSatisfy { $0.answer.isFailure } }

    /// Whether at least one family failed.
    var hasFailure: Bool { parts.contains { $0.answer.isFailure } }

    var isPrivate: Bool { parts.contains { $0.answer.isPrivate } }

    var isNoName: Bool { parts.contains { $0.answer.code == .noSuchName } }

    /// The smallest TTL of the families that have addresses. If none has, the smallest TTL of the negative answers.
    var ttl: UInt32 {
        let found = parts.filter { !$0.answer.addresses.isEmpty }
        return found.map { ttl(of: $0.answer) }.min() ?? parts.map(\.answer.ttl).min() ?? 0
    }

    /// The TTL of one family; at most `ServerAnswer.negativeTTL` if the other failed, which some forms cannot report.
    func ttl(of part: ServerAnswer) -> UInt32 { hasFailure ? min(part.ttl, ServerAnswer.negativeTTL) : part.ttl }

    var source: String { parts.first?.answer.source ?? "-" }
}
