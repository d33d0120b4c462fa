// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
package import HTTPDNS
package import Names

/// Finds the endpoints of an origin when the engine dials: pinned addresses first, then the resolver.
struct OriginEndpoints: EndpointSource {
    let resolver: Resolver
    let pinned: [ClientConfiguration.Pin: [IPAddress]]
    var screen: EndpointScreen?

    func endpoints(for origin: Origin) async throws -> EndpointList {
        if let endpoints = pinned.endpoints(of: origin.host, port: origin.port, in: resolver.network) {
            return EndpointList(try screened(endpoints, nil))
        }
        let resolution = try await resolver.resolve(origin)
        let endpoints = try resolution.endpoints.inZone(of: origin.host)
        return EndpointList(try screened(endpoints, resolution), context: resolution)
    }

    private func screened(_ endpoints: [Endpoint], _ resolution: Resolution?) throws -> [Endpoint] {
        guard let screen else { return endpoints }
        return try screen(endpoints, resolution)
    }

    func attempted(_ attempt: Attempt, for origin: Origin) {
        resolver.learn(from: attempt, of: origin.host)
    }
}

extension [ClientConfiguration.Pin: [IPAddress]] {
    /// The pinned endpoints of a host, mapped to addresses that the network can reach; `nil` if the host is not pinned.
    package func endpoints(
        of host: Host,
        port: UInt16,
        in network: @autoclosure () -> Network
    ) -> [Endpoint]? {
        guard !isEmpty, let addresses = self[.init(host, port: port)] ?? self[.init(host)] else { return nil }
        let network = network()
        return addresses.flatMap { network.reachable($0) }.map { Endpoint($0, port: port) }
    }
}

extension [Endpoint] {
    /// The endpoints with the scope of the host's zone, if it has one.
    func inZone(of host: Host) throws(DirectHTTPError) -> [Endpoint] {
        guard host.zone != nil else { return self }
        guard let scope = host.scope else {
            throw DirectHTTPError(.connectFailed, "\(host): this machine has no interface with that name")
        }
        return map { Endpoint($0.address, port: $0.port, scope: scope) }
    }
}
