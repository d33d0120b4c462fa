// SPDX-License-Identifier: Apache-2.0

package import DirectHTTP
package import HTTPDNS
package import Names

/// Names the endpoints of a proxy: an address as it is, a name by the system's resolver. HTTPDNS is for origins.
package struct ProxyEndpoints: EndpointSource {
    private let resolver: Resolver

    /// The endpoints of proxies in the network that `resolver` is in.
    package init(_ resolver: Resolver) {
        self.resolver = resolver
    }

    /// See `EndpointSource`.
    package func endpoints(for origin: Origin) async throws -> EndpointList {
        if let known = try literal(origin) { return EndpointList(known) }
        let families = resolver.configuration.families
        let answer = try await resolver.configuration.system?.answer(Question(origin.host, families: families))
        let addresses = ((answer?.v4?.addresses ?? []) + (answer?.v6?.addresses ?? []))
            .filter { families.contains(Families($0.family)) }
        return EndpointList(reachable(addresses, port: origin.port))
    }

    /// Where a proxy is that is known by its address; nil for one with a name.
    package func literal(_ origin: Origin) throws(DirectHTTPError) -> [Endpoint]? {
        guard let address = origin.host.address else { return nil }
        return try reachable([address], port: origin.port).inZone(of: origin.host)
    }

    private func reachable(_ addresses: [IPAddress], port: UInt16) -> [Endpoint] {
        let network = resolver.network
        var endpoints: [Endpoint] = []
        // A resolver that speaks for a NAT64 has translated the addresses as well (DNS64, RFC 6147).
        for address in addresses.flatMap({ network.reachable($0) }) {
            let endpoint = Endpoint(address, port: port)
            if !endpoints.contains(endpoint) { endpoints.append(endpoint) }
        }
        return endpoints
    }
}
