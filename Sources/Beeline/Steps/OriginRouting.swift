// SPDX-License-Identifier: Apache-2.0

package import DirectHTTP
package import Names

/// How to reach an origin. The client, the proxy and the gateway all follow it.
package enum OriginRouting: Hashable, Sendable {
    /// By the Unix domain socket at this path.
    case unixSocket(String)
    /// Through a proxy, which gets the host name.
    indirect case proxy(Proxy)
    /// At fixed addresses.
    case pinned([IPAddress])
    /// At the addresses that the resolver returns.
    case resolve
    /// At another host and port (see ``ConnectRule``). Nil addresses stand for those that the resolver returns for that
    /// host.
    case elsewhere(Origin, [IPAddress]?)
    /// Not at all, for this reason.
    case refused(String)

    package var route: Route {
        switch self {
        case .unixSocket(let path): .unixSocket(path)
        case .proxy(let proxy): .proxy(proxy)
        case .pinned, .resolve, .elsewhere, .refused: .direct
        }
    }

    package var proxy: Proxy? {
        if case .proxy(let proxy) = self { proxy } else { nil }
    }
}

extension ClientConfiguration {
    /// Decides how to reach an origin. A Unix domain socket comes before a proxy, and a proxy before pins and the resolver. A
    /// ``ConnectRule`` changes where the connection leads, through a proxy by a tunnel.
    package func routing(to origin: Origin) -> OriginRouting {
        if let path = unixSocket ?? unixSockets.value(for: origin) { return .unixSocket(path) }
        if let problem = proxies.problem(with: origin) { return .refused(problem) }
        let target = connectTo.lazy.compactMap { $0.target(of: origin) }.first
        if var proxy = proxies.route(to: origin).proxy {
            if let target, target != origin {
                proxy.target = target
                proxy.tunnelsPlainHTTP = true
            }
            return .proxy(proxy)
        }
        if let target { return .elsewhere(target, fixedAddresses(of: target)) }
        return fixedAddresses(of: origin).map(OriginRouting.pinned) ?? .resolve
    }

    private func fixedAddresses(of origin: Origin) -> [IPAddress]? {
        pinned.value(for: origin) ?? pinnedPorts[origin.port]
    }
}

extension Dictionary where Key == ClientConfiguration.Pin {
    /// The value for the port of an origin, or else for every port.
    fileprivate func value(for origin: Origin) -> Value? {
        isEmpty ? nil : self[Key(origin.host, port: origin.port)] ?? self[Key(origin.host)]
    }
}
