// SPDX-License-Identifier: Apache-2.0

public import Names

/// An event of a proxy.
public enum ProxyEvent: Sendable {
    /// The kind of a client's request.
    public enum Kind: String, Sendable, Hashable {
        /// A tunnel by HTTP CONNECT.
        case connect = "CONNECT"
        /// A tunnel by SOCKS5.
        case socks = "SOCKS"
        /// A forwarded request for an `http` URL.
        case forward = "HTTP"
    }

    /// A connection to an origin was established; `after` is the time from the request to the connection, with name
    /// resolution.
    case connected(Kind, Destination, Endpoint, after: Duration)
    /// A tunnel ended; `sent` and `received` are the bytes to and from the origin.
    case ended(Destination, sent: Int, received: Int)
    /// A request was refused; the destination is nil if the request could not be parsed.
    case refused(Destination?, Refusal)
}
