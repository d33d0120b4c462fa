// SPDX-License-Identifier: Apache-2.0

import NIOCore
public import Names

extension ReceivedRequest {
    /// The addresses of a connection and the results of its handshake.
    public struct Connection: Hashable, Sendable {
        /// The number of the connection on its server, from 1 in order of acceptance.
        public let number: Int
        /// This side's endpoint. On a server, it is the endpoint that the client connected to.
        public let local: Endpoint
        /// The peer's endpoint.
        public let remote: Endpoint
        /// The server name in the client's TLS ClientHello (SNI, RFC 6066 §3); nil if there is none or no TLS.
        public internal(set) var serverName: String?
        /// The protocol that ALPN negotiated (RFC 7301), such as `h2`; nil if none was negotiated.
        public internal(set) var applicationProtocol: String?
        /// Whether the connection uses TLS.
        public internal(set) var isSecure = false

        init(number: Int, local: Endpoint, remote: Endpoint) {
            self.number = number
            self.local = local
            self.remote = remote
        }
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
