// SPDX-License-Identifier: Apache-2.0

public import Names

/// The network that the machine is in, as far as a resolver must know it.
public struct Network: Hashable, Sendable, CustomStringConvertible {
    /// What tells this network from others, such as `wlan0 192.0.2.0/24 2001:db8::/64`. Answers are kept apart by it.
    /// Empty: not known.
    public var id: String
    /// The families that lead out of it; empty: not known, and all are taken to.
    public var families: Families
    /// The machine's own IPv6 address towards the world, where it has one.
    public var localV6: IPAddress?
    /// Where IPv4 hosts are found in a network without IPv4.
    public var nat64: [NAT64Prefix] = []

    /// A network of parts.
    public init(id: String = "", families: Families = [], localV6: IPAddress? = nil, nat64: [NAT64Prefix] = []) {
        self.id = id
        self.families = families
        self.localV6 = localV6
        self.nat64 = nat64
    }

    /// A network of which nothing is known.
    public static let unknown = Network()

    /// The network's name for logs.
    public var description: String { id.isEmpty ? "unknown" : id }

    /// The address to dial for an IPv4 host: itself, or what stands for it where there is no IPv4.
    public func reachable(_ address: IPAddress) -> [IPAddress] {
        guard address.family == .v4, families == .v6 else { return [address] }
        let translated = nat64.compactMap { $0.synthesize(address) }
        return translated.isEmpty ? [address] : translated
    }

    /// The endpoints to dial for one.
    public func reachable(_ endpoint: Endpoint) -> [Endpoint] {
        reachable(endpoint.address).map { $0 == endpoint.address ? endpoint : Endpoint($0, port: endpoint.port) }
    }

    /// The endpoints to dial for several.
    func reachable(_ endpoints: [Endpoint]) -> [Endpoint] {
        families == .v6 ? endpoints.flatMap { reachable($0) } : endpoints
    }
}
