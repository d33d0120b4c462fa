// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct WebSocketTests {
    /// The example of RFC 6455 §1.3.
    @Test func theHandshakeIsTheOneOfTheRFC() async throws {
        let origin = try await LoopbackOrigin.start(handler: Routes.standard)
        let client = try await RawConnection.connect(to: origin.endpoint)
        let answer = try await open(client, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 101 Switching Protocols\r\n"))
        #expect(answer.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
        await client.close()
        await origin.stop()
    }

    /// The masked "Hello" of RFC 6455 §5.7.
    @Test func frameBytesAreThoseOfTheRFC() {
        let hello = Array("Hello".utf8)
        #expect(RawWebSocketFrame(.text, hello).bytes == [0x81, 5] + hello)
        let masked = RawWebSocketFrame(.text, hello, mask: [0x37, 0xfa, 0x21, 0x3d])
        #expect(masked.bytes == [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58])
        #expect(RawWebSocketFrame(.binary, [UInt8](repeating: 0, count: 256)).bytes.prefix(4) == [0x82, 0x7e, 1, 0])
        let long = RawWebSocketFrame(.binary, [UInt8](repeating: 0, count: 65_536)).bytes
        #expect(long.prefix(10) == [0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0])
        #expect(RawWebSocketFrame.close(1000, "ok").bytes == [0x88, 4, 3, 0xe8] + Array("ok".utf8))
    }

    @Test(arguments: [0, 1, 125, 126, 65_535, 65_536])
    func anyLengthComesBack(length: Int) async throws {
        let origin = try await LoopbackOrigin.start(handler: Routes.standard)
        let client = try await RawConnection.connect(to: origin.endpoint)
        _ = try await open(client, "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n")
        let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
        let mask: [UInt8] = [1, 2, 3, 4]
        try await client.send(RawWebSocketFrame(.binary, payload, isFinal: false, mask: mask).bytes)
        try await client.send(RawWebSocketFrame(.ping, [7], mask: mask).bytes)
        try await client.send(RawWebSocketFrame.close(1000).bytes)
        #expect(try await client.receiveWebSocketFrame() == RawWebSocketFrame(.binary, payload, isFinal: false))
        #expect(try await client.receiveWebSocketFrame() == RawWebSocketFrame(.pong, [7]))
        #expect(try await client.receiveWebSocketFrame() == .close(1000))
        #expect(try await client.receiveWebSocketFrame() == nil)
        await client.close()
        await origin.stop()
    }

    @Test func whatIsNoHandshakeIsTold() async throws {
        let origin = try await LoopbackOrigin.start(handler: Routes.standard)
        let client = try await RawConnection.connect(to: origin.endpoint)
        #expect(try await open(client, "").hasPrefix("HTTP/1.1 426 "))
        await client.close()
        await origin.stop()
    }

    private func open(_ client: RawConnection, _ fields: String) async throws -> String {
        try await client.send(
            "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\(fields)\r\n"
        )
        return String(decoding: try await client.receive(until: "\r\n\r\n") ?? [], as: UTF8.self)
    }
}
