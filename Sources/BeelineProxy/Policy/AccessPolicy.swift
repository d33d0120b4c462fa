// SPDX-License-Identifier: Apache-2.0

public import HTTPDNS
public import Names

/// Where the proxy goes, and where it does not: a value without I/O.
///
/// A proxy on this machine reaches what a web page or another machine must not: the machine itself, its network, a cloud's
/// metadata service. So a public name leads to public addresses only, whatever its answer says (DNS rebinding).
public struct AccessPolicy: Hashable, Sendable {
    /// Ports that tunnels (CONNECT and SOCKS) may go to. Default 443, 80 and 8443; empty: any.
    public var tunnelPorts: Set<UInt16> = [443, 80, 8443]
    /// Whether names may lead to addresses of this machine and its networks, and such addresses may be asked for.
    /// Default false.
    public var allowsLocalAnswers = false
    /// Whether addresses of private networks may be asked for as such, `192.168.1.2` and its like. Default true, for
    /// printers and file servers; a proxy that listens for other machines should say false.
    public var allowsPrivateTargets = true

    /// The defaults.
    public init() {}

    /// How the addresses of a destination came to be known.
    public enum Source: Hashable, Sendable {
        /// Somebody answered for a name.
        case answer
        /// The client named the address, or it is `localhost`.
        case literal
        /// The user wrote it down for the name: a table, a pin, or a domain that is the system's.
        case trusted
    }

    /// Why a tunnel may not go to this port; nil where it may.
    public func refusal(ofTunnelTo destination: Destination) -> Refusal? {
        guard !tunnelPorts.isEmpty, !tunnelPorts.contains(destination.port) else { return nil }
        let ports = tunnelPorts.sorted().map(String.init).joined(separator: ", ")
        return Refusal(403, "tunnels go to the ports \(ports), not to \(destination.port): allow it if it is meant")
    }

    /// The endpoints that may be dialled for a destination, in their order.
    ///
    /// - Parameters:
    ///   - endpoints: those that are known for it.
    ///   - destination: what the client asked for.
    ///   - source: how they came to be known.
    ///   - own: where the proxy itself listens.
    ///   - prefixes: of the network's NAT64: an address under one of them leads to the IPv4 address in it.
    /// - Throws: ``Refusal`` with status 403 where none is left, with the reason of the first.
    public func permitted(
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
            return "\(address) is no address of one machine"
        }
        if allowsLocalAnswers || source == .trusted || address.isGloballyReachable { return nil }
        switch source {
        case .literal
        where allowsPrivateTargets && (address.isPrivate || address.isShared || address.isDocumentation)
            && !address.isMetadata:
            return nil
        case .literal:
            return "\(address) is an address of this machine or its network: allow local answers if it is meant"
        default:
            return "a public name leads to \(address), which is no public address: allow local answers if it is meant"
        }
    }
}
