// SPDX-License-Identifier: Apache-2.0

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
package final class RawServer: LoopbackServer {
    package let listener: LoopbackListener

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
}
