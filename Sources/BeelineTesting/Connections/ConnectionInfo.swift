// SPDX-License-Identifier: Apache-2.0

import NIOCore
public import Names

/// Where a connection came from and what its handshake said.
public struct ConnectionInfo: Hashable, Sendable {
    /// Which connection of its server it is, counted from 1 in the order of acceptance.
    public let number: Int
    /// The endpoint at which it arrived: tells which of a server's addresses was dialled.
    public let local: Endpoint
    /// The client's endpoint.
    public let remote: Endpoint
    /// The server name of the client's TLS greeting (SNI, RFC 6066 §3); nil where it sent none or there is no TLS.
    public internal(set) var serverName: String?
    /// The protocol that ALPN settled on (RFC 7301), such as `h2`; nil where there was no choice.
    public internal(set) var applicationProtocol: String?
    /// Whether TLS carries it.
    public internal(set) var isSecure = false

    init(number: Int, local: Endpoint, remote: Endpoint) {
        self.number = number
        self.local = local
        self.remote = remote
    }
}

extension Endpoint {
    /// The endpoint of a socket address; nil for a Unix socket.
    init?(_ address: SocketAddress?) {
        guard let text = address?.ipAddress, let port = address?.port.flatMap(UInt16.init(exactly:)),
            let address = IPAddress(text)
        else { return nil }
        self.init(address, port: port)
    }
}
