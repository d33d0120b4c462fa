// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// The client's side of SOCKS5 (RFC 1928, RFC 1929) as a value: bytes in, bytes out. It requests the host by name.
struct SOCKSHandshake: ByteHandshake {
    private enum State {
        case method
        case authentication
        case reply
    }

    private let host: Host
    private let port: UInt16
    private let user: String?
    private let password: String
    private let allowsSurplus: Bool
    private var state = State.method
    private var buffer: [UInt8] = []

    /// - Parameter allowsSurplus: whether the origin may send first. Its bytes are the outcome.
    /// - Throws: `proxyRefused` if the name, user or password is longer than SOCKS5 allows (255 bytes).
    init(
        to origin: Origin,
        user: String?,
        password: String?,
        allowsSurplus: Bool = false
    ) throws(DirectHTTPError) {
        host = origin.host
        port = origin.port
        self.user = user
        self.password = password ?? ""
        self.allowsSurplus = allowsSurplus
        guard host.text.utf8.count <= 255, (user ?? "").utf8.count <= 255, self.password.utf8.count <= 255 else {
            throw DirectHTTPError(.proxyRefused, "SOCKS5 allows names and passwords of at most 255 bytes")
        }
    }

    /// The client's first message with the supported methods (RFC 1928 §3).
    func begin() -> ByteBuffer { ByteBuffer(bytes: user == nil ? [5, 1, 0] : [5, 2, 0, 2]) }

    /// Handles bytes from the proxy.
    ///
    /// - Throws: `proxyRefused`, with the proxy's reason.
    mutating func receive(_ bytes: ByteBuffer) throws(DirectHTTPError) -> HandshakeAction<ByteBuffer> {
        buffer += bytes.readableBytesView
        switch state {
        case .method:
            guard buffer.count >= 2 else { return .wait }
            let method = try takeAnswer(version: 5)
            switch method {
            case 0:
                state = .reply
                return .send(request)
            case 2 where user != nil:
                state = .authentication
                let user = Array((user ?? "").utf8)
                let message = [1, UInt8(user.count)] + user + [UInt8(password.utf8.count)] + Array(password.utf8)
                return .send(ByteBuffer(bytes: message))
            default:
                throw .socks(user == nil ? "requires user and password" : "does not accept user and password")
            }
        case .authentication:
            guard buffer.count >= 2 else { return .wait }
            guard try takeAnswer(version: 1) == 0 else { throw .socks("rejected the user or password") }
            state = .reply
            return .send(request)
        case .reply:
            return try readReply()
        }
    }

    func lost(_ cause: (any Error)?) -> DirectHTTPError {
        DirectHTTPError(.proxyRefused, cause.map { "failed: \($0)" } ?? "closed the connection", underlyingError: cause)
    }

    private mutating func takeAnswer(version: UInt8) throws(DirectHTTPError) -> UInt8 {
        guard buffer[0] == version else { throw .socks("is not a SOCKS5 proxy") }
        defer { buffer.removeFirst(2) }
        return buffer[1]
    }

    /// RFC 1928 §6: version, reply, a zero, and the proxy's bound address, which is not used.
    private func readReply() throws(DirectHTTPError) -> HandshakeAction<ByteBuffer> {
        guard let version = buffer.first else { return .wait }
        guard version == 5 else { throw .socks("is not a SOCKS5 proxy") }
        guard buffer.count >= 2 else { return .wait }
        guard buffer[1] == 0 else { throw .socks(Self.reason(buffer[1])) }
        guard buffer.count >= 5 else { return .wait }
        let length: Int
        switch buffer[3] {
        case 1: length = 4 + 4 + 2
        case 3: length = 4 + 1 + Int(buffer[4]) + 2
        case 4: length = 4 + 16 + 2
        default: throw .socks("answered with a malformed address")
        }
        guard buffer.count >= length else { return .wait }
        // In TLS and HTTP the client sends first, so bytes that arrive now are not from the origin. A tunnel may carry anything.
        guard buffer.count == length || allowsSurplus else { throw .socks("sent bytes before the tunnel was used") }
        return .done(ByteBuffer(bytes: buffer.dropFirst(length)))
    }

    /// CONNECT to the host by name, or by address if the host is an address (RFC 1928 §4).
    private var request: ByteBuffer {
        let target: [UInt8] =
            switch host.address {
            case let address?: [address.family == .v4 ? 1 : 4] + address.octets
            case nil: [3, UInt8(host.text.utf8.count)] + Array(host.text.utf8)
            }
        return ByteBuffer(bytes: [5, 1, 0] + target + [UInt8(port >> 8), UInt8(port & 255)])
    }

    private static func reason(_ code: UInt8) -> String {
        switch code {
        case 1: "failed"
        case 2: "does not allow this connection"
        case 3: "cannot reach the network"
        case 4: "cannot reach the host"
        case 5: "was refused by the host"
        case 6: "reached its time limit for the host"
        case 7: "does not support CONNECT"
        case 8: "does not support this type of address"
        default: "answered \(code)"
        }
    }
}

extension DirectHTTPError {
    fileprivate static func socks(_ what: String) -> DirectHTTPError { DirectHTTPError(.proxyRefused, what) }
}
