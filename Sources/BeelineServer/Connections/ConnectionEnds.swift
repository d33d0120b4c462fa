// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore
import Names

/// The addresses of the two ends of a connection.
struct ConnectionEnds: Sendable {
    /// The address of the client, or of a proxy in front of it.
    let peer: IPAddress
    /// The local endpoint that the peer connected to.
    let local: Endpoint?
    private let trusted: [IPNetwork]

    /// The maximum number of forwarded addresses to examine, starting with the nearest.
    private static let maxHops = 32

    init(_ channel: any Channel, trusting trusted: [IPNetwork]) {
        let local = channel.localAddress.flatMap { Endpoint($0) }
        self.init(
            peer: channel.remoteAddress.flatMap { Endpoint($0) }?.address ?? IPAddress(v4: 0),
            local: local.map { Endpoint($0.address.unmapped, port: $0.port) },
            trusting: trusted
        )
    }

    init(peer: IPAddress, local: Endpoint? = nil, trusting trusted: [IPNetwork]) {
        let peer = peer.unmapped
        self.peer = peer
        self.local = local
        // Only a trusted proxy may report the address of its client.
        self.trusted = trusted.contains { $0.contains(peer) } ? trusted : []
    }

    /// The ends that a proxy reports; the present ones if it speaks for itself.
    func reported(by header: ProxyHeader, trusting trusted: [IPNetwork]) -> ConnectionEnds {
        guard let ends = header.ends else { return self }
        return ConnectionEnds(peer: ends.source.address, local: ends.destination, trusting: trusted)
    }

    /// The client whose connections are counted. Nil for a trusted proxy, because its connections carry many clients.
    var countedClient: IPAddress? { trusted.isEmpty ? peer.ofSubscriber : nil }

    /// The address of the client: the peer, or the address that the chain of trusted proxies reports.
    ///
    /// - Parameter forwardedFor: The request's `X-Forwarded-For` field. Each proxy appends its peer, so only the entries that
    ///   trusted proxies appended are reliable.
    func client(_ forwardedFor: String?) -> IPAddress {
        guard !trusted.isEmpty, let forwardedFor else { return peer }
        var client = peer
        for hop in forwardedFor.split(separator: ",").suffix(Self.maxHops).reversed() {
            guard let address = Self.address(hop), trusted.contains(where: { $0.contains(client) }) else { break }
            client = address
        }
        return client
    }

    /// Whether a request without TLS may name this host. Protects against DNS rebinding: a web page can make its own name resolve
    /// to this machine, and its requests then carry that name. A connection to a loopback address therefore accepts only IP
    /// addresses and `localhost`. A trusted proxy may forward other names.
    ///
    /// - Parameter host: The request's `Host` field. Nil is accepted, because browsers always send the field.
    func mayBeCalled(_ host: String?) -> Bool {
        guard let host, local?.address.isLoopback ?? false, trusted.isEmpty else { return true }
        guard let name = try? HTTPURL("http://\(host)").origin.host else { return false }
        return name.address != nil || name.text == "localhost" || name.text.hasSuffix(".localhost")
    }

    /// Reads an address. Some proxies append a port.
    private static func address(_ text: Substring) -> IPAddress? {
        let text = String(text.filter { $0 != " " && $0 != "\t" })
        return (IPAddress(text) ?? (try? Endpoint(parsing: text, defaultPort: 0))?.address)?.unmapped
    }
}
