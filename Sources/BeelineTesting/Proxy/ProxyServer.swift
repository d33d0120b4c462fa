// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import Names

/// An HTTP or SOCKS5 proxy on loopback. It records its requests and connects only to targets that the test routes.
///
/// ```swift
/// let proxy = try await ProxyServer.start(.http) { name, port in
///     name == "www.a.test" ? origin.endpoint : nil
/// }
/// // … a client with the proxy http://127.0.0.1:port requests https://www.a.test/ …
/// #expect(proxy.requests.map(\.host) == ["www.a.test"])     // the client sends the name, not an address
/// await proxy.stop()
/// ```
///
/// An HTTP proxy tunnels CONNECT and forwards `http://` requests, one for each connection.
package final class ProxyServer: LoopbackServer {
    /// The proxy protocol.
    package enum Kind: Hashable, Sendable {
        /// HTTP (RFC 9110 §7.6 and §9.3.6), over TLS if the server has TLS settings.
        case http
        /// SOCKS5 (RFC 1928), with username/password authentication (RFC 1929).
        case socks5
    }

    /// A request to the proxy.
    package struct Request: Hashable, Sendable {
        /// The kinds of request.
        package enum Method: Hashable, Sendable {
            /// An HTTP CONNECT tunnel.
            case connect
            /// An HTTP request with an absolute URL.
            case forward
            /// A SOCKS5 request.
            case socks5
        }

        /// The kind of request.
        package let method: Method
        /// The target host as sent: a name, or an address if the client resolved the name.
        package let host: String
        /// The port.
        package let port: UInt16
        /// The `user:password` that the client sent, whether correct or not.
        package let credentials: String?
        /// The header fields; empty for SOCKS5.
        package let fields: HTTPFields

        /// Whether the client sent an address instead of a name.
        package var isAddress: Bool { IPAddress(host.filter { !"[]".contains($0) }) != nil }
    }

    package let listener: LoopbackListener
    private let log: Watched<[Request]>

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - kind: The proxy protocol.
    ///   - addresses: The loopback addresses. All use the same port.
    ///   - port: The port. Default 0: a free port.
    ///   - tls: The TLS settings between client and proxy; nil: no TLS.
    ///   - credentials: The `user:password` that a client must send; nil: no authentication.
    ///   - instead: Returns a reply to send instead of tunnelling or forwarding, such as `.status(.forbidden)`, or nil to
    ///     proceed. HTTP only. Default nil: always proceed.
    ///   - route: Returns the endpoint of a target; nil: the target is unreachable (502, or "host unreachable").
    /// - Throws: ``TestingError`` with code `badAddress` or `noPort`.
    package static func start(
        _ kind: Kind,
        addresses: [String] = ["127.0.0.1"],
        port: UInt16 = 0,
        tls: ServerTLS? = nil,
        credentials: String? = nil,
        instead: (@Sendable (Request) async throws -> Reply?)? = nil,
        route: @escaping @Sendable (_ host: String, _ port: UInt16) -> Endpoint?
    ) async throws -> ProxyServer {
        let log = Watched<[Request]>([])
        let settings = LoopbackListener.Settings(addresses: addresses, port: port, tls: tls, allowsHalfClosure: true)
        let listener: LoopbackListener
        switch kind {
        case .http:
            let exchange = HTTPProxyExchange(log: log, credentials: credentials, instead: instead, route: route)
            listener = try await LoopbackListener.start(settings) { try await exchange.serve($0) }
        case .socks5:
            let exchange = SOCKSExchange(log: log, credentials: credentials, route: route)
            listener = try await LoopbackListener.start(settings) { try await exchange.serve($0) }
        }
        return ProxyServer(listener: listener, log: log)
    }

    private init(listener: LoopbackListener, log: Watched<[Request]>) {
        self.listener = listener
        self.log = log
    }

    /// The recorded requests, at most 10,000.
    package var requests: [Request] { log.value }
}
