// SPDX-License-Identifier: Apache-2.0

public import Names

/// A loopback server that runs a closure for each connection: the tool for everything a well-behaved server never does.
///
/// ```swift
/// let server = try await RawServer.start { connection in
///     _ = try await connection.receiveRequest()
///     try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
///     try await connection.reset()
/// }
/// // … point a client at server.endpoint …
/// await server.stop()
/// ```
///
/// A connection is closed when its closure returns or throws. The closure is cancelled when the client closes and when
/// the server stops, so it needs no time limits of its own. ``Fault`` has a table of such closures.
public final class RawServer: Sendable {
    private let listener: LoopbackListener

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - addresses: loopback addresses; all of them get the same port.
    ///   - port: the port; 0, the default, takes one that is free on all addresses.
    ///   - tls: TLS, whose handshake is over before `serve` is called; nil: the bytes are the socket's.
    ///   - allowsHalfClosure: whether a client's FIN ends only its own direction. Otherwise, and always over TLS, it
    ///     closes the connection.
    ///   - serve: plays the server on one connection. Connections run at the same time.
    /// - Throws: ``TestingError`` with code `badAddress` or `noPort`.
    public static func start(
        addresses: [String] = ["127.0.0.1"],
        port: UInt16 = 0,
        tls: ServerTLS? = nil,
        allowsHalfClosure: Bool = false,
        serve: @escaping @Sendable (RawConnection) async throws -> Void
    ) async throws -> RawServer {
        let settings = LoopbackListener.Settings(
            addresses: addresses,
            port: port,
            tls: tls,
            allowsHalfClosure: allowsHalfClosure
        )
        return RawServer(listener: try await LoopbackListener.start(settings, serve: serve))
    }

    private init(listener: LoopbackListener) {
        self.listener = listener
    }

    /// Where it listens, in the order of the addresses that were asked for.
    public var endpoints: [Endpoint] { listener.endpoints }

    /// The first of ``endpoints``.
    public var endpoint: Endpoint { endpoints[0] }

    /// The port, the same on all addresses.
    public var port: UInt16 { endpoint.port }

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
