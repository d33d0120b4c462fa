// SPDX-License-Identifier: Apache-2.0

package import DirectHTTP
package import HTTPDNS
package import Names

/// Finds the endpoints of a proxy: an address is used directly, a name goes to the system's resolver. HTTPDNS is for origins
/// only.
package struct ProxyEndpoints: EndpointSource {
    private let resolver: Resolver

    /// Uses the network and the system's resolver of `resolver`.
    package init(_ resolver: Resolver) {
        self.resolver = resolver
    }

    /// Resolves the endpoints of a proxy; see `EndpointSource`.
    package func endpoints(for origin: Origin) async throws -> EndpointList {
        if let known = try literal(origin) { return EndpointList(known) }
        let families = resolver.configuration.families
        let answer = try await resolver.configuration.system?.answer(Question(origin.host, families: families))
        let addresses = ((answer?.v4?.addresses ?? []) + (answer?.v6?.addresses ?? []))
            .filter { families.contains(Families($0.family)) }
        return EndpointList(reachable(addresses, port: origin.port))
    }

    /// The endpoints of a proxy whose host is an address; `nil` if it is a name.
    package func literal(_ origin: Origin) throws(DirectHTTPError) -> [Endpoint]? {
        guard let address = origin.host.address else { return nil }
        return try reachable([address], port: origin.port).inZone(of: origin.host)
    }

    private func reachable(_ addresses: [IPAddress], port: UInt16) -> [Endpoint] {
        let network = resolver.network
        var endpoints: [Endpoint] = []
        // The resolver of a NAT64 network may return translated addresses as well (DNS64, RFC 6147).
        for address in addresses.flatMap({ network.reachable($0) }) {
            let endpoint = Endpoint(address, port: port)
            if !endpoints.contains(endpoint) { endpoints.append(endpoint) }
        }
        return endpoints
    }
}
