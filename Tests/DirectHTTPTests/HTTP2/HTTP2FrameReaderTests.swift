// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import Testing

@testable import DirectHTTP
@testable import HTTPWire

@Suite("HTTP/2 frames (RFC 9113 §4)")
struct HTTP2FrameReaderTests {
    /// The frames of some bytes, with the DATA payloads joined, and the error that ended them.
    struct Outcome: Equatable {
        var events: [String] = []
        var body: [UInt8] = []
        var error: HTTP2ErrorCode?
    }

    static func read(_ bytes: [UInt8], piece: Int = .max) -> Outcome {
        var reader = HTTP2FrameReader(maxBlock: 1_000)
        var outcome = Outcome()
        var rest = bytes[...]
        do {
            while !rest.isEmpty {
                reader.feed(ByteBuffer(bytes: rest.prefix(piece)))
                rest = rest.dropFirst(piece)
                while let event = try reader.next() { note(event, &outcome) }
            }
        } catch {
            outcome.error = error.code
        }
        return outcome
    }

    private static func note(_ event: HTTP2FrameReader.Event, _ outcome: inout Outcome) {
        switch event {
        case .data(let stream, let piece, _, let endStream):
            outcome.body += Array(piece.readableBytesView)
            if endStream { outcome.events.append("end \(stream)") }
        case .headers(let stream, let block, let endStream):
            outcome.events.append("headers \(stream) \(block.readableBytes) \(endStream)")
        case .frame(let header, let payload):
            outcome.events.append("frame \(String(describing: header.kind)) \(payload.readableBytes)")
        }
    }

    static let settings = RawFrame(.settings).bytes

    @Test("frames are parsed the same, however the bytes are split")
    func pieces() {
        let body = RawFrame(.data, flags: 1, stream: 1, payload: Array("hello".utf8)).bytes
        let padded = RawFrame(.data, flags: 8, stream: 1, payload: [2] + Array("ab".utf8) + [0, 0]).bytes
        let headers =
            RawFrame(.headers, flags: 0x28, stream: 1, payload: [1, 0, 0, 0, 0, 9] + [1, 2, 3] + [0]).bytes
            + RawFrame(.continuation, stream: 1, payload: [4]).bytes
            + RawFrame(.continuation, flags: 4, stream: 1, payload: [5]).bytes
        let bytes = Self.settings + headers + padded + body
        let whole = Self.read(bytes)
        #expect(whole.events.dropFirst() == ["headers 1 5 false", "end 1"])
        #expect(whole.body == Array("abhello".utf8))
        #expect(whole.error == nil)
        for piece in [1, 2, 3, 7, 9, 10, 64] { #expect(Self.read(bytes, piece: piece) == whole) }
    }

    @Test("bytes that are not valid HTTP/2 end the connection")
    func refused() {
        let cases: [(what: String, bytes: [UInt8], code: HTTP2ErrorCode)] = [
            ("HTTP/1.1", Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), .protocolError),
            ("no SETTINGS first", RawFrame(.ping, payload: [0, 0, 0, 0, 0, 0, 0, 0]).bytes, .protocolError),
            (
                "a frame too large",
                Self.settings + RawFrame(.data, stream: 1, payload: .init(repeating: 0, count: 16_385)).bytes,
                .frameSizeError
            ),
            ("CONTINUATION of nothing", Self.settings + RawFrame(.continuation, stream: 1).bytes, .protocolError),
            (
                "a block with a frame in it", Self.settings + RawFrame(.headers, stream: 1).bytes + Self.settings,
                .protocolError
            ),
            (
                "a block without an end",
                Self.settings + RawFrame(.headers, stream: 1).bytes
                    + (0..<100).flatMap { _ in RawFrame(.continuation, stream: 1).bytes }, .enhanceYourCalm
            ),
            (
                "padding longer than its frame",
                Self.settings + RawFrame(.data, flags: 8, stream: 1, payload: [9, 1]).bytes, .protocolError
            ),
        ]
        for row in cases {
            #expect(Self.read(row.bytes).error == row.code, "\(row.what)")
            #expect(Self.read(row.bytes, piece: 1).error == row.code, "\(row.what), octet by octet")
        }
    }

    @Test("no input makes the reader trap, and splitting it does not change the result")
    func fuzz() {
        let seed =
            Self.settings + RawFrame.headers([(":status", "200")], stream: 1).bytes
            + RawFrame(.data, flags: 9, stream: 1, payload: [1, 65, 0]).bytes + RawFrame.settings([(4, 100)]).bytes
            + RawFrame(.windowUpdate, stream: 1, payload: RawFrame.big(7)).bytes
        var random = SeededRandom(seed: 9113)
        for round in 0..<FuzzRounds.count(ordinary: 20_000) {
            var bytes = seed
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                if Bool.random(using: &random) {
                    bytes[index] = UInt8.random(in: 0...255, using: &random)
                } else {
                    bytes.remove(at: index)
                }
            }
            #expect(Self.read(bytes) == Self.read(bytes, piece: 1 + round % 7))
            if let settings = try? HTTP2Settings(ByteBuffer(bytes: bytes.prefix(round % 30))) {
                #expect(settings.initialWindow ?? 0 <= HTTP2Frame.maxWindow)
            }
        }
    }
}
