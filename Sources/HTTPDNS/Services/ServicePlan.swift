// SPDX-License-Identifier: Apache-2.0

package import DirectHTTP
package import Names

/// The endpoints of an origin with HTTPS records, in the order to try them, and the data of the records for each.
package final class ServicePlan: Hashable, Sendable {
    /// The maximum number of endpoints.
    static let maxEndpoints = 64

    /// The endpoints, in the order to try them.
    package let endpoints: [Endpoint]
    /// The data of the records for the endpoints that come from them.
    package let services: [Endpoint: EndpointService]

    /// Puts the endpoints in order: by priority, with equal priorities in random order (RFC 9460 §2.4.1), then
    /// alternating families. The origin's own addresses follow (§3), if they may.
    ///
    /// - Parameters:
    ///   - routes: The routes, in the order of their priority.
    ///   - own: The origin's addresses; empty if they have not arrived.
    ///   - hasFallback: Whether the origin's addresses are tried after the routes; see ``OriginRequest/needsRoutes(_:)``.
    ///   - targets: The addresses of the routes' targets that have arrived. For others the hints are used.
    ///   - random: A random number in 0..<1.
    /// - Returns: Nil if no endpoint of a route is known.
    init?(
        _ routes: [ServiceRoute],
        own: HostAddresses,
        hasFallback: Bool,
        targets: [Host: HostAddresses],
        port: UInt16,
        ranking: EndpointRanking,
        random: () -> Double,
        now: Moment
    ) {
        var endpoints: [Endpoint] = []
        var services: [Endpoint: EndpointService] = [:]
        for route in Self.shuffled(routes, random: random) {
            var addresses = route.target.map { targets[$0] ?? HostAddresses() } ?? own
            if addresses.isEmpty {
                addresses = HostAddresses(
                    v4: route.hints.filter { $0.family == .v4 },
                    v6: route.hints.filter { $0.family == .v6 }
                )
            }
            let port = route.port ?? port
            let ordered = ranking.order(addresses, port: port, now: now).addresses
            let service = EndpointService(
                applicationProtocols: route.protocols,
                echConfigList: route.ech,
                isAuthenticated: route.isAuthenticated
            )
            for address in ordered where endpoints.count < Self.maxEndpoints {
                let endpoint = Endpoint(address, port: port)
                guard services[endpoint] == nil else { continue }
                services[endpoint] = service
                endpoints.append(endpoint)
            }
        }
        guard !endpoints.isEmpty else { return nil }
        if hasFallback {
            for address in ranking.order(own, port: port, now: now).addresses {
                let endpoint = Endpoint(address, port: port)
                if services[endpoint] == nil, endpoints.count < Self.maxEndpoints { endpoints.append(endpoint) }
            }
        }
        self.endpoints = endpoints
        self.services = services
    }

    private static func shuffled(_ routes: [ServiceRoute], random: () -> Double) -> [ServiceRoute] {
        guard routes.count > 1 else { return routes }
        var keys: [Double] = []
        for _ in routes { keys.append(random()) }
        return routes.indices
            .sorted { (routes[$0].priority, keys[$0], $0) < (routes[$1].priority, keys[$1], $1) }
            .map { routes[$0] }
    }

    package static func == (one: ServicePlan, other: ServicePlan) -> Bool {
        one === other || one.endpoints == other.endpoints && one.services == other.services
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(endpoints) }
}
