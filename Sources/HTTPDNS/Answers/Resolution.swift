// SPDX-License-Identifier: Apache-2.0

public import Names

/// The endpoints of a name, and their source.
public struct Resolution: Hashable, Sendable {
    /// The source of the endpoints.
    public enum Source: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
        /// An upstream answered this request.
        case fresh
        /// From the cache, within its TTL.
        case cached
        /// From the cache, past its TTL: no newer answer arrived in time.
        case stale
        /// The system's resolver answered this request.
        case system
        /// From a table that the user wrote.
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
    /// The port of the request.
    public let port: UInt16
    /// The source of the addresses.
    public let source: Source
    let provenance: Provenance
    let ageNanoseconds: Int64
    let ttlNanoseconds: Int64

    /// The endpoints, in the order to try them: address families alternate, and endpoints that failed recently come
    /// last.
    public var endpoints: [Endpoint] { addresses.map { Endpoint($0, port: port) } }

    /// The name of the upstream that gave the answer.
    public var upstream: String { provenance.upstream }

    /// The time since the upstream gave the answer.
    public var age: Duration { .nanoseconds(ageNanoseconds) }

    /// The remaining TTL; negative for a ``Source/stale`` resolution.
    public var ttl: Duration { .nanoseconds(ttlNanoseconds) }

    /// The network in which the answer was received; empty if unknown.
    public var network: String { provenance.network }

    /// Whether the answer came from a table that the user wrote, also after it was cached.
    package var isOfTable: Bool { source == .fixed || source != .literal && provenance.kind == .fixed }

    /// What the upstream returned in addition to addresses; see ``Answer/extra``.
    public var extra: String? { provenance.extra }

    /// The upstreams that were asked for this answer and failed.
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
    /// The resolution of a cached answer with these addresses, for one request.
    init(
        of entry: AnswerCache.Entry,
        addresses: [IPAddress],
        source: Source,
        request: LookupRequest,
        port: UInt16,
        now: Moment
    ) {
        self.init(
            host: request.host,
            addresses: addresses,
            port: port,
            source: source,
            provenance: entry.provenance,
            age: now.nanoseconds(since: entry.storedAt(request.families)),
            ttl: entry.knownExpiry(of: request.families).nanoseconds(since: now)
        )
    }

    private static let literal = Provenance(upstream: "literal", kind: .fixed)

    /// The resolution of a host that needs no lookup.
    init(literal host: Host, addresses: [IPAddress], port: UInt16) {
        self.init(host: host, addresses: addresses, port: port, source: .literal, provenance: Self.literal)
    }
}
