// SPDX-License-Identifier: Apache-2.0

import Crypto
package import HTTPTypes
import HTTPWire
import NIOCore
package import Names

/// The request that opens a WebSocket, and the check of its response (RFC 6455 §4.1).
struct WebSocketHandshake {
    /// The parameters that the server agreed to.
    struct Agreement: Equatable {
        var subprotocol: String?
        var deflate: WebSocketDeflate.Agreement?
    }

    /// The response, the agreed parameters, and the bytes after the head, which are WebSocket frames.
    struct Opened {
        var response: HTTPResponse
        var agreement: Agreement
        var rest: ByteBuffer
    }

    let request: WebSocketRequest
    let offersCompression: Bool
    let key: String
    private var reader: HTTP1ResponseReader

    init(
        _ request: WebSocketRequest,
        offersCompression: Bool,
        limits: HTTP1ResponseReader.Limits,
        using random: inout some RandomNumberGenerator
    ) {
        self.request = request
        self.offersCompression = offersCompression
        reader = HTTP1ResponseReader(limits: limits)
        key = Base64.encode((0..<16).map { _ in UInt8.random(in: 0...255, using: &random) })
    }

    /// The request in wire format.
    var head: ByteBuffer {
        let prepared = request.request
        var head = ByteBuffer(string: "GET \(prepared.target) HTTP/1.1\r\nHost: \(prepared.authority)\r\n")
        for field in prepared.fields { head.writeField(field) }
        head.writeString("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n")
        head.writeString("Sec-WebSocket-Key: \(key)\r\n")
        if !request.subprotocols.isEmpty {
            head.writeString("Sec-WebSocket-Protocol: \(request.subprotocols.joined(separator: ", "))\r\n")
        }
        if offersCompression {
            head.writeString("Sec-WebSocket-Extensions: \(WebSocketDeflate.Agreement.offer)\r\n")
        }
        head.writeString("\r\n")
        return head
    }

    /// The expected `Sec-WebSocket-Accept`, which proves that the server read the key. RFC 6455 §1.3 defines the appended GUID.
    var accept: String {
        Base64.encode(Array(Insecure.SHA1.hash(data: Array("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))))
    }

    /// Checks the response.
    ///
    /// - Throws: `upgradeRefused` for another status than 101, `malformedResponse` for an invalid handshake.
    func check(_ response: HTTPResponse) throws(DirectHTTPError) -> Agreement {
        let fields = response.headerFields
        guard response.status.code == 101 else { throw .upgradeRefused(by: request.origin, response) }
        guard fields[.upgrade]?.lowercased() == "websocket",
            fields[.connection]?.lowercased().listElements.contains("upgrade") ?? false
        else { throw .noWebSocket("it switches to another protocol") }
        guard fields[.secWebSocketAccept].map({ $0.trimmingBlanks() == accept }) ?? false else {
            throw .noWebSocket("its Sec-WebSocket-Accept does not match the key")
        }
        var agreement = Agreement()
        if let chosen = fields[.secWebSocketProtocol] {
            guard request.subprotocols.contains(chosen) else {
                throw .noWebSocket("it chose the subprotocol \"\(chosen)\", which was not offered")
            }
            agreement.subprotocol = chosen
        }
        if let extensions = fields[.secWebSocketExtensions] {
            guard offersCompression, let deflate = WebSocketDeflate.Agreement(fieldValue: extensions) else {
                throw .noWebSocket("it chose the extensions \"\(extensions)\", which were not offered")
            }
            agreement.deflate = deflate
        }
        return agreement
    }
}

extension WebSocketHandshake: ByteHandshake {
    mutating func begin() -> ByteBuffer {
        reader.expect(method: .get)
        return head
    }

    mutating func receive(_ bytes: ByteBuffer) throws(DirectHTTPError) -> HandshakeAction<Opened> {
        reader.feed(bytes)
        while let event = try nextEvent() {
            switch event {
            case .informational(let response, let raw): request.request.onHead?(ReceivedHead(response, raw: raw))
            case .head(let response, let raw, _):
                request.request.onHead?(ReceivedHead(response, raw: raw))
                let agreement = try check(response)
                return .done(Opened(response: response, agreement: agreement, rest: reader.takeRest()))
            case .body, .end: break
            }
        }
        return .wait
    }

    private mutating func nextEvent() throws(DirectHTTPError) -> HTTP1ResponseReader.Event? {
        do throws(HTTP1Error) {
            return try reader.next()
        } catch {
            throw .unreadable(error)
        }
    }

    func lost(_ cause: (any Error)?) -> DirectHTTPError {
        let ended = "the server closed the connection during the WebSocket's handshake"
        return cause.map(DirectHTTPError.broken) ?? DirectHTTPError(.connectionLost, ended)
    }
}

extension DirectHTTPError {
    /// The error for a handshake that the server answered with an ordinary response, which the error carries.
    package static func upgradeRefused(by origin: Origin, _ response: HTTPResponse) -> DirectHTTPError {
        var error = DirectHTTPError(
            .upgradeRefused,
            "\(origin) answered \(response.status) instead of opening a WebSocket"
        )
        error.response = response
        return error
    }

    fileprivate static func noWebSocket(_ what: String) -> DirectHTTPError {
        DirectHTTPError(.malformedResponse, "the server did not open a WebSocket: \(what)")
    }
}
