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
    private let proxy: Proxy
    private let allowsSurplus: Bool
    private var state = State.method
    private var buffer: [UInt8] = []

    /// - Parameter allowsSurplus: whether the origin may send first. Its bytes are the outcome.
    /// - Throws: `proxyRefused` if the name, user or password is longer than SOCKS5 allows (255 bytes).
    init(to origin: Origin, by proxy: Proxy, allowsSurplus: Bool = false) throws(DirectHTTPError) {
        host = origin.host
        port = origin.port
        self.proxy = proxy
        self.allowsSurplus = allowsSurplus
        guard [host.text, proxy.user ?? "", proxy.password ?? ""].allSatisfy({ $0.utf8.count <= 255 }) else {
            throw refused("SOCKS5 allows names and passwords of at most 255 bytes")
        }
    }

    /// The client's first message with the supported methods (RFC 1928 §3).
    func begin() -> ByteBuffer { ByteBuffer(bytes: proxy.user == nil ? [5, 1, 0] : [5, 2, 0, 2]) }

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
            case 2 where proxy.user != nil:
                state = .authentication
                let user = Array((proxy.user ?? "").utf8)
                let password = Array((proxy.password ?? "").utf8)
                let message = [1, UInt8(user.count)] + user + [UInt8(password.count)] + password
                return .send(ByteBuffer(bytes: message))
            default:
                throw refused(proxy.user == nil ? "requires user and password" : "does not accept user and password")
            }
        case .authentication:
            guard buffer.count >= 2 else { return .wait }
            guard try takeAnswer(version: 1) == 0 else { throw refused("rejected the user or password") }
            state = .reply
            return .send(request)
        case .reply:
            return try readReply()
        }
    }

    func lost(_ cause: (any Error)?) -> DirectHTTPError {
        refused(cause.map { "failed: \(TLSFault.explain($0))" } ?? "closed the connection", cause)
    }

    private func refused(_ what: String, _ cause: (any Error)? = nil) -> DirectHTTPError {
        DirectHTTPError(.proxyRefused, "the proxy \(proxy) \(what)", underlyingError: cause)
    }

    private mutating func takeAnswer(version: UInt8) throws(DirectHTTPError) -> UInt8 {
        guard buffer[0] == version else { throw refused("is not a SOCKS5 proxy") }
        defer { buffer.removeFirst(2) }
        return buffer[1]
    }

    /// RFC 1928 §6: version, reply, a zero, and the proxy's bound address, which is not used.
    private func readReply() throws(DirectHTTPError) -> HandshakeAction<ByteBuffer> {
        guard let version = buffer.first else { return .wait }
        guard version == 5 else { throw refused("is not a SOCKS5 proxy") }
        guard buffer.count >= 2 else { return .wait }
        guard buffer[1] == 0 else { throw refused(Self.reason(buffer[1])) }
        guard buffer.count >= 5 else { return .wait }
        let length: Int
        switch buffer[3] {
        case 1: length = 4 + 4 + 2
        case 3: length = 4 + 1 + Int(buffer[4]) + 2
        case 4: length = 4 + 16 + 2
        default: throw refused("answered with a malformed address")
        }
        guard buffer.count >= length else { return .wait }
        // In TLS and HTTP the client sends first, so bytes that arrive now are not from the origin. A tunnel may carry anything.
        guard buffer.count == length || allowsSurplus else { throw refused("sent bytes before the tunnel was used") }
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
