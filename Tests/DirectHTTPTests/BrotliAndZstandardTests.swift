// SPDX-License-Identifier: Apache-2.0

#if Brotli && Zstandard
import BeelineTesting
import NIOCore
import Testing

@testable import DirectHTTP

@Suite("Decoding of brotli and zstd")
struct BrotliAndZstandardTests {
    /// "one two three" of the reference encoders.
    private static let brotli: [UInt8] = [
        11, 6, 128, 111, 110, 101, 32, 116, 119, 111, 32, 116, 104, 114, 101, 101, 3,
    ]
    private static let zstandard: [UInt8] = [
        40, 181, 47, 253, 4, 88, 105, 0, 0, 111, 110, 101, 32, 116, 119, 111, 32, 116, 104, 114, 101, 101, 99, 202,
        22, 203,
    ]
    /// "one ", without a checksum.
    private static let one: [UInt8] = [40, 181, 47, 253, 0, 88, 33, 0, 0, 111, 110, 101, 32]
    /// A frame that decoders skip (RFC 8878 §3.1.2).
    private static let skipped: [UInt8] = [0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]
    /// 64 MiB of zeros in 102 bytes.
    private static let bomb: [UInt8] = [
        203, 255, 255, 63, 0, 36, 0, 226, 177, 64, 114, 239, 255, 248, 255, 255, 7, 128, 4, 64, 28, 22, 128, 238, 253,
        31, 255, 255, 255, 0, 144, 0, 136, 195, 2, 208, 189, 255, 227, 255, 255, 31, 0, 18, 0, 113, 88, 0, 186, 247,
        127, 252, 255, 255, 3, 64, 2, 32, 14, 11, 64, 247, 254, 143, 255, 255, 127, 0, 72, 0, 196, 97, 1, 232, 222,
        255, 241, 255, 255, 15, 0, 9, 128, 56, 44, 0, 221, 251, 191, 252, 255, 255, 3, 32, 1, 16, 135, 5, 160, 123,
        255, 7,
    ]

    typealias Row = (what: String, coding: ContentCoding, bytes: [UInt8], text: String, isWhole: Bool)

    static let rows: [Row] = [
        ("brotli", .brotli, brotli, "one two three", true),
        ("brotli that is cut short", .brotli, brotli.dropLast(2), "one two thre", false),
        ("brotli without content", .brotli, [0x06], "", true),
        ("bytes behind brotli", .brotli, brotli + [0, 1, 2], "one two three", true),
        ("brotli of stored blocks", .brotli, Compression.brotli.compress(Array("ok ok".utf8)), "ok ok", true),
        ("zstd", .zstandard, zstandard, "one two three", true),
        ("zstd whose checksum is cut short", .zstandard, zstandard.dropLast(), "one two three", false),
        ("zstd in several frames (RFC 8878 §3)", .zstandard, one + zstandard, "one one two three", true),
        ("zstd with a frame to skip", .zstandard, one + skipped + one, "one one ", true),
        ("bytes behind zstd", .zstandard, one + [0, 0, 0], "one ", true),
        ("a second frame that is cut short", .zstandard, one + one.prefix(6), "one ", false),
        ("zstd of stored blocks", .zstandard, Compression.zstandard.compress(Array("ok ok".utf8)), "ok ok", true),
    ]

    @Test("a body is decoded however it is split", arguments: rows)
    func decoding(_ row: Row) throws {
        for size in [1, 2, 5, 4096] {
            let stage = ContentStage(row.coding)
            var text = ""
            var rest = row.bytes[...]
            while !rest.isEmpty {
                stage.feed(ByteBuffer(bytes: rest.prefix(size)))
                rest = rest.dropFirst(size)
                while let plain = try stage.next() { text += String(buffer: plain) }
            }
            #expect(row.isWhole ? text == row.text : row.text.hasPrefix(text), "\(row.what) by \(size)")
            #expect(stage.isFinished == row.isWhole, "\(row.what) by \(size)")
        }
    }

    static let faults: [(what: String, coding: ContentCoding, bytes: [UInt8])] = [
        ("text as brotli", .brotli, Array("not brotli at all".utf8)),
        ("a window of an extension of brotli", .brotli, [0x11, 0x1e, 0, 0, 0, 0]),
        ("text as zstd", .zstandard, Array("not zstd at all".utf8)),
        ("a changed byte under a checksum", .zstandard, zstandard.prefix(12) + [0] + zstandard.dropFirst(13)),
        ("a dictionary that is not there", .zstandard, [40, 181, 47, 253, 1, 0x38, 7, 1, 0, 0]),
    ]

