// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOCore
import Testing

@testable import DirectHTTP
@testable import HTTPWire

@Suite("permessage-deflate (RFC 7692)")
struct WebSocketDeflateTests {
    typealias Agreement = WebSocketDeflate.Agreement

    @Test(
        "the server's response to our offer is accepted if its parameters are valid",
        arguments: [
            ("permessage-deflate", true), ("permessage-deflate; server_no_context_takeover", true),
            ("permessage-deflate;client_no_context_takeover ; server_max_window_bits=10", true),
            ("permessage-deflate; server_max_window_bits=\"8\"", true),
            ("permessage-deflate; client_max_window_bits=10", false),
            ("permessage-deflate; server_max_window_bits", false),
            ("permessage-deflate; server_max_window_bits=7", false),
            ("permessage-deflate; server_max_window_bits=16", false),
            ("permessage-deflate; server_max_window_bits=08", false), ("permessage-deflate; smoke", false),
            ("permessage-deflate; server_no_context_takeover=1", false),
            ("permessage-deflate; server_no_context_takeover; server_no_context_takeover", false),
            ("permessage-deflate, permessage-deflate", false), ("x-webkit-deflate-frame", false), ("", false),
        ]
    )
    func answers(text: String, isTaken: Bool) {
        #expect((Agreement(fieldValue: text) != nil) == isTaken)
    }

    private func make(_ text: String = "permessage-deflate", limit: Int = 1 << 20) throws -> WebSocketDeflate {
        WebSocketDeflate(try #require(Agreement(fieldValue: text)), maxBytes: limit)
    }

    @Test("messages decompress to the same bytes, with and without context takeover")
    func roundTrip() throws {
        for text in [
            "permessage-deflate", "permessage-deflate; client_no_context_takeover; server_no_context_takeover",
        ] {
            let (sender, receiver) = (try make(text), try make(text))
            var random = SeededRandom(seed: 7692)
            for count in [0, 1, 0, 0, 5, 100, 70_000, 5, 300_000, 0, 1] {
                let bytes = (0..<count).map { _ in UInt8.random(in: 0...9, using: &random) }
                let small = try #require(sender.compress(ByteBuffer(bytes: bytes)))
                #expect(try receiver.decompress(small) == ByteBuffer(bytes: bytes))
                if count > 1000 { #expect(small.readableBytes < count / 2) }
            }
        }
    }

    @Test("the examples of RFC 7692 §7.2.3 decompress to the results in the RFC")
    func examples() throws {
        let shared = try make()
        #expect(
            try shared.decompress(ByteBuffer(bytes: [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]))
                == ByteBuffer(string: "Hello")
        )
        #expect(
            try shared.decompress(ByteBuffer(bytes: [0xf2, 0x00, 0x11, 0x00, 0x00])) == ByteBuffer(string: "Hello")
        )
        let stored: [UInt8] = [0, 5, 0, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0]
        #expect(try make().decompress(ByteBuffer(bytes: stored)) == ByteBuffer(string: "Hello"))
        let final: [UInt8] = [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00]
        #expect(try make().decompress(ByteBuffer(bytes: final)) == ByteBuffer(string: "Hello"))
        let two: [UInt8] = [0xf2, 0x48, 0x05, 0, 0, 0, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00]
        #expect(try make().decompress(ByteBuffer(bytes: two)) == ByteBuffer(string: "Hello"))
    }

    @Test("a small message that expands beyond the limit is refused before it is in memory")
    func bomb() throws {
        let zeros = ByteBuffer(repeating: 0, count: 8 << 20)
        let small = try #require(try make().compress(zeros))
        #expect(small.readableBytes < 10_000)
        let error = #expect(throws: WebSocketViolation.self) { try make(limit: 1 << 20).decompress(small) }
        #expect(error?.code == .messageTooBig)
    }

    @Test("a message of thousands of empty deflate streams is refused, because each costs a reset of zlib")
    func streams() throws {
        // An empty block of fixed codes with BFINAL.
        func message(of streams: Int) -> ByteBuffer {
            ByteBuffer(bytes: (0..<streams).flatMap { _ in [3, 0] as [UInt8] })
        }
        #expect(try make().decompress(message(of: 1_000)).readableBytes == 0)
        let error = #expect(throws: WebSocketViolation.self) { try make().decompress(message(of: 2_000)) }
        #expect(error?.code == .invalidData)
    }

    @Test("invalid compressed data is refused, and random bytes never trap")
    func garbage() throws {
        var random = SeededRandom(seed: 1951)
        for _ in 0..<FuzzRounds.count(ordinary: 5_000) {
            let bytes = (0..<Int.random(in: 1...40, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            _ = try? make(limit: 10_000).decompress(ByteBuffer(bytes: bytes))
        }
        let error = #expect(throws: WebSocketViolation.self) {
            try make().decompress(ByteBuffer(bytes: [0xff, 0xff, 0xff]))
        }
        #expect(error?.code == .invalidData)
    }
}
