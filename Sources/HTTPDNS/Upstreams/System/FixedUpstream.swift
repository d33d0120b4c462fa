// SPDX-License-Identifier: Apache-2.0

import Names

/// A table that the user wrote. It may name any address, and has nothing to say of names that are not in it.
public struct FixedUpstream: Upstream {
    /// The name in resolutions and errors.
    public let name: String
    /// What kind of upstream it is.
    public let kind = UpstreamKind.fixed
    private let table: HostsTable
    private let ttl: Duration

    /// An upstream that answers from a table; resolutions may keep what it says for `ttl`.
    public init(_ table: HostsTable, name: String = "fixed", ttl: Duration = .seconds(60)) {
        self.table = table
        self.name = name
        self.ttl = ttl
    }

    /// Answers a question; see ``Upstream/answer(_:)``.
    public func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        guard let addresses = table[question.host] else {
            throw UpstreamError(.unsupported, "\"\(question.host)\" is not in the table")
        }
        var answer = Answer()
        for family in question.families.members {
            let found = addresses.filter { $0.family == family }
            // A name of the table has no other addresses: nobody else is to be asked.
            answer[family] = found.isEmpty ? .absent(.noRecord, ttl: ttl) : .addresses(found, ttl: ttl)
        }
        return answer
    }
}
