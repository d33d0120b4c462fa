// SPDX-License-Identifier: Apache-2.0

/// The properties of an upstream that decisions depend on, read once when the resolver is created.
struct UpstreamProfile: Hashable, Sendable {
    let name: String
    let kind: UpstreamKind
    let answersOneFamily: Bool
    /// Whether the upstream can be asked for HTTPS records.
    let carriesRecords: Bool
    /// The table that the upstream answers from; nil for others, and for tables in files.
    let table: HostsTable?

    init(_ upstream: any Upstream) {
        name = upstream.name
        kind = upstream.kind
        answersOneFamily = upstream.answersOneFamily
        carriesRecords = upstream is any RecordUpstream
        table = (upstream as? FixedUpstream)?.table
    }
}
