// SPDX-License-Identifier: Apache-2.0

package import HTTPDNS
package import Names

/// The rules for the destinations that the proxy connects to. A value without I/O.
///
/// A local proxy can reach addresses that a web page or another machine must not reach: this machine, its network, a
/// cloud's metadata service. A name may therefore lead only to public addresses, even if its DNS answer has others (DNS
/// rebinding). This includes private names such as `nas.local`, except those in `NamePolicy.denied`, in tables and pins.
public struct AccessPolicy: Hashable, Sendable {
    /// The ports that tunnels (CONNECT and SOCKS) may connect to. Default 443, 80 and 8443; empty allows all ports.
    public var tunnelPorts: Set<UInt16> = [443, 80, 8443]
    /// Whether names may resolve to addresses of this machine and its networks, and whether clients may connect to such
    /// addresses. Default false.
    public var allowsLocalAnswers = false
    /// Whether clients may connect to private addresses such as `192.168.1.2` by address. Default true, for printers and file
    /// servers. Set it to false for a proxy that other machines can use.
    public var allowsPrivateTargets = true

    /// Creates the default policy.
    public init() {}

    /// The source of a destination's addresses.
    package enum Source: Hashable, Sendable {
        /// A DNS answer for a name.
        case answer
        /// The client gave the address itself or `localhost`.
        case literal
        /// The user configured it: a host table, a pin, or a domain that the system resolves.
        case trusted
    }

    /// The reason why a tunnel to this port is refused; nil if it is allowed.
    package func refusal(ofTunnelTo destination: Destination) -> Refusal? {
        guard !tunnelPorts.isEmpty, !tunnelPorts.contains(destination.port) else { return nil }
        let ports = tunnelPorts.sorted().map(String.init).joined(separator: ", ")
        return Refusal(403, "tunnels may go to the ports \(ports), not to \(destination.port): allow it if intended")
    }

    /// The endpoints that may be dialled for a destination, in order.
    ///
    /// - Parameter prefixes: the NAT64 prefixes of the network. Addresses under them are checked as the IPv4 address within.
    /// - Throws: ``Refusal`` with status 403 if no endpoint is left, with the reason for the first.
    package func permitted(
        _ endpoints: [Endpoint],
        for destination: Destination,
        source: Source,
        own: OwnEndpoints,
        behind prefixes: [NAT64Prefix] = []
    ) throws(Refusal) -> [Endpoint] {
        var reason: String?
        var permitted = endpoints
        permitted.removeAll { endpoint in
            let why = objection(to: endpoint, source: source, own: own, behind: prefixes)
            reason = reason ?? why
            return why != nil
        }
        if permitted.isEmpty, let reason { throw Refusal(403, "\(destination): \(reason)") }
        return permitted
    }

    private func objection(
        to endpoint: Endpoint,
        source: Source,
        own: OwnEndpoints,
        behind prefixes: [NAT64Prefix]
    ) -> String? {
        let address = prefixes.lazy.compactMap { $0.extract(endpoint.address) }.first ?? endpoint.address
        if own.contains(endpoint) { return "that is this proxy" }
        if address.isUnspecified || address.isMulticast || address.isBroadcast {
            return "\(address) is not the address of one machine"
        }
        if allowsLocalAnswers || source == .trusted || address.isGloballyReachable { return nil }
        switch source {
        case .literal
        where allowsPrivateTargets && (address.isPrivate || address.isShared || address.isDocumentation)
            && !address.isMetadata:
            return nil
        case .literal:
            return "\(address) is an address of this machine or its network: allow local answers if intended"
        default:
            return "the name leads to \(address), which is not a public address: allow local answers if intended"
        }
    }
}
