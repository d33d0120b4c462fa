// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import Names

extension Endpoint {
    /// The endpoint of a socket address, without its scope; nil for a Unix domain socket.
    package init?(_ address: SocketAddress) {
        guard let port = address.port.flatMap({ UInt16(exactly: $0) }),
            let ip = address.withSockAddr({ address, _ in IPAddress(address) })
        else { return nil }
        self.init(ip, port: port)
    }
}

extension SocketAddress {
    /// The socket address of an endpoint, with its scope (RFC 4007 §11).
    package init(_ endpoint: Endpoint) throws {
        let plain = try SocketAddress(
            packedIPAddress: ByteBuffer(bytes: endpoint.address.octets),
            port: Int(endpoint.port)
        )
        guard endpoint.scope != 0, case .v6(let address) = plain else {
            self = plain
            return
        }
        var scoped = address.address
        // sin6_scope_id: the last 4 of 28 bytes of sockaddr_in6 (RFC 3493 §3.3). NIO does not export its name.
        withUnsafeMutableBytes(of: &scoped) { $0.storeBytes(of: endpoint.scope, toByteOffset: 24, as: UInt32.self) }
        self = SocketAddress(scoped, host: "")
    }
}
