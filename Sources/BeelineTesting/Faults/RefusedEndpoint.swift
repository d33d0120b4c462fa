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
/// The port is bound but not listened on, so that nobody else can take it while a test relies on it.
public final class RefusedEndpoint: Sendable {
    /// Where connections are refused.
    public let endpoint: Endpoint
    private let socket: PosixSocket

    /// Takes a port.
    ///
    /// - Parameters:
    ///   - address: a loopback address.
    ///   - port: the port; 0 takes a free one.
    /// - Throws: ``TestingError`` with code `badAddress`, or the error of the socket.
    public init(address: String = "127.0.0.1", port: UInt16 = 0) throws {
        let wanted = try Endpoint(loopback: address, port: port)
        socket = try PosixSocket(wanted.address.family)
        endpoint = try socket.bind(to: wanted)
    }

    /// Frees the port; so does the end of the object.
    public func close() { socket.close() }
}
