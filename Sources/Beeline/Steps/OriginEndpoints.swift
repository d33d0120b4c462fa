// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPDNS
import Names

/// Names the endpoints of an origin when the engine must dial: pins first, then the resolver.
struct OriginEndpoints: EndpointSource {
    let resolver: Resolver
    let pinned: [ClientConfiguration.Pin: [IPAddress]]
    var screen: EndpointScreen?

    func endpoints(for origin: Origin) async throws -> EndpointList {
        if !pinned.isEmpty,
            let addresses = pinned[.init(origin.host, port: origin.port)] ?? pinned[.init(origin.host)]
        {
            return EndpointList(try screened(addresses.map { Endpoint($0, port: origin.port) }, nil))
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

/// Names the endpoints of a proxy: an address as it is, a name by the system's resolver. HTTPDNS is for origins.
struct ProxyEndpoints: EndpointSource {
    let system: (any Upstream)?
    /// Of which a name's addresses are taken.
    let families: Families

    func endpoints(for origin: Origin) async throws -> EndpointList {
        if let address = origin.host.address {
            return EndpointList(try [Endpoint(address, port: origin.port)].inZone(of: origin.host))
        }
        guard let answer = try await system?.answer(Question(origin.host, families: families)) else {
            return EndpointList([])
        }
        let addresses = ((answer.v4?.addresses ?? []) + (answer.v6?.addresses ?? []))
            .filter { families.contains(Families($0.family)) }
        return EndpointList(addresses.map { Endpoint($0, port: origin.port) })
    }
}

extension [Endpoint] {
    /// The endpoints behind the interface that a host's zone names, if it has one.
    fileprivate func inZone(of host: Host) throws(DirectHTTPError) -> [Endpoint] {
        guard host.zone != nil else { return self }
        guard let scope = host.scope else {
            throw DirectHTTPError(.connectFailed, "\(host): this machine has no interface of that name")
        }
        return map { Endpoint($0.address, port: $0.port, scope: scope) }
    }
}
