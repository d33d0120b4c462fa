// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOCore
import Testing

@testable import DirectHTTP
@testable import HTTPWire

@Suite("WebSocket frames and messages (RFC 6455 §5)")
struct WebSocketFrameTests {
    @Test("an idle socket does not keep the memory of a large frame")
    func restingDecoder() throws {
        var decoder = WebSocketFrameDecoder(maxPayload: 1 << 20, allowsCompression: false)
        let frame = WebSocketFrame(opcode: .binary, payload: ByteBuffer(repeating: 1, count: 500_000)).encoded(
            mask: nil
        )
        decoder.feed(frame)
        var count = 0
        while let frame = try decoder.next() { count += frame.payload.readableBytes }
        #expect(count == 500_000 && decoder.capacity == 0)
    }

    /// The events of a server's bytes, or the code of the violation.
    static func read(
        _ bytes: [UInt8],
        limit: Int = 1000,
        compressed: Bool = false,
        pieces: Int = .max
    ) throws -> [WebSocketAssembler.Event] {
        var decoder = WebSocketFrameDecoder(maxPayload: limit, allowsCompression: compressed)
        var assembler = WebSocketAssembler(maxBytes: limit)
        var events: [WebSocketAssembler.Event] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(pieces)
            rest = rest.dropFirst(piece.count)
            decoder.feed(ByteBuffer(bytes: piece))
            while let frame = try decoder.next() {
                if let event = try assembler.take(frame) { events.append(event) }
            }
        }
        return events
    }

    static func bytes(_ opcode: RawWebSocketFrame.Opcode, _ text: String, final: Bool = true) -> [UInt8] {
        RawWebSocketFrame(opcode, Array(text.utf8), isFinal: final).bytes
    }

    @Test(
        "messages are complete however they are split, with control frames between their fragments",
        arguments: [1, 2, 7, 1000]
    )
    func messages(pieces: Int) throws {
        let long = String(repeating: "x", count: 300)
        let all =
            Self.bytes(.text, "hello") + Self.bytes(.binary, "") + Self.bytes(.text, "a", final: false)
            + Self.bytes(.ping, "p") + Self.bytes(.continuation, "", final: false) + Self.bytes(.pong, "q")
            + Self.bytes(.continuation, "b") + Self.bytes(.binary, long) + RawWebSocketFrame.close(1000, "bye").bytes
            + RawWebSocketFrame(.close).bytes
        #expect(
            try Self.read(all, pieces: pieces) == [
                .message(isText: true, ByteBuffer(string: "hello"), isCompressed: false),
                .message(isText: false, ByteBuffer(), isCompressed: false), .ping(ByteBuffer(string: "p")),
                .pong(ByteBuffer(string: "q")), .message(isText: true, ByteBuffer(string: "ab"), isCompressed: false),
                .message(isText: false, ByteBuffer(string: long), isCompressed: false),
                .close(WebSocketClosure(code: .normal, reason: "bye")),
                .close(WebSocketClosure(code: .noStatusReceived)),
            ]
        )
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        var code = WebSocketViolation.Code.protocolError

        init(_ what: String, bytes: [UInt8], code: WebSocketViolation.Code = .protocolError) {
            testDescription = what
            self.bytes = bytes
            self.code = code
        }
    }

    static let violations: [Row] =
        [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map { Row("opcode \($0)", bytes: [0x80 | UInt8($0), 0]) }
        + [0x10, 0x20, 0x40, 0x70].map { Row("reserved bits \($0)", bytes: [0x81 | UInt8($0), 0]) }
        + [
            Row("a control frame with RSV1", bytes: [0xc9, 0]), Row("a masked frame", bytes: [0x81, 0x80, 0, 0, 0, 0]),
            Row("a PING in fragments", bytes: [0x09, 0]), Row("a close in fragments", bytes: [0x08, 0]),
            Row("a PONG in fragments", bytes: [0x0a, 0]), Row("a PING of 126 bytes", bytes: [0x89, 126, 0, 126]),
            Row("a close of 126 bytes", bytes: [0x88, 126, 0, 126]),
            Row("a PONG with a long length", bytes: [0x8a, 127]),
            Row("a length in 16 bits that fits in 7", bytes: [0x82, 126, 0, 125]),
            Row("a length in 64 bits that fits in 16", bytes: [0x82, 127, 0, 0, 0, 0, 0, 0, 255, 255]),
            Row("a continuation without a first frame", bytes: bytes(.continuation, "x")),
            Row("a continuation of a message that ended", bytes: bytes(.text, "x") + bytes(.continuation, "x")),
            Row("a message within a message", bytes: bytes(.text, "x", final: false) + bytes(.text, "x")),
            Row("bytes within a text", bytes: bytes(.text, "x", final: false) + bytes(.binary, "x", final: false)),
            Row("a close of one byte", bytes: [0x88, 1, 3]),
            Row("a length of 2^63", bytes: [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], code: .messageTooBig),
            Row(
                "a length of 2^63 - 1",
                bytes: [0x82, 127, 0x7f, 255, 255, 255, 255, 255, 255, 255],
                code: .messageTooBig
            ),
            Row("a frame beyond the limit", bytes: [0x82, 126, 0x03, 0xe9], code: .messageTooBig),
            Row(
                "fragments beyond the limit",
                bytes: bytes(.binary, String(repeating: "x", count: 600), final: false)
                    + bytes(.continuation, String(repeating: "x", count: 600)),
                code: .messageTooBig
            ),
            Row(
                "empty fragments without end",
                bytes: bytes(.binary, "", final: false) + (0..<70_000).flatMap { _ in [0, 0] as [UInt8] },
                code: .messageTooBig
            ),
            Row("a close reason that is not UTF-8", bytes: [0x88, 4, 3, 232, 0xc3, 0x28], code: .invalidData),
        ]
        + [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535].map {
            Row("close code \($0)", bytes: RawWebSocketFrame.close($0).bytes)
        }

    @Test("frames that RFC 6455 forbids are refused with its code", arguments: violations)
    func forbidden(row: Row) {
        let error = #expect(throws: WebSocketViolation.self) { _ = try Self.read(row.bytes) }
        #expect(error?.code == row.code)
    }

    @Test("a limit below 125 bytes applies to messages, and not to control frames")
    func smallLimit() throws {
        let ping = String(repeating: "p", count: 100)
        #expect(try Self.read(Self.bytes(.ping, ping), limit: 10) == [.ping(ByteBuffer(string: ping))])
        #expect(try Self.read(Self.bytes(.text, "0123456789"), limit: 10).count == 1)
        let error = #expect(throws: WebSocketViolation.self) {
            _ = try Self.read(Self.bytes(.text, "0123456789a"), limit: 10)
        }
        #expect(error?.code == .messageTooBig)
    }

    @Test(
        "a limit below 125 bytes applies to a message after decompression, also in fragments",
        arguments: [true, false]
    )
    func smallCompressedLimit(isCompressed: Bool) throws {
        let coded = [UInt8](repeating: 0, count: 12)
        func frame(_ opcode: RawWebSocketFrame.Opcode, _ bytes: ArraySlice<UInt8>, isFinal: Bool) -> [UInt8] {
            let reserved: UInt8 = isCompressed && opcode == .text ? 4 : 0
            return RawWebSocketFrame(opcode, Array(bytes), isFinal: isFinal, reserved: reserved).bytes
        }
        let messages = [
            frame(.text, coded[...], isFinal: true),
            frame(.text, coded[..<1], isFinal: false) + frame(.continuation, coded[1...], isFinal: true),
            frame(.text, coded[..<6], isFinal: false) + frame(.continuation, coded[6...], isFinal: true),
        ]
        for message in messages {
            if isCompressed {
                let whole = WebSocketAssembler.Event.message(isText: true, ByteBuffer(bytes: coded), isCompressed: true)
                #expect(try Self.read(message, limit: 10, compressed: true) == [whole])
            } else {
                let error = #expect(throws: WebSocketViolation.self) {
                    _ = try Self.read(message, limit: 10, compressed: true)
                }
                #expect(error?.code == .messageTooBig)
            }
        }
    }

    @Test("valid close codes are accepted", arguments: [1000, 1001, 1002, 1003, 1007, 1011, 1014, 3000, 4999])
    func codes(code: UInt16) throws {
        #expect(
            try Self.read(RawWebSocketFrame.close(code).bytes)
                == [.close(WebSocketClosure(code: WebSocketCloseCode(rawValue: code)))]
        )
    }

    @Test(
        "a text must be valid UTF-8",
        arguments: [
            ([0xce, 0xba, 0xf0, 0x9f, 0x98, 0x80], true), ([0xef, 0xbf, 0xbd], true), ([], true), ([0], true),
            ([0xc3, 0x28], false), ([0xc0, 0xaf], false), ([0xed, 0xa0, 0x80], false),
            ([0xf4, 0x90, 0x80, 0x80], false),
            ([0x80], false), ([0xe2, 0x82], false), ([0xfe], false), ([0xf8, 0x88, 0x80, 0x80, 0x80], false),
        ] as [([UInt8], Bool)]
    )
    func utf8(bytes: [UInt8], isText: Bool) {
        let text = try? WebSocketAssembler.text(ByteBuffer(bytes: bytes))
        #expect((text != nil) == isText)
        if let text { #expect(Array(text.utf8) == bytes) }
    }

    @Test("a sent frame is masked and decodes again", arguments: [0, 1, 7, 8, 125, 126, 65_535, 65_536, 100_003])
    func masking(count: Int) throws {
        let payload = ByteBuffer(bytes: (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let frame = WebSocketFrame(opcode: .binary, payload: payload)
        var encoded = frame.encoded(mask: 0x1234_5678)
        let plain = frame.encoded(mask: nil)
        let headerLength = plain.readableBytes - count
        let header = encoded.readBytes(length: headerLength) ?? []
        #expect(header[1] & 0x80 != 0)
        #expect(encoded.readBytes(length: 4) == [0x12, 0x34, 0x56, 0x78])
        let masked = encoded.readBytes(length: encoded.readableBytes) ?? []
        let mask: [UInt8] = [0x12, 0x34, 0x56, 0x78]
        #expect(masked.enumerated().map { $1 ^ mask[$0 & 3] } == Array(payload.readableBytesView))
        var decoder = WebSocketFrameDecoder(maxPayload: 1 << 20, allowsCompression: false)
        decoder.feed(plain)
        #expect(try decoder.next() == frame)
    }

    @Test("a message may have any number of fragments that are not empty")
    func manyFragments() throws {
        let count = WebSocketAssembler.maxEmptyFragments + 2
        let fragments = [UInt8](repeating: 0, count: count).flatMap { _ in [0, 1, 0x78] as [UInt8] }
        let bytes = Self.bytes(.binary, "", final: false) + fragments + Self.bytes(.continuation, "y")
        let whole = ByteBuffer(string: String(repeating: "x", count: count) + "y")
        #expect(try Self.read(bytes, limit: 1 << 20) == [.message(isText: false, whole, isCompressed: false)])
    }

    @Test("decoded frames that are encoded again decode to the same frames, and no input traps")
    func fuzz() throws {
        var random = SeededRandom(seed: 6455)
        let seeds = [
            Self.bytes(.text, "hello", final: false) + Self.bytes(.ping, "p") + Self.bytes(.continuation, "world"),
            RawWebSocketFrame.close(1001, "away").bytes + Self.bytes(.binary, String(repeating: "z", count: 200)),
            RawWebSocketFrame(.text, [0xcb, 0x48, 0x04, 0x00], reserved: 4).bytes,
        ]
        for _ in 0..<FuzzRounds.count(ordinary: 20_000) {
            var bytes = seeds[Int.random(in: 0..<seeds.count, using: &random)]
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let frames = Self.frames(ByteBuffer(bytes: bytes))
            var again = ByteBuffer()
            for frame in frames { again.writeImmutableBuffer(frame.encoded(mask: nil)) }
            #expect(Self.frames(again) == frames)
            _ = try? Self.read(bytes, compressed: true, pieces: Int.random(in: 1...9, using: &random))
        }
    }

    private static func frames(_ bytes: ByteBuffer) -> [WebSocketFrame] {
        var decoder = WebSocketFrameDecoder(maxPayload: 1000, allowsCompression: true)
        decoder.feed(bytes)
        var frames: [WebSocketFrame] = []
        while let frame = try? decoder.next() { frames.append(frame) }
        return frames
    }
}
