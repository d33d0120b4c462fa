// SPDX-License-Identifier: Apache-2.0

public import Names

/// What the resolver hands out: where a name's service is, and how it is known.
public struct Resolution: Hashable, Sendable {
    /// Where the endpoints came from.
    public enum Source: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
        /// An upstream said it just now.
        case fresh
        /// An upstream said it before, and its TTL lasts.
        case cached
        /// An upstream said it before, and its TTL is over: nothing better could be had in time.
        case stale
        /// The system's resolver said it just now.
        case system
        /// A table that the user wrote says it.
        case fixed
        /// The host is an address itself, or `localhost`.
        case literal

        /// The text for logs.
        public var description: String { rawValue }
    }

    /// The name.
    public let host: Host
    /// The addresses, in the order to try them; at least one.
    public let addresses: [IPAddress]
    /// The port that was asked for.
    public let port: UInt16
    /// Where the addresses came from.
    public let source: Source
    let provenance: Provenance
    let ageNanoseconds: Int64
    let ttlNanoseconds: Int64

    /// The endpoints, in the order to try them: families in turn, those that failed lately at the end.
    public var endpoints: [Endpoint] { addresses.map { Endpoint($0, port: port) } }

    /// The name of the upstream that said it.
    public var upstream: String { provenance.upstream }

    /// How long ago it was said.
    public var age: Duration { .nanoseconds(ageNanoseconds) }

    /// For how long it may still be used; negative for a ``Source/stale`` one.
    public var ttl: Duration { .nanoseconds(ttlNanoseconds) }

    /// The network in which it was said; empty where it is not known.
    public var network: String { provenance.network }

    /// Whether a table of the user's own said it, whichever way it was kept since.
    package var isOfTable: Bool { source == .fixed || source != .literal && provenance.kind == .fixed }

    /// What the upstream said besides addresses; see ``Answer/extra``.
    public var extra: String? { provenance.extra }

    /// The upstreams that were asked for this answer and did not give it.
    public var failures: [ResolutionError.Failure] { provenance.failures }

    init(
        host: Host,
        addresses: [IPAddress],
        port: UInt16,
        source: Source,
        provenance: Provenance,
        age: Int64 = 0,
        ttl: Int64 = .max
    ) {
        self.host = host
        self.addresses = addresses
        self.port = port
        self.source = source
        self.provenance = provenance
        self.ageNanoseconds = age
        self.ttlNanoseconds = ttl
    }
}
