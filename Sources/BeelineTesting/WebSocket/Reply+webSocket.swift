// SPDX-License-Identifier: Apache-2.0

import Crypto
package import HTTPTypes

extension Reply {
    /// Accepts a WebSocket handshake and lets a closure serve the connection. A request that is not a handshake gets a 426.
    ///
    /// ```swift
    /// let origin = try await LoopbackOrigin.start { request in
    ///     .webSocket(for: request) { connection in
    ///         let frame = try await connection.receiveWebSocketFrame()
    ///         try await connection.send(RawWebSocketFrame(.text, Array("hello".utf8)).bytes)
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The handshake (RFC 6455 §4.2.1).
    ///   - fields: Additional response fields, such as a subprotocol or cookies.
    ///   - serve: Plays the server. The connection closes when it returns.
    package static func webSocket(
        for request: ReceivedRequest,
        fields: HTTPFields = [:],
        serve: @escaping @Sendable (RawConnection) async throws -> Void
    ) -> Reply {
        guard request.fields[.upgrade]?.lowercased() == "websocket",
            let key = request.fields[.secWebSocketKey]
        else {
            return .text("this is a WebSocket\n", status: .upgradeRequired).adding(.upgrade, "websocket")
        }
        // RFC 6455 §1.3 appends this constant.
        let hash = Insecure.SHA1.hash(data: Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
        var all: HTTPFields = [
            .upgrade: "websocket", .connection: "Upgrade", .secWebSocketAccept: TestBase64.encode(Array(hash)),
        ]
        all.append(contentsOf: fields)
        let handshake = Reply(status: .switchingProtocols, fields: all, framing: .untilClose)
        return .takeover { connection in
            try await connection.sendHead(of: handshake)
            try await serve(connection)
        }
    }
}

extension Routes {
    /// Echoes every frame of a WebSocket. Answers PING with PONG and CLOSE with CLOSE.
    package static func webSocketEcho(_ request: ReceivedRequest) -> Reply {
        .webSocket(for: request) { connection in
            while var frame = try await connection.receiveWebSocketFrame() {
                frame.mask = nil
                if frame.opcode == .ping { frame.opcode = .pong }
                try await connection.send(frame.bytes)
                if frame.opcode == .close { return }
            }
        }
    }
}
