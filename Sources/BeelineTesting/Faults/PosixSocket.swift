// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOConcurrencyHelpers
import NIOCore
import Names

/// A POSIX TCP socket, for states that NIO channels do not offer: bound without listening, or listening without accepting.
final class PosixSocket: Sendable {
    /// Nil after the socket is closed.
    private let descriptor: NIOLockedValueBox<CInt?>
    private let handle: CInt

    init(_ family: IPAddress.Family) throws {
        #if canImport(Darwin) || canImport(Musl)
        let stream = SOCK_STREAM
        #else
        let stream = CInt(SOCK_STREAM.rawValue)
        #endif
        handle = try Self.check("socket", socket(family == .v4 ? AF_INET : AF_INET6, stream, 0))
        descriptor = NIOLockedValueBox(handle)
        // Child processes of a test must not inherit the socket; otherwise the port would stay in use.
        _ = fcntl(handle, F_SETFD, FD_CLOEXEC)
    }

    deinit { close() }

    /// Binds the socket. Returns the endpoint with its actual port.
    func bind(to endpoint: Endpoint) throws -> Endpoint {
        let address = try SocketAddress(ipAddress: "\(endpoint.address)", port: Int(endpoint.port))
        _ = try address.withSockAddr { pointer, size in
            try Self.check("bind to \(endpoint)", system_bind(handle, pointer, socklen_t(size)))
        }
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let port = try withUnsafeMutableBytes(of: &storage) { bytes in
            let pointer = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
            _ = try Self.check("getsockname", getsockname(handle, pointer, &size))
            // The port is at the same offset for both families, in network order.
            return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
        return Endpoint(endpoint.address, port: port)
    }

    func listen(backlog: CInt) throws {
        _ = try Self.check("listen", system_listen(handle, backlog))
    }

    /// Connects. If `waits` is false, only starts to connect.
    func connect(to endpoint: Endpoint, waits: Bool) throws {
        let address = try SocketAddress(ipAddress: "\(endpoint.address)", port: Int(endpoint.port))
        if !waits { _ = fcntl(handle, F_SETFL, O_NONBLOCK) }
        let result = address.withSockAddr { system_connect(handle, $0, socklen_t($1)) }
        if waits { _ = try Self.check("connect to \(endpoint)", result) }
    }

    func close() {
        let open = descriptor.withLockedValue { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
        if let open { _ = system_close(open) }
    }

    private static func check(_ what: String, _ result: CInt) throws -> CInt {
        guard result >= 0 else { throw IOError(errnoCode: errno, reason: what) }
        return result
    }
}

// The methods above hide these functions of the same name.
private let system_bind = bind
private let system_listen = listen
private let system_connect = connect
private let system_close = close
