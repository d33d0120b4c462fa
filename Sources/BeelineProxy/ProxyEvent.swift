// SPDX-License-Identifier: Apache-2.0

public import Names

/// What a proxy tells of its work.
public enum ProxyEvent: Sendable {
    /// How a client asked.
    public enum Kind: String, Sendable, Hashable {
        /// A tunnel, by HTTP.
        case connect = "CONNECT"
        /// A tunnel, by SOCKS5.
        case socks = "SOCKS"
        /// A request for an `http` URL.
        case forward = "HTTP"
    }

    /// A connection to an origin stands.
    case connected(Kind, Destination, Endpoint, after: Duration)
    /// A tunnel has ended, with so many bytes to the origin and from it.
    case ended(Destination, sent: Int, received: Int)
    /// A client was refused; the destination is nil where it was not understood.
    case refused(Destination?, Refusal)
}
