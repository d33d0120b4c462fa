// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// Who is at the two ends of a connection.
struct ConnectionEnds: Sendable {
    /// The client, or a proxy in front of it.
    private let peer: IPAddress
    /// The endpoint of ours that the peer came to.
    let local: Endpoint?
    private let trusted: [IPNetwork]

    /// Hops that are looked at, the nearest first.
    private static let maxHops = 32

    init(_ channel: any Channel, trusting trusted: [IPNetwork]) {
        let address = channel.localAddress?.ipAddress.flatMap { IPAddress($0) }?.unmapped
        let port = channel.localAddress?.port.flatMap { UInt16(exactly: $0) }
        self.init(
            peer: channel.remoteAddress?.ipAddress.flatMap { IPAddress($0) } ?? IPAddress(v4: 0),
            local: address.flatMap { address in port.map { Endpoint(address, port: $0) } },
            trusting: trusted
        )
    }

    init(peer: IPAddress, local: Endpoint? = nil, trusting trusted: [IPNetwork]) {
        let peer = peer.unmapped
        self.peer = peer
        self.local = local
        // Nobody else's word counts.
        self.trusted = trusted.contains { $0.contains(peer) } ? trusted : []
    }

    /// Whom a connection counts for; nil for a proxy that is trusted, which has those of many clients.
    var countedClient: IPAddress? { trusted.isEmpty ? RateLimiter.key(peer) : nil }

    /// Who asks: the peer, or where that is a proxy that is trusted the last that such proxies say they had it from.
    ///
    /// - Parameter forwardedFor: the request's `X-Forwarded-For`: each proxy adds its peer at the end, so that only what trusted
    ///   ones added is true.
    func client(_ forwardedFor: String?) -> IPAddress {
        guard !trusted.isEmpty, let forwardedFor else { return peer }
        var client = peer
        for hop in forwardedFor.split(separator: ",").suffix(Self.maxHops).reversed() {
            guard let address = Self.address(hop), trusted.contains(where: { $0.contains(client) }) else { break }
            client = address
        }
        return client
    }

    /// Whether a request in the clear may name this host. A web page whose name was made to lead to this machine (DNS
    /// rebinding) asks under that name, so that a connection to a loopback address takes addresses and `localhost` alone. A
    /// trusted proxy passes other names on.
    ///
    /// - Parameter host: the request's `Host`; nil: it has none, which no browser leaves out.
    func mayBeCalled(_ host: String?) -> Bool {
        guard let host, local?.address.isLoopback ?? false, trusted.isEmpty else { return true }
        guard let name = try? HTTPURL("http://\(host)").origin.host else { return false }
        return name.address != nil || name.text == "localhost" || name.text.hasSuffix(".localhost")
    }

    /// An address, which some proxies write with a port.
    private static func address(_ text: Substring) -> IPAddress? {
        let text = String(text.filter { $0 != " " && $0 != "\t" })
        return (IPAddress(text) ?? (try? Endpoint(parsing: text, defaultPort: 0))?.address)?.unmapped
    }
}
