// SPDX-License-Identifier: Apache-2.0

/// Address and port that a socket goes to. It is never part of a URL, a Host header, a cookie or a TLS server name.
public struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// The address.
    public let address: IPAddress
    /// The port.
    public let port: UInt16
    /// The index of the interface behind which a link-local IPv6 address is meant (RFC 4007 §6); 0: none is named.
    public let scope: UInt32

    /// An endpoint of address and port.
    ///
    /// - Parameters:
    ///   - address: the address.
    ///   - port: the port.
    ///   - scope: the interface's index, as `if_nametoindex` tells it, for a link-local IPv6 address. Default 0: none.
    public init(_ address: IPAddress, port: UInt16, scope: UInt32 = 0) {
        self.address = address
        self.port = port
        self.scope = address.family == .v6 ? scope : 0
    }

    /// `192.0.2.1:443`, `[2001:db8::1]:443` or, with a scope, `[fe80::1%2]:443`.
    public var description: String {
        guard address.family == .v6 else { return "\(address):\(port)" }
        return scope == 0 ? "[\(address)]:\(port)" : "[\(address)%\(scope)]:\(port)"
    }
}
