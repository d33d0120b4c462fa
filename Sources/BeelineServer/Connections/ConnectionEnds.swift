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

    /// An address, which some proxies write with a port.
    private static func address(_ text: Substring) -> IPAddress? {
        let text = String(text.filter { $0 != " " && $0 != "\t" })
        return (IPAddress(text) ?? (try? Endpoint(parsing: text, defaultPort: 0))?.address)?.unmapped
    }
}