    @Test("a body that is not in its coding is an error", arguments: faults)
    func broken(_ row: (what: String, coding: ContentCoding, bytes: [UInt8])) {
        let error = #expect(throws: DirectHTTPError.self, "\(row.what)") {
            let stage = ContentStage(row.coding)
            stage.feed(ByteBuffer(bytes: row.bytes))
            while try stage.next() != nil {}
        }
        #expect(error?.code == .undecodableBody)
    }

    @Test("a zstd frame with a window over 8 MiB is refused (RFC 9659 §3)")
    func largeWindow() {
        let error = #expect(throws: DirectHTTPError.self) {
            let stage = ContentStage(.zstandard)
            stage.feed(ByteBuffer(bytes: [40, 181, 47, 253, 0, 0x70, 0x01, 0, 0]))
            while try stage.next() != nil {}
        }
        #expect(error?.code == .undecodableBody && error?.message.contains("8 MiB") == true)
    }

    @Test("a body that expands a thousandfold is delivered in pieces of bounded size")
    func boundedGrowth() throws {
        let zeros = Compression.zstandardZeros(count: 64 << 20)
        for (coding, bytes) in [(ContentCoding.brotli, Self.bomb), (.zstandard, zeros)] {
            let stage = ContentStage(coding)
            stage.feed(ByteBuffer(bytes: bytes))
            var count = 0
            var longest = 0
            while let plain = try stage.next() {
                longest = max(longest, plain.readableBytes)
                count += plain.readableBytes
            }
            #expect(count == 64 << 20 && stage.isFinished && longest <= ContentStage.pieceSize)
        }
    }

    @Test("endless input without content is an error after a bounded number of bytes")
    func endlessSilence() {
        let zeros = [UInt8](repeating: 0, count: 65_536)
        // Blocks of metadata (RFC 7932 §9.2) with a length of two bytes; the first follows the size of the window.
        let rows: [(ContentCoding, head: [UInt8], block: [UInt8])] = [
            (.brotli, [0xcc, 0xff, 0x7f] + zeros, [0xe6, 0xff, 0x3f] + zeros),
            (.zstandard, [], [0x50, 0x2a, 0x4d, 0x18, 0, 0, 1, 0] + zeros),
        ]
        for (coding, head, block) in rows {
            let stage = ContentStage(coding)
            var fed = 0
            let error = #expect(throws: DirectHTTPError.self) {
                stage.feed(ByteBuffer(bytes: head))
                while try stage.next() != nil {}
                while fed < 8 * ContentStage.maxSilence {
                    stage.feed(ByteBuffer(bytes: block))
                    fed += block.count
                    while try stage.next() != nil {}
                }
            }
            #expect(error?.code == .undecodableBody && error?.message.contains("without content") == true)
            #expect(fed < 2 * ContentStage.maxSilence)
        }
    }

    @Test("random changes of valid bodies end in bytes or an error")
    func fuzz() {
        var random = SeededRandom(seed: 7932)
        let seeds: [(ContentCoding, [UInt8])] = [
            (.brotli, Self.brotli), (.brotli, Self.bomb), (.zstandard, Self.zstandard),
            (.zstandard, Self.one + Self.one),
        ]
        for round in 0..<FuzzRounds.count(ordinary: 1_000) {
            var (coding, bytes) = seeds[round % seeds.count]
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0 ... .max, using: &random)
            }
            let stage = ContentStage(coding)
            stage.feed(ByteBuffer(bytes: bytes))
            var total = 0
            while total < 1 << 17, let piece = try? stage.next() {
                if !(1...ContentStage.pieceSize ~= piece.readableBytes) { Issue.record("a piece of no valid size") }
                total += piece.readableBytes
            }
        }
    }

    @Test("names of codings, and lists with them")
    func names() {
        #expect(ContentCoding.offer == "gzip, deflate, br, zstd")
        #expect(ContentCoding.list(fieldValue: "BR") == [.brotli])
        #expect(ContentCoding.list(fieldValue: "zstd, br") == [.zstandard, .brotli])
        #expect(ContentCoding.list(fieldValue: "zstd, dcz") == [])
    }

    @Test("two codings of one body are decoded in reverse order")
    func twoCodings() throws {
        let plain = Array("one two three".utf8)
        let coded = Compression.brotli.compress(Compression.zstandard.compress(plain))
        let decoder = ContentDecoder([.zstandard, .brotli])
        var text = ""
        for byte in coded {
            decoder.feed(ByteBuffer(bytes: [byte]))
            while let piece = try decoder.next() { text += String(buffer: piece) }
        }
        #expect(text == "one two three" && decoder.isFinished)
    }
}
#endif
