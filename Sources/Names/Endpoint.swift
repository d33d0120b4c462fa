// SPDX-License-Identifier: Apache-2.0

/// Address and port that a socket goes to. It is never part of a URL, a Host header, a cookie or a TLS server name.
public struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// The address.
    public let address: IPAddress
    /// The port.
    public let port: UInt16

    /// An endpoint of address and port.
    public init(_ address: IPAddress, port: UInt16) {
        self.address = address
        self.port = port
    }

    /// `192.0.2.1:443` or `[2001:db8::1]:443`.
    public var description: String {
        address.family == .v6 ? "[\(address)]:\(port)" : "\(address):\(port)"
    }
}
