// SPDX-License-Identifier: Apache-2.0

package import Names

/// An upstream that answers from a table that the user wrote.
package protocol TableUpstream: Upstream {
    /// Whether the table has a host. Does not block.
    func has(_ host: Host) -> Bool
}

/// Answers from a table that the user wrote. The table may contain any address. Other names fail with `unsupported`.
package struct FixedUpstream: TableUpstream {
    package let name: String
    package let kind = UpstreamKind.fixed
    let table: HostsTable
    private let ttl: Duration

    /// An upstream that answers from a table. Its answers have the TTL `ttl`.
    package init(_ table: HostsTable, name: String = "fixed", ttl: Duration = .seconds(60)) {
        self.table = table
        self.name = name
        self.ttl = ttl
    }

    package func has(_ host: Host) -> Bool { table[host] != nil }

    package func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        guard let addresses = table[question.host] else {
            throw UpstreamError(.unsupported, "\"\(question.host)\" is not in the table")
        }
        // The table is complete for its names: a denial with a TTL keeps other upstreams from being asked.
        return Answer(addresses, families: question.families, ttl: ttl)
    }
}
