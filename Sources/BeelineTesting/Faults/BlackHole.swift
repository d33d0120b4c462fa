// SPDX-License-Identifier: Apache-2.0

public import Names

/// An endpoint that neither accepts nor refuses connections, like a dead route.
///
/// ```swift
/// let hole = try BlackHole()
/// // … a client with a connect timeout dials hole.endpoint …
/// hole.close()
/// ```
///
/// It is a listening socket whose accept queue is full, so the kernel drops further packets. An unroutable address would be
/// less reliable, because some networks answer for it. Works on Linux; other kernels may refuse connections when the queue is
/// full.
public final class BlackHole: Sendable {
    /// The endpoint that drops connections.
    public let endpoint: Endpoint
    private let sockets: [PosixSocket]

    /// Opens a black hole.
    ///
    /// - Parameters:
    ///   - address: A loopback address.
    ///   - port: The port; 0 chooses a free one.
    /// - Throws: ``TestingError`` if `address` is not a loopback address, or the error of the socket.
    public init(address: String = "127.0.0.1", port: UInt16 = 0) throws {
        let wanted = try Endpoint(loopback: address, port: port)
        let listener = try PosixSocket(wanted.address.family)
        let endpoint = try listener.bind(to: wanted)
        try listener.listen(backlog: 0)
        // A queue of backlog 0 holds one connection. The other sockets keep it full, whenever the kernel counts the first one.
        let fillers = try (0..<8).map { index in
            let filler = try PosixSocket(endpoint.address.family)
            try filler.connect(to: endpoint, waits: index == 0)
            return filler
        }
        self.endpoint = endpoint
        sockets = [listener] + fillers
    }

    /// Frees the port and refuses pending connections. Deallocation does the same.
    public func close() { for socket in sockets { socket.close() } }
}
