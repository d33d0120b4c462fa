// SPDX-License-Identifier: Apache-2.0

public import Names

/// An endpoint that neither accepts nor refuses: a connection to it stays in its first packet, as behind a dead route.
///
/// ```swift
/// let hole = try BlackHole()
/// // … a client with a connect timeout dials hole.endpoint …
/// hole.close()
/// ```
///
/// It is a listening socket whose queue is full and that nobody accepts from, so the kernel drops what comes. An
/// address that nobody routes would do less: on some machines something answers for it. Known to hold on Linux; other
/// kernels may refuse when the queue is full.
public final class BlackHole: Sendable {
    /// Where connections vanish.
    public let endpoint: Endpoint
    private let sockets: [PosixSocket]

    /// Opens a black hole.
    ///
    /// - Parameters:
    ///   - address: a loopback address.
    ///   - port: the port; 0 takes a free one.
    /// - Throws: ``TestingError`` with code `badAddress`, or the error of the socket.
    public init(address: String = "127.0.0.1", port: UInt16 = 0) throws {
        let wanted = try Endpoint(loopback: address, port: port)
        let listener = try PosixSocket(wanted.address.family)
        let endpoint = try listener.bind(to: wanted)
        try listener.listen(backlog: 0)
        // A queue of backlog 0 holds one connection. The others stand in line for good, whatever the moment at which
        // the kernel counts the first one.
        let fillers = try (0..<8).map { index in
            let filler = try PosixSocket(endpoint.address.family)
            try filler.connect(to: endpoint, waits: index == 0)
            return filler
        }
        self.endpoint = endpoint
        sockets = [listener] + fillers
    }

    /// Frees the port; what still tries to connect is refused from now on. So does the end of the object.
    public func close() { for socket in sockets { socket.close() } }
}

extension Endpoint {
    /// An endpoint of a loopback address.
    init(loopback text: String, port: UInt16) throws {
        guard let address = IPAddress(text), address.isLoopback else {
            throw TestingError(.badAddress, "\"\(text)\": doubles listen on 127.0.0.0/8 and ::1 only")
        }
        self.init(address, port: port)
    }
}
