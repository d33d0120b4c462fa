// SPDX-License-Identifier: Apache-2.0

public import Names

/// An endpoint that refuses every connection at once (RST to the first packet).
///
/// ```swift
/// let dead = try RefusedEndpoint()
/// // … dial dead.endpoint …
/// dead.close()
/// ```
///
/// The port is bound without listening, so that no other process can take it during a test.
public final class RefusedEndpoint: Sendable {
    /// The endpoint that refuses connections.
    public let endpoint: Endpoint
    private let socket: PosixSocket

    /// Binds a port.
    ///
    /// - Parameters:
    ///   - address: A loopback address.
    ///   - port: The port; 0 chooses a free one.
    /// - Throws: ``TestingError`` if `address` is not a loopback address, or the error of the socket.
    public init(address: String = "127.0.0.1", port: UInt16 = 0) throws {
        let wanted = try Endpoint(loopback: address, port: port)
        socket = try PosixSocket(wanted.address.family)
        endpoint = try socket.bind(to: wanted)
    }

    /// Frees the port. Deallocation does the same.
    public func close() { socket.close() }
}
