// SPDX-License-Identifier: Apache-2.0

public import Names

/// A real HTTP server on loopback, with real TLS, that does what its handler says and remembers what it saw.
///
/// ```swift
/// let authority = try TestAuthority()
/// let origin = try await LoopbackOrigin.start(
///     addresses: ["127.0.0.1", "127.0.0.2"],
///     tls: ServerTLS(try authority.certificate(for: "a.test"), try authority.certificate(for: "b.test"))
/// ) { request in
///     .text("\(request.method) for \(request.authority ?? "nobody")")
/// }
/// // … a client asks for https://a.test:port at origin.endpoints …
/// #expect(origin.requests.map(\.connection.serverName) == ["a.test"])
/// await origin.stop()
/// ```
///
/// With `h2` among the protocols of ``ServerTLS/applicationProtocols`` it speaks HTTP/2 to clients that offer it.
/// Requests on one connection of HTTP/1.1 are answered in order; connections and streams run at the same time. A
/// handler that throws ends its connection, or its stream. All of it ends with ``stop()``, so a handler may wait
/// without a limit of its own.
public final class LoopbackOrigin: Sendable {
    /// Answers a request.
    public typealias Handler = @Sendable (ReceivedRequest) async throws -> Reply

    private let listener: LoopbackListener
    private let record: RequestRecord

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - addresses: loopback addresses; all of them get the same port, and a request says where it arrived.
    ///   - port: the port; 0, the default, takes one that is free on all addresses.
    ///   - tls: certificates by server name; nil: HTTP in the clear.
    ///   - limits: what is kept of a request, and what an HTTP/2 client may do.
    ///   - head: asked before a body is read. A reply from here is sent in place of the body's reading, and the
    ///     connection closed; nil goes on, after `100 Continue` where the client expects it (RFC 9110 §10.1.1). While
    ///     it waits, nothing is read, so a client's upload comes to a stop.
    ///   - handler: answers a request that is read whole; ``Routes/standard`` has answers for most needs.
    /// - Throws: ``TestingError`` with code `badAddress` or `noPort`.
    public static func start(
        addresses: [String] = ["127.0.0.1"],
        port: UInt16 = 0,
        tls: ServerTLS? = nil,
        limits: Limits = Limits(),
        head: (@Sendable (ReceivedRequest) async throws -> Reply?)? = nil,
        handler: @escaping Handler
    ) async throws -> LoopbackOrigin {
        let record = RequestRecord(limit: limits.requests)
        let exchange = ServerExchange(limits: limits, record: record, head: head, handler: handler)
        var settings = LoopbackListener.Settings(addresses: addresses, port: port, tls: tls)
        settings.multiplex = HTTP2Stream.multiplexer(limits) { try await exchange.serve($0) }
        let listener = try await LoopbackListener.start(settings) { try await exchange.serve($0) }
        return LoopbackOrigin(listener: listener, record: record)
    }

    private init(listener: LoopbackListener, record: RequestRecord) {
        self.listener = listener
        self.record = record
    }

    /// What a server keeps and allows.
    public struct Limits: Hashable, Sendable {
        /// Bytes of a body that are kept; more are counted and hashed. Default 1 MiB.
        public var bodyBytes = 1 << 20
        /// Requests that are remembered, the first ones. Default 10,000.
        public var requests = 10_000
        /// Streams that a client may have open at once on an HTTP/2 connection (RFC 9113 §5.1.2). Default 100.
        public var concurrentStreams = 100
        /// Bytes of a body that an HTTP/2 client may send before the server has read them. Default 65,535.
        public var streamWindow = 65_535

        /// The defaults.
        public init() {}
    }

    /// Where it listens, in the order of the addresses that were asked for.
    public var endpoints: [Endpoint] { listener.endpoints }

    /// The first of ``endpoints``.
    public var endpoint: Endpoint { endpoints[0] }

    /// The port, the same on all addresses.
    public var port: UInt16 { endpoint.port }

    /// The requests so far, in the order in which they were read whole (with a `head` reply: up to their body).
    public var requests: [ReceivedRequest] { record.all.value }

    /// Returns the requests when there are at least `count` of them.
    ///
    /// - Throws: ``TestingError`` with code `timedOut` after `limit`.
    @discardableResult
    public func requests(atLeast count: Int, within limit: Duration = .seconds(10)) async throws -> [ReceivedRequest] {
        try await withTimeLimit(limit, { "\(count) requests; \(self.requests.count) came" }) { [record] in
            try await record.all.wait { $0.count >= count }
        }
    }

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

/// The requests that a server keeps, up to a bound.
final class RequestRecord: Sendable {
    let all = Watched<[ReceivedRequest]>([])
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    func add(_ request: ReceivedRequest) {
        all.update { all in
            if all.count < limit { all.append(request) }
        }
    }
}
