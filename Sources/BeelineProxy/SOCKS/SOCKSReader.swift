// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// Parses the client's side of SOCKS5 (RFC 1928, RFC 1929) up to the request. A value without I/O.
struct SOCKSReader {
    /// The action for the caller.
    enum Event: Equatable {
        /// Send these bytes and continue.
        case reply([UInt8])
        case request(Destination)
        /// Send these bytes and close.
        case refuse([UInt8], Refusal)
    }

    /// Reply codes (RFC 1928 §6).
    enum ReplyCode: UInt8 {
        case succeeded = 0
        case failure = 1
        case forbidden = 2
        case hostUnreachable = 4
        case timedOut = 6
        case commandUnsupported = 7
        case addressUnsupported = 8

        /// The reply code for a refusal.
        init(_ refusal: Refusal) {
            switch refusal.status {
            case 403: self = .forbidden
            case 502: self = .hostUnreachable
            case 504: self = .timedOut
            default: self = .failure
            }
        }

        /// The bytes of the reply, with a zero address, which clients ignore.
        var bytes: [UInt8] { [5, rawValue, 0, 1, 0, 0, 0, 0, 0, 0] }
    }

    /// The reply of SOCKS4 for a rejected request.
    static let version4Refusal: [UInt8] = [0, 0x5b, 0, 0, 0, 0, 0, 0]

    private enum State {
        case greeting
        case password
        case request
        case ended
    }

    private let credentials: ProxyCredentials?
    private var state = State.greeting

    init(credentials: ProxyCredentials?) { self.credentials = credentials }

    /// The next event; nil if more bytes are needed.
    mutating func next(_ bytes: inout ByteBuffer) -> Event? {
        switch state {
        case .greeting: greeting(&bytes)
        case .password: password(&bytes)
        case .request: request(&bytes)
        case .ended: nil
        }
    }

    private mutating func greeting(_ bytes: inout ByteBuffer) -> Event? {
        guard let version = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) else { return nil }
        guard version == 5 else { return refuse(replying: [], because: "the version is not 5") }
        guard let count = bytes.getInteger(at: bytes.readerIndex + 1, as: UInt8.self),
            bytes.readableBytes >= 2 + Int(count)
        else { return nil }
        bytes.moveReaderIndex(forwardBy: 2)
        let methods = bytes.readBytes(length: Int(count)) ?? []
        let wanted: UInt8 = credentials == nil ? 0 : 2
        guard methods.contains(wanted) else {
            state = .ended
            return .refuse([5, 0xff], credentials == nil ? .malformed("SOCKS: no method in common") : .unauthenticated)
        }
        state = credentials == nil ? .request : .password
        return .reply([5, wanted])
    }

    private mutating func password(_ bytes: inout ByteBuffer) -> Event? {
        var rest = bytes
        guard let version = rest.readInteger(as: UInt8.self) else { return nil }
        guard version == 1 else { return refuse(replying: [1, 1], because: "the version of the password is not 1") }
        guard let userLength = rest.readInteger(as: UInt8.self), let user = rest.readBytes(length: Int(userLength)),
            let length = rest.readInteger(as: UInt8.self), let password = rest.readBytes(length: Int(length))
        else { return nil }
        bytes = rest
        guard let credentials, credentials.matches(user: user, password: password) else {
            state = .ended
            return .refuse([1, 1], .unauthenticated)
        }
        state = .request
        return .reply([1, 0])
    }

    private mutating func request(_ bytes: inout ByteBuffer) -> Event? {
        var rest = bytes
        guard let version = rest.readInteger(as: UInt8.self) else { return nil }
        guard version == 5 else { return refuse(replying: ReplyCode.failure.bytes, because: "the version is not 5") }
        guard let command = rest.readInteger(as: UInt8.self), rest.readInteger(as: UInt8.self) != nil,
            let kind = rest.readInteger(as: UInt8.self)
        else { return nil }
        let host: Host?
        switch kind {
        case 1, 4:
            guard let octets = rest.readBytes(length: kind == 1 ? 4 : 16) else { return nil }
            host = IPAddress(octets: octets).map(Host.init)
        case 3:
            guard let length = rest.readInteger(as: UInt8.self), let name = rest.readBytes(length: Int(length)) else {
                return nil
            }
            // Chromium and Firefox send the IPv6 address of a URL as a name, without brackets.
            let address = IPAddress(String(decoding: name, as: UTF8.self))
            host = address.map(Host.init) ?? Destination(name + Array(":1".utf8), defaultPort: nil)?.host
        default:
            return refuse(
                replying: ReplyCode.addressUnsupported.bytes,
                because: "the type of address \(kind) is unknown"
            )
        }
        guard let port = rest.readInteger(as: UInt16.self) else { return nil }
        bytes = rest
        guard command == 1 else {
            return refuse(
                replying: ReplyCode.commandUnsupported.bytes,
                because: "only CONNECT is supported, not command \(command)"
            )
        }
        guard let host, port > 0 else {
            return refuse(replying: ReplyCode.failure.bytes, because: "the address is malformed")
        }
        state = .ended
        return .request(Destination(host, port: port))
    }

    private mutating func refuse(replying reply: [UInt8], because why: String) -> Event {
        state = .ended
        return .refuse(reply, .malformed("SOCKS: \(why)"))
    }
}
