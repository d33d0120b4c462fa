// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Names

/// A proxy on loopback, of HTTP or SOCKS5, that remembers what it was asked for and reaches what the test lets it
/// reach.
///
/// ```swift
/// let proxy = try await ProxyServer.start(.http) { name, port in
///     name == "www.a.test" ? origin.endpoint : nil
/// }
/// // … a client with the proxy http://127.0.0.1:port asks for https://www.a.test/ …
/// #expect(proxy.requests.map(\.host) == ["www.a.test"])     // the name travels, not an address
/// await proxy.stop()
/// ```
///
/// As an HTTP proxy it tunnels CONNECT and forwards `http://` requests, one for each connection.
public final class ProxyServer: Sendable {
    /// What a proxy speaks.
    public enum Kind: Hashable, Sendable {
        /// HTTP (RFC 9110 §7.6 and §9.3.6), over TLS where the server has it.
        case http
        /// SOCKS5 (RFC 1928, with the user names of RFC 1929).
        case socks5
    }

    /// What it was asked to do.
    public struct Request: Hashable, Sendable {
        /// Ways to ask.
        public enum Method: Hashable, Sendable {
            /// A tunnel by CONNECT.
            case connect
            /// A request with the whole URL.
            case forward
            /// A SOCKS5 request.
            case socks5
        }

        /// How it was asked.
        public let method: Method
        /// The target as it was written: a name, or an address where the client had resolved it.
        public let host: String
        /// The port.
        public let port: UInt16
        /// `user:password` that came along, right or wrong.
        public let credentials: String?
        /// The header fields; empty for SOCKS5.
        public let fields: HTTPFields

        /// Whether the client has sent an address in place of a name.
        public var isAddress: Bool { IPAddress(host.filter { !"[]".contains($0) }) != nil }
    }

    private let listener: LoopbackListener
    private let log: Watched<[Request]>

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - kind: what it speaks.
    ///   - addresses: loopback addresses; all of them get the same port.
    ///   - port: the port; 0, the default, takes a free one.
    ///   - tls: TLS between client and proxy; nil: none.
    ///   - credentials: `user:password` that a client must send; nil: none are asked for.
    ///   - instead: a reply in place of a tunnel or of forwarding, such as `.status(.forbidden)`; HTTP only. nil, the
    ///     default, does as asked.
    ///   - route: where a target is reached; nil: it is not (502, or "host unreachable").
    /// - Throws: ``TestingError`` with code `badAddress` or `noPort`.
    public static func start(
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

    /// Where it listens.
    public var endpoint: Endpoint { listener.endpoints[0] }

    /// What it was asked so far; at most 10,000.
    public var requests: [Request] { log.value }

    /// The connections so far.
    public var connections: ConnectionTally { listener.tally.value }

    /// Returns when the connections fulfil `condition`, such as `{ $0.open == 0 }`.
    ///
    /// - Throws: ``TestingError`` with code `timedOut` after `limit`.
    @discardableResult
    public func connections(
        within limit: Duration = .seconds(10),
        until condition: @escaping @Sendable (ConnectionTally) -> Bool
    ) async throws -> ConnectionTally {
        try await listener.tally.wait(for: "connections", atMost: limit, until: condition)
    }

    /// Closes the port and all connections, and returns when they are gone.
    public func stop() async { await listener.stop() }
}

extension Watched<[ProxyServer.Request]> {
    func add(_ request: ProxyServer.Request) {
        update { if $0.count < 10_000 { $0.append(request) } }
    }
}
