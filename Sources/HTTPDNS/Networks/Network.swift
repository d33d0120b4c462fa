// SPDX-License-Identifier: Apache-2.0

public import Names

/// The properties of the machine's network that a resolver uses.
public struct Network: Hashable, Sendable, CustomStringConvertible {
    /// The identity of the network, such as `192.0.2.0/24 2001:db8::/64`. Answers are cached by it. Empty: unknown.
    public var id: String
    /// The families with a route to the Internet; empty: unknown, both are assumed.
    public var families: Families
    /// The machine's own IPv6 address for outgoing connections, if it has one.
    public var localV6: IPAddress?
    /// The machine's own IPv4 address for outgoing connections, if it has one. A new one, as from DHCP, is a change although the
    /// network stays the same: connections from the old address no longer work.
    package var localV4: IPAddress?
    /// The NAT64 prefixes for IPv4 hosts in a network without IPv4.
    package var nat64: [NAT64Prefix] = []

    /// A network with an identity and its routes.
    public init(id: String = "", families: Families = [], localV6: IPAddress? = nil) {
        self.init(id: id, families: families, localV6: localV6, nat64: [])
    }

    package init(id: String = "", families: Families = [], localV6: IPAddress? = nil, nat64: [NAT64Prefix]) {
        self.id = id
        self.families = families
        self.localV6 = localV6
        self.nat64 = nat64
    }

    /// A network without any known property.
    public static let unknown = Network()

    /// The network's name for logs.
    public var description: String { id.isEmpty ? "unknown" : id }

    /// The families of addresses that can be connected to; both if unknown.
    var reachableFamilies: Families {
        families.isEmpty || families == .v6 && !nat64.isEmpty ? .both : families
    }

    /// The addresses to connect to for an IPv4 host: its own address, or the translated ones if there is no IPv4. IPv6
    /// addresses are returned unchanged.
    package func reachable(_ address: IPAddress) -> [IPAddress] {
        guard address.family == .v4, families == .v6 else { return [address] }
        let translated = nat64.compactMap { $0.synthesize(address) }
        return translated.isEmpty ? [address] : translated
    }

    /// The endpoints to connect to for an endpoint.
    package func reachable(_ endpoint: Endpoint) -> [Endpoint] {
        reachable(endpoint.address).map { $0 == endpoint.address ? endpoint : Endpoint($0, port: endpoint.port) }
    }

    /// The endpoints to connect to for several endpoints.
    func reachable(_ endpoints: [Endpoint]) -> [Endpoint] {
        families == .v6 ? endpoints.flatMap { reachable($0) } : endpoints
    }
}
