// SPDX-License-Identifier: Apache-2.0

package import DirectHTTP
package import HTTPDNS
package import Names

/// Chooses the endpoints that may be dialled for an origin, or those of the proxy if the routing has one. The
/// resolution is `nil` if the endpoints do not come from the resolver. It is not called for an open connection or a
/// Unix domain socket.
package typealias EndpointScreen =
    @Sendable (
        _ endpoints: [Endpoint], _ routing: OriginRouting, _ resolution: Resolution?
    ) throws -> [Endpoint]

/// Thrown for an `http` origin whose HTTPS record shows that there is `https` (RFC 9460 §9.5), if the caller can
/// upgrade.
struct HTTPSRecordUpgrade: EndpointSourceSignal {}

/// The end of an error message that names the setting against such upgrades. The command replaces it by its option.
package enum HTTPSRecordRemedy {
    package static let keepHTTP = "ResolverConfiguration.usesHTTPSRecords = false keeps http"
}

/// Finds the endpoints of an origin according to its routing, and reports the attempts at them to the resolver.
package struct OriginEndpoints: EndpointSource {
    package let routing: OriginRouting
    private let resolver: Resolver
    private let screen: EndpointScreen?
    private let usesServices: Bool
    private let upgrades: Bool
    private let needsServices: Bool
    private let usesECH: Bool

    /// Creates the source for an origin with this routing.
    ///
    /// - Parameters:
    ///   - usesServices: Whether HTTPS records determine where to connect. False for a tunnel, because the client
    ///     chooses its protocol.
    ///   - upgrades: Whether the caller handles ``HTTPSRecordUpgrade``.
    ///   - tls: The settings of the connections. If they require ECH, HTTPS records are waited for as long as addresses.
    package init(
        _ routing: OriginRouting,
        resolver: Resolver,
        screen: EndpointScreen?,
        usesServices: Bool = true,
        upgrades: Bool = false,
        tls: TLSSettings
    ) {
        self.routing = routing
        self.resolver = resolver
        self.screen = screen
        self.usesServices = usesServices
        self.upgrades = upgrades
        needsServices = tls.ech == .required
        usesECH = tls.usesECHOfRecords
    }

    /// The endpoints that are known without waiting; `nil` if there are none.
    package func known(for origin: Origin) throws -> EndpointList? {
        switch routing {
        case .unixSocket: return .unixSocket
        case .proxy(let proxy): return try proxy.firstOrigin.host.address.map { try list([$0], of: proxy) }
        case .pinned(let addresses): return try list(reachable(addresses, port: origin.port))
        case .elsewhere(let target, let addresses?): return try list(reachable(addresses, port: target.port))
        case .resolve, .elsewhere:
            let place = place(of: origin)
            let known =
                asksServices(of: origin)
                ? resolver.cached(origin, usesECH: usesECH) : resolver.cached(place.host, port: place.port)
            // Only `endpoints(for:)` can tell whether there is a newer answer than a stale one.
            guard let known, known.source != .stale else { return nil }
            return try list(known, of: origin)
        case .refused(let problem): throw DirectHTTPError(.unresolved, problem)
        }
    }

    package func endpoints(for origin: Origin) async throws -> EndpointList {
        try await endpoints(for: origin, waitsForServices: needsServices)
    }

    private func endpoints(for origin: Origin, waitsForServices: Bool) async throws -> EndpointList {
        switch routing {
        case .resolve, .elsewhere(_, nil):
            let place = place(of: origin)
            let resolution =
                try await asksServices(of: origin)
                ? resolver.resolve(origin, fresh: false, waitsForServices: waitsForServices, usesECH: usesECH)
                : resolver.resolve(place.host, port: place.port)
            return try list(resolution, of: origin)
        case .proxy(let proxy) where proxy.firstOrigin.host.address == nil:
            return try list(await addresses(of: proxy.firstOrigin.host), of: proxy)
        default: return try known(for: origin) ?? EndpointList([])
        }
    }

    /// The endpoints of a newer answer, after all of a cached one failed: the site may have moved. After an answer for one
    /// family, those of the other.
    package func endpoints(for origin: Origin, insteadOf failed: EndpointList) async throws -> EndpointList? {
        guard let known = failed.context as? Resolution,
            known.source == .cached || known.source == .stale || known.isPartial || known.hasPlan
        else { return nil }
        // The resolver knows about the failures, and asks its upstreams again.
        if known.hasPlan { resolver.reportFailedRecords(of: origin) }
        let newer = try await endpoints(for: origin, waitsForServices: needsServices || known.hasPlan)
        let hasNew = newer.endpoints.contains {
            !failed.endpoints.contains($0) || newer.services[$0] != failed.services[$0]
        }
        return hasNew ? newer : nil
    }

    /// Reports an attempt at an endpoint of the origin to the resolver.
    package func attempted(_ attempt: Attempt, for origin: Origin) {
        guard case .direct = routing.route else { return }
        let host = place(of: origin).host
        if attempt.outcome == .connected {
            resolver.report(.connected(after: attempt.connect ?? .zero), at: attempt.endpoint, for: host)
        } else if attempt.isFailure {
            resolver.report(.failed, at: attempt.endpoint, for: host)
        }
    }

    /// Whether the origin's HTTPS records are needed: they determine where to connect, or show that there is `https`.
    /// Records of a ``ConnectRule``'s target are not the origin's.
    private func asksServices(of origin: Origin) -> Bool {
        guard case .resolve = routing else { return false }
        return origin.scheme.isSecure ? usesServices : upgrades && origin.scheme == .http
    }

    /// The host and port that the connection for an origin leads to.
    private func place(of origin: Origin) -> Origin {
        if case .elsewhere(let target, _) = routing { target } else { origin }
    }

    // MARK: Addresses

    /// The system's resolver returns the addresses of a proxy, because HTTPDNS is only for origins.
    private func addresses(of proxy: Host) async throws -> [IPAddress] {
        let families = resolver.configuration.families
        let answer = try await resolver.configuration.system?.answer(Question(proxy, families: families))
        return ((answer?.v4?.addresses ?? []) + (answer?.v6?.addresses ?? []))
            .filter { families.contains(Families($0.family)) }
    }

    private func list(_ addresses: [IPAddress], of proxy: Proxy) throws -> EndpointList {
        let endpoints = reachable(addresses, port: proxy.firstOrigin.port)
        guard !endpoints.isEmpty else { throw DirectHTTPError(.unresolved, "the proxy \(proxy) has no address") }
        return try list(endpoints.inZone(of: proxy.firstOrigin.host))
    }

    private func list(_ resolution: Resolution, of origin: Origin) throws -> EndpointList {
        if upgrades, !origin.scheme.isSecure, asksServices(of: origin), resolution.offersHTTPS {
            throw HTTPSRecordUpgrade()
        }
        var list = try list(resolution.endpoints.inZone(of: resolution.host), resolution: resolution)
        list.services = resolution.endpointServices
        return list
    }

    private func list(_ endpoints: [Endpoint], resolution: Resolution? = nil) throws -> EndpointList {
        EndpointList(try screen?(endpoints, routing, resolution) ?? endpoints, context: resolution)
    }

    /// Maps addresses to endpoints that the network can reach.
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

extension [Endpoint] {
    /// The endpoints with the scope of the host's zone, if it has one.
    fileprivate func inZone(of host: Host) throws(DirectHTTPError) -> [Endpoint] {
        guard host.zone != nil else { return self }
        guard let scope = host.scope else {
            throw DirectHTTPError(.connectFailed, "\(host): this machine has no interface with that name")
        }
        return map { Endpoint($0.address, port: $0.port, scope: scope) }
    }
}
