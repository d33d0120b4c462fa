// SPDX-License-Identifier: Apache-2.0

public import HTTPDNS
public import Names

/// An upstream by its kind and place, before it has anything to speak with: what a configuration file or `--dns` names.
///
/// ```swift
/// var configuration = ClientConfiguration()
/// configuration.upstreams = [.doh(try HTTPURL("https://1.1.1.1/dns-query")), .dnspod(), .system]
/// ```
public struct UpstreamSpec: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case dnspod([Endpoint])
        case doh(HTTPURL, [IPAddress], post: Bool)
        case system
        case hosts(HostsTable)
    }

    let kind: Kind

    /// DNSPod's plain form (`/d?dn=`); without endpoints the public service.
    public static func dnspod(_ endpoints: [Endpoint] = [DNSPodUpstream.publicEndpoint]) -> UpstreamSpec {
        UpstreamSpec(kind: .dnspod(endpoints))
    }

    /// DNS over HTTPS (RFC 8484).
    ///
    /// - Parameters:
    ///   - url: the service; its host is what the certificate must be for.
    ///   - addresses: where to find it without asking anyone; not needed where the host is an address.
    ///   - post: whether queries travel in bodies instead of URLs.
    public static func doh(_ url: HTTPURL, at addresses: [IPAddress] = [], post: Bool = false) -> UpstreamSpec {
        UpstreamSpec(kind: .doh(url, addresses, post: post))
    }

    /// The system's resolver.
    public static let system = UpstreamSpec(kind: .system)

    /// A fixed table.
    public static func hosts(_ table: HostsTable) -> UpstreamSpec { UpstreamSpec(kind: .hosts(table)) }

    /// Those that are asked where nobody says otherwise: two public DoH services by their addresses, DNSPod, and the system.
    public static let standard: [UpstreamSpec] =
        ["https://1.1.1.1/dns-query", "https://223.5.5.5/dns-query"].compactMap { try? HTTPURL($0) }.map { .doh($0) }
        + [.dnspod(), .system]

    /// The upstream that it names.
    ///
    /// - Parameter system: what stands for the system's resolver.
    /// - Parameter transport: what the upstream speaks through.
    /// - Throws: `UpstreamError` with code `misconfigured`.
    public func upstream(
        transport: any UpstreamTransport,
        system: (any Upstream)?
    ) throws(UpstreamError) -> (any Upstream)? {
        switch kind {
        case .dnspod(let endpoints): DNSPodUpstream(at: endpoints, transport: transport)
        case .doh(let url, let addresses, let post):
            try DoHUpstream(url, at: addresses, method: post ? .post : .get, transport: transport)
        case .system: system
        case .hosts(let table): FixedUpstream(table)
        }
    }
}
