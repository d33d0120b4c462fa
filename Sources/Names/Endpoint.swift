// SPDX-License-Identifier: Apache-2.0

/// The address and port that a socket connects to. An endpoint is never part of a URL, a Host header, a cookie or a TLS server
/// name.
public struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// The address.
    public let address: IPAddress
    /// The port.
    public let port: UInt16
    /// The interface index of a link-local IPv6 address (RFC 4007 §6). 0 means that there is none.
    public let scope: UInt32

    /// Creates an endpoint from an address and a port.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - port: The port.
    ///   - scope: The interface index, as `if_nametoindex` returns it, for an IPv6 address. Ignored for IPv4. Default 0: none.
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
