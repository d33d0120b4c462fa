// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension Fault {
    /// WebSocket faults: handshakes that the client must reject, and frames that RFC 6455 forbids. `success` means that the
    /// client receives the text message `ok`.
    package static let webSocket: [Fault] = [
        handshake("ws-refused", "403 in place of the handshake", outcome: .status) { _ in
            .text("no", status: .forbidden)
        },
        handshake("ws-http", "200 in place of the handshake", outcome: .malformed) { _ in .text("hello") },
        handshake("ws-accept-wrong", "a Sec-WebSocket-Accept that does not match the key", outcome: .malformed) { _ in
            switching("Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n")
        },
        handshake("ws-accept-none", "no Sec-WebSocket-Accept", outcome: .malformed) { _ in switching("") },
        handshake("ws-extension", "an extension that was not offered", outcome: .malformed) {
            .webSocket(for: $0, fields: [.secWebSocketExtensions: "smoke"]) { try await $0.hold() }
        },
        handshake("ws-subprotocol", "a subprotocol that was not offered", outcome: .malformed) {
            .webSocket(for: $0, fields: [.secWebSocketProtocol: "smoke"]) { try await $0.hold() }
        },
        frames("ws-close-1006", "a closed connection without a close frame", outcome: .closed, bytes: []),
        frames(
            "ws-masked",
            "a masked frame from a server",
            bytes: RawWebSocketFrame(.text, ok, mask: [1, 2, 3, 4]).bytes
        ),
        frames(
            "ws-reserved",
            "a reserved bit without an extension",
            bytes: RawWebSocketFrame(.text, ok, reserved: 4).bytes
        ),
        frames("ws-opcode", "an unknown opcode", bytes: [0x83, 2] + ok),
        frames("ws-continuation", "a continuation without a start", bytes: RawWebSocketFrame(.continuation, ok).bytes),
        frames(
            "ws-interleaved",
            "a second message within the first",
            bytes: RawWebSocketFrame(.text, ok, isFinal: false).bytes + RawWebSocketFrame(.text, ok).bytes
        ),
        frames("ws-fragmented-ping", "a PING in fragments", bytes: RawWebSocketFrame(.ping, ok, isFinal: false).bytes),
        frames(
            "ws-long-ping",
            "a PING of 126 bytes",
            bytes: RawWebSocketFrame(.ping, [UInt8](repeating: 0, count: 126)).bytes
        ),
        frames("ws-utf8", "a text that is not UTF-8", bytes: RawWebSocketFrame(.text, [0xc3, 0x28]).bytes),
        frames("ws-close-code", "a close code that must not be sent", bytes: RawWebSocketFrame.close(1005).bytes),
        frames("ws-close-short", "a close frame of one byte", bytes: RawWebSocketFrame(.close, [3]).bytes),
        frames(
            "ws-huge",
            "a frame that claims to have 2^63 bytes",
            outcome: .limit,
            bytes: [0x82, 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]
        ),
        frames("ws-half", "half of a frame, then a close", outcome: .closed, bytes: [0x81, 2, 111]),
        frames(
            "ws-fragments",
            "a message in two fragments with a PING between them",
            outcome: .success,
            bytes: RawWebSocketFrame(.text, Array("o".utf8), isFinal: false).bytes + RawWebSocketFrame(.ping).bytes
                + RawWebSocketFrame(.continuation, Array("k".utf8)).bytes
        ),
        handshake("ws-fragment-flood", "a message of fragments without end", outcome: .limit) { request in
            .webSocket(for: request) { connection in
                try await connection.send(RawWebSocketFrame(.binary, [0], isFinal: false).bytes)
                let frame = RawWebSocketFrame(.continuation, [UInt8](repeating: 0, count: 60_000), isFinal: false).bytes
                for _ in 0..<2000 { try await connection.send(frame) }
            }
        },
    ]

    private static let ok = Array("ok".utf8)

    private static func switching(_ line: String) -> Reply {
        .takeover { connection in
            let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            try await connection.send(head + line + "\r\n")
            try await connection.hold()
        }
    }

    private static func handshake(
        _ id: String,
        _ does: String,
        outcome: Outcome,
        answer: @escaping @Sendable (ReceivedRequest) -> Reply
    ) -> Fault {
        Fault(id, does, outcome: outcome, layer: .webSocket) { connection, _ in
            guard let request = try await connection.receiveRequest() else { return }
            _ = try await connection.send(answer(request), to: request.method)
        }
    }

    /// Completes the handshake and sends the bytes. Unless the outcome is `closed`, waits for the client to close. The default
    /// outcome is `malformed`.
    private static func frames(_ id: String, _ does: String, outcome: Outcome = .malformed, bytes: [UInt8]) -> Fault {
        handshake(id, does, outcome: outcome) { request in
            .webSocket(for: request) { connection in
                try await connection.send(bytes)
                if outcome != .closed { try await connection.drain() }
            }
        }
    }
}
