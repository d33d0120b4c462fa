// SPDX-License-Identifier: Apache-2.0

package import Names

/// A loopback server that runs a closure for each connection. Use it to simulate broken servers.
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
/// A connection closes when its closure returns or throws. The closure is cancelled when the client closes or the server stops,
/// so it needs no time limit of its own. ``Fault`` has a table of such closures.
package final class RawServer: Sendable {
    private let listener: LoopbackListener

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - addresses: The loopback addresses. All use the same port.
    ///   - port: The port. Default 0: a port that is free on all addresses.
    ///   - tls: The TLS settings. The handshake is complete before `serve` is called. Nil: no TLS.
    ///   - allowsHalfClosure: Whether a client's FIN closes only its own direction. If false, and always over TLS, it closes
    ///     the connection.
    ///   - serve: Plays the server on one connection. Connections run concurrently.
    /// - Throws: ``TestingError`` with code `badAddress` or `noPort`.
    package static func start(
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

    /// The endpoints, in the order of the given addresses.
    package var endpoints: [Endpoint] { listener.endpoints }

    /// The first of ``endpoints``.
    package var endpoint: Endpoint { endpoints[0] }

    /// The port, which is the same on all addresses.
    package var port: UInt16 { endpoint.port }

    /// The current connection counts.
    package var connections: ConnectionTally { listener.tally.value }

    /// Waits until the connection counts fulfil `condition`, such as `{ $0.open == 0 }`.
    ///
    /// - Throws: ``TestingError`` with code `timedOut` after `limit`.
    @discardableResult
    package func connections(
        within limit: Duration = .seconds(10),
        until condition: @escaping @Sendable (ConnectionTally) -> Bool
    ) async throws -> ConnectionTally {
        try await listener.tally.wait(for: "connections", atMost: limit, until: condition)
    }

    /// Closes the port and all connections, and returns when their work has ended.
    package func stop() async { await listener.stop() }
}
