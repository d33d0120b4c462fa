// SPDX-License-Identifier: Apache-2.0

package import DirectHTTP
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
    /// The HTTPS records that were asked for; nil if they are unknown or have not arrived.
    private(set) var answer: ServiceAnswer?
    /// The endpoints that the records lead to; nil if there are none, or the records were not asked for.
    private(set) var plan: ServicePlan?
    /// Whether the upstream has not answered for one of the families.
    package internal(set) var isPartial = false

    /// The endpoints, in the order to try them: address families alternate, and endpoints that failed recently come
    /// last. For an `https` origin with HTTPS records, the endpoints of the records come first, in the order of their
    /// priority.
    public var endpoints: [Endpoint] { plan?.endpoints ?? addresses.map { Endpoint($0, port: port) } }

    /// The HTTPS records of the name (RFC 9460), in the order of their priority. Empty if there are none, or if they did
    /// not arrive in time; see ``ResolverConfiguration/usesHTTPSRecords``.
    public var httpsRecords: [HTTPSRecord] { answer?.records ?? [] }

    /// The data of the HTTPS records for some of the endpoints.
    package var endpointServices: [Endpoint: EndpointService] { plan?.services ?? [:] }

    /// Whether HTTPS records determine the endpoints.
    package var hasPlan: Bool { plan != nil }

    /// Whether a usable HTTPS record shows that the host serves `https` (RFC 9460 §9.5).
    package var offersHTTPS: Bool { answer.map { !$0.routes.isEmpty } ?? false }

    /// The name of the upstream that gave the answer.
    public var upstream: String { provenance.upstream }

    /// The time since the upstream gave the answer.
    public var age: Duration { .nanoseconds(ageNanoseconds) }

    /// The remaining TTL; negative for a ``Source/stale`` resolution. If the name has no addresses of a requested family, the
    /// TTL of that denial limits it.
    public var ttl: Duration { .nanoseconds(ttlNanoseconds) }

    /// The network in which the answer was received; empty if unknown.
    public var network: String { provenance.network }

    /// Whether the answer came from a table that the user wrote, even if it was cached since.
    package var isOfTable: Bool { source == .fixed || source != .literal && provenance.kind == .fixed }

    /// Further content from the upstream; see ``Answer/extra``.
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
        ttl: Int64 = .max,
        answer: ServiceAnswer? = nil,
        plan: ServicePlan? = nil
    ) {
        self.host = host
        self.addresses = addresses
        self.port = port
        self.source = source
        self.provenance = provenance
        self.ageNanoseconds = age
        self.ttlNanoseconds = ttl
        self.answer = answer
        self.plan = plan
    }

    /// The resolution with other records.
    func with(_ answer: ServiceAnswer?, plan: ServicePlan?) -> Resolution {
        var resolution = self
        (resolution.answer, resolution.plan) = (answer, plan)
        return resolution
    }

    /// The resolution without records.
    var plain: Resolution { answer == nil ? self : with(nil, plan: nil) }

    /// The resolution of a cached answer with these addresses, for one request.
    init(
        of entry: AnswerCache.Entry,
        addresses: [IPAddress],
        source: Source,
        request: LookupRequest,
        port: UInt16,
        answer: ServiceAnswer? = nil,
        plan: ServicePlan? = nil,
        now: Moment
    ) {
        self.init(
            host: request.host,
            addresses: addresses,
            port: port,
            source: source,
            provenance: entry.provenance,
            age: now.nanoseconds(since: entry.storedAt(request.families)),
            ttl: entry.knownExpiry(of: request.families).nanoseconds(since: now),
            answer: answer,
            plan: plan
        )
    }

    private static let literal = Provenance(upstream: "literal", kind: .fixed)

    /// The resolution of a host that needs no lookup.
    init(literal host: Host, addresses: [IPAddress], port: UInt16) {
        self.init(host: host, addresses: addresses, port: port, source: .literal, provenance: Self.literal)
    }
}
