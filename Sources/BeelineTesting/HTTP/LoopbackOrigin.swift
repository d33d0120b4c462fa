// SPDX-License-Identifier: Apache-2.0

public import Names

/// An HTTP server on loopback, with TLS. Its handler answers the requests, and the server records them.
///
/// ```swift
/// let authority = try TestAuthority()
/// let origin = try await LoopbackOrigin.start(
///     addresses: ["127.0.0.1", "127.0.0.2"],
///     tls: ServerTLS(try authority.certificate(for: "a.test"), try authority.certificate(for: "b.test"))
/// ) { request in
///     .text("\(request.method) for \(request.authority ?? "no host")")
/// }
/// // … a client requests https://a.test:port at origin.endpoints …
/// #expect(origin.requests.map(\.connection.serverName) == ["a.test"])
/// await origin.stop()
/// ```
///
/// If ``ServerTLS/applicationProtocols`` contains `h2`, the server uses HTTP/2 with clients that offer it. Requests on one
/// HTTP/1.1 connection are answered in order; connections and streams run concurrently. A handler that throws ends its
/// connection or stream. ``stop()`` cancels all handlers, so a handler may wait without a time limit.
public final class LoopbackOrigin: Sendable, LoopbackServer {
    /// Answers a request.
    public typealias Handler = @Sendable (ReceivedRequest) async throws -> Reply

    package let listener: LoopbackListener
    private let log: Watched<[ReceivedRequest]>

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - addresses: The loopback addresses. All use the same port, and each request records its address. macOS has only
    ///     127.0.0.1 and ::1; `sudo ifconfig lo0 alias 127.0.0.2` adds one.
    ///   - port: The port. Default 0: a port that is free on all addresses.
    ///   - tls: The certificates by server name; nil: HTTP without TLS.
    ///   - head: Called before the body is read. If it returns a reply, the server sends it without reading the body; it then
    ///     closes an HTTP/1.1 connection. If it returns nil, the server continues, and sends `100 Continue` if the client
    ///     expects it (RFC 9110 §10.1.1). While it runs, the server does not read the body, so the client's upload stalls.
    ///   - handler: Answers a request after its body is read.
    /// - Throws: ``TestingError`` if an address is not a loopback address of this machine, or no port is free on all of
    ///   them.
    public static func start(
        addresses: [String] = ["127.0.0.1"],
        port: UInt16 = 0,
        tls: ServerTLS? = nil,
        head: (@Sendable (ReceivedRequest) async throws -> Reply?)? = nil,
        handler: @escaping Handler
    ) async throws -> LoopbackOrigin {
        try await start(addresses: addresses, port: port, tls: tls, limits: Limits(), head: head, handler: handler)
    }

    /// - Parameter limits: The limits of HTTP/2.
    package static func start(
        addresses: [String] = ["127.0.0.1"],
        port: UInt16 = 0,
        tls: ServerTLS? = nil,
        limits: Limits,
        head: (@Sendable (ReceivedRequest) async throws -> Reply?)? = nil,
        handler: @escaping Handler
    ) async throws -> LoopbackOrigin {
        let log = Watched<[ReceivedRequest]>([])
        let exchange = ServerExchange(log: log, head: head, handler: handler)
        var settings = LoopbackListener.Settings(addresses: addresses, port: port, tls: tls)
        settings.multiplex = HTTP2ServerStream.multiplexer(limits) { try await exchange.serve($0) }
        let listener = try await LoopbackListener.start(settings) { try await exchange.serve($0) }
        return LoopbackOrigin(listener: listener, log: log)
    }

    private init(listener: LoopbackListener, log: Watched<[ReceivedRequest]>) {
        self.listener = listener
        self.log = log
    }

    /// The limits of a server for HTTP/2.
    package struct Limits: Hashable, Sendable {
        /// The maximum number of concurrent streams on an HTTP/2 connection (RFC 9113 §5.1.2). Default 100.
        package var concurrentStreams = 100
        /// The flow-control window of an HTTP/2 stream, in bytes. Default 65,535.
        package var streamWindow = 65_535

        /// Creates the default limits.
        package init() {}
    }

    /// The endpoints, in the order of the given addresses.
    public var endpoints: [Endpoint] { listener.endpoints }

    /// The first of ``endpoints``.
    public var endpoint: Endpoint { endpoints[0] }

    /// The port, which is the same on all addresses.
    public var port: UInt16 { endpoint.port }

    /// The recorded requests, at most 10,000, in the order in which their bodies were read. A request that `head` answered
    /// has no body.
    public var requests: [ReceivedRequest] { log.value }

    /// Waits until there are at least `count` requests, and returns them.
    ///
    /// - Throws: ``TestingError`` with code `timedOut` after `limit`.
    @discardableResult
    public func requests(atLeast count: Int, within limit: Duration = .seconds(10)) async throws -> [ReceivedRequest] {
        try await withTimeLimit(limit, for: { "\(count) requests; \(self.requests.count) came" }) { [log] in
            try await log.wait { $0.count >= count }
        }
    }

    /// Closes the port and all connections, and returns when their work has ended.
    public func stop() async { await listener.stop() }
}
