// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// The answers for the addresses of one host.
struct HostAnswer: Sendable {
    let name: DNSName
    /// Nil if the question does not ask for this family.
    let v4: ServerAnswer?
    let v6: ServerAnswer?

    subscript(family: IPAddress.Family) -> ServerAnswer? { family == .v4 ? v4 : v6 }

    /// Whether an upstream failed and the other family has no address either. Answering "no address" would then be a
    /// guess.
    var isFailure: Bool { hasFailure && [v4, v6].allSatisfy { $0?.addresses.isEmpty ?? true } }

    /// Whether every requested family failed.
    var saysNothing: Bool { [v4, v6].allSatisfy { $0?.isFailure ?? true } }

    /// Whether at least one family failed.
    var hasFailure: Bool { [v4, v6].contains { $0?.isFailure ?? false } }

    /// Whether the name does not exist.
    var isNoName: Bool { [v4, v6].contains { $0?.code == .noSuchName } }

    /// The smallest TTL of the families that have addresses. If none has, the smallest TTL of the negative answers.
    var ttl: UInt32 {
        let parts = [v4, v6].compactMap(\.self)
        return parts.filter { !$0.addresses.isEmpty }.map(ttl(of:)).min() ?? parts.map(\.ttl).min() ?? 0
    }

    /// The TTL of one family. Some forms cannot report that the other family failed, so the TTL is then at most
    /// `ServerAnswer.negativeTTL`.
    func ttl(of part: ServerAnswer) -> UInt32 { hasFailure ? min(part.ttl, ServerAnswer.negativeTTL) : part.ttl }

    var source: String { (v4 ?? v6)?.source ?? "-" }
}
