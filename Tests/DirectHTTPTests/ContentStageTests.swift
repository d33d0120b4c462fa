// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import Names
import Testing

@testable import DirectHTTP

@Suite("Decoding of content codings")
struct ContentStageTests {
    private static let one: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 207, 75, 85, 0, 0, 73, 97, 172, 35, 4, 0, 0, 0,
    ]
    private static let two: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 43, 41, 207, 7, 0, 102, 138, 202, 17, 3, 0, 0, 0,
    ]
    private static let nothing: [UInt8] = [31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]

    static let rows: [(what: String, pieces: [[UInt8]], text: String, isWhole: Bool)] = [
        ("members in one piece", [one + two], "one two", true),
        ("a member for each piece", [one, two], "one two", true),
        ("empty members", [nothing + nothing, one, nothing, two + nothing], "one two", true),
        ("many of them in one piece", [Array(repeatElement(nothing, count: 2_000).joined()) + two], "two", true),
        ("zeros behind the last", [one + two + [0, 0], [0], [0, 0, 0]], "one two", true),
        ("a member after bytes that are not a member", [one, [0], two], "one ", true),
        ("a second member that is cut short", [one, Array(two.prefix(10))], "one ", false),
        ("a byte at a time", (one + two).map { [$0] }, "one two", true),
    ]

    @Test("a gzip body may have several members, however it is split (RFC 1952 §2.2)", arguments: rows)
    func members(_ row: (what: String, pieces: [[UInt8]], text: String, isWhole: Bool)) throws {
        let stage = ContentStage(.gzip)
        var text = ""
        for piece in row.pieces {
            stage.feed(ByteBuffer(bytes: piece))
            while let plain = try stage.next() { text += String(buffer: plain) }
        }
        #expect(text == row.text && stage.isFinished == row.isWhole, "\(row.what)")
    }

    @Test("bytes without end behind a compressed body are an error")
    func endlessTrailer() throws {
        let stage = ContentStage(.gzip)
        stage.feed(ByteBuffer(bytes: Self.one))
        while try stage.next() != nil {}
        let junk = ByteBuffer(repeating: 0, count: 64 * 1024)
        let error = #expect(throws: DirectHTTPError.self) {
            for _ in 0..<64 {
                stage.feed(junk)
                _ = try stage.next()
            }
        }
        #expect(error?.code == .undecodableBody)
    }

    @Test("the consumed part of a long body does not stay in memory")
    func inputIsNotKept() throws {
        // Raw deflate in stored blocks (RFC 1951 §3.2.4).
        let size = 1_000
        let (low, high) = (UInt8(size & 255), UInt8(size >> 8))
        let head: [UInt8] = [0, low, high, ~low, ~high]
        let block = head + [UInt8](repeating: 7, count: size)
        let stage = ContentStage(.deflate)
        var count = 0
        // Each piece ends within a block, so that part of the block remains for the next piece.
        var rest = ByteBuffer(bytes: block.prefix(3))
        for _ in 0..<4_000 {
            rest.writeBytes(block.dropFirst(3) + block.prefix(3))
            stage.feed(rest)
            rest.clear()
            while let plain = try stage.next() { count += plain.readableBytes }
        }
        #expect(count == 4_000 * size)
        #expect(stage.capacity < 64 * 1024)
    }

    @Test("a small decoded piece does not keep the memory of a large buffer")
    func smallPieces() throws {
        let stage = ContentStage(.deflate)
        var pieces: [ByteBuffer] = []
        // A server that flushes after each byte, in stored blocks of one byte.
        for _ in 0..<100 {
            stage.feed(ByteBuffer(bytes: [0, 1, 0, 0xfe, 0xff, 7]))
            while let plain = try stage.next() { pieces.append(plain) }
        }
        #expect(pieces.map(\.readableBytes).reduce(0, +) == 100)
        #expect(pieces.map(\.storageCapacity).reduce(0, +) <= 100 * 64)
    }

    @Test("endless blocks without content are an error after a bounded number of bytes")
    func endlessSilence() throws {
        let stage = ContentStage(.deflate)
        var fed = 0
        let block: [UInt8] = [0, 0, 0, 0xff, 0xff]
        let blocks = ByteBuffer(bytes: repeatElement(block, count: 10_000).joined())
        let error = #expect(throws: DirectHTTPError.self) {
            while fed < 8 * ContentStage.maxSilence {
                stage.feed(blocks)
                fed += blocks.readableBytes
                while try stage.next() != nil {}
            }
        }
        #expect(error?.code == .undecodableBody)
        #expect(fed < 2 * ContentStage.maxSilence)
    }

    // MARK: Several codings

    /// "one two three" in zlib format, then in gzip.
    private static let both: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 152, 115, 250, 188, 119, 168, 134, 230, 249, 112, 141, 147, 26,
        94, 190, 172, 12, 74, 185, 44, 95, 1, 44, 242, 148, 40, 21, 0, 0, 0,
    ]
    /// 64 MiB of zeros, compressed twice by gzip.
    private static let bomb: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 237, 220, 175, 78, 66, 113, 20, 192, 241, 139, 92, 55, 38, 27, 98, 32,
        25, 228, 17, 136, 20, 6, 26, 204, 6, 205, 142, 7, 32, 146, 101, 115, 38, 11, 47, 65, 102, 99, 115, 179,
        210, 120, 3, 180, 217, 253, 19, 156, 51, 57, 47, 220, 251, 24, 191, 243, 249, 164, 147, 79, 60, 59,
        251, 158, 61, 54, 178, 210, 65, 253, 99, 93, 171, 237, 135, 217, 252, 127, 249, 213, 56, 202, 0, 0, 0,
        128, 196, 205, 94, 239, 235, 229, 49, 32, 235, 22, 219, 203, 171, 27, 0, 0, 0, 32, 117, 227, 227, 86,
        94, 29, 5, 254, 110, 79, 207, 173, 3, 0, 0, 0, 146, 247, 48, 232, 183, 171, 15, 129, 239, 187, 73, 110,
        29, 0, 0, 0, 144, 188, 206, 239, 219, 168, 186, 5, 108, 138, 167, 147, 107, 251, 0, 0, 0, 128, 228,
        189, 8, 6, 0, 0, 0, 64, 40, 130, 1, 0, 0, 0, 16, 139, 96, 0, 0, 0, 0, 196, 34, 24, 0, 0, 0, 0, 193, 8,
        6, 0, 0, 0, 64, 44, 130, 1, 0, 0, 0, 16, 139, 96, 0, 0, 0, 0, 196, 34, 24, 0, 0, 0, 0, 193, 8, 6, 0, 0,
        0, 64, 44, 130, 1, 0, 0, 0, 16, 203, 98, 208, 239, 150, 143, 1, 237, 159, 98, 58, 188, 56, 204, 0, 0,
        0, 136, 228, 185, 249, 217, 123, 95, 237, 135, 124, 7, 60, 76, 236, 250, 226, 254, 0, 0,
    ]

    /// A body whose inner coding is truncated.
    private static let cut: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 147, 239, 230, 96, 0, 1, 38, 230, 211, 231, 189, 67, 53, 52, 207, 135,
        107, 156, 212, 240, 242, 101, 5, 0, 213, 13, 116, 135, 24, 0, 0, 0,
    ]

    static let fields: [(value: String, codings: [ContentCoding])] = [
        ("gzip", [.gzip]),
        ("X-GZIP", [.gzip]),
        ("deflate, gzip", [.deflate, .gzip]),
        (" gzip ,deflate", [.gzip, .deflate]),
        ("gzip, identity,, gzip", [.gzip, .gzip]),
        ("identity", []),
        ("", []),
        ("compress", []),
        ("compress, gzip", []),
        ("gzip, compress", []),
        ("gzip, gzip, gzip", []),
    ]

    @Test("a list of codings is accepted if all are supported and few", arguments: fields)
    func lists(_ row: (value: String, codings: [ContentCoding])) {
        #expect(ContentCoding.list(fieldValue: row.value) == row.codings)
    }

    @Test("two codings are decoded in reverse order, however the body is split", arguments: [1, 7, 4096])
    func twoCodings(_ size: Int) throws {
        let decoder = ContentDecoder([.deflate, .gzip])
        var text = ""
        var rest = Self.both[...]
        while !rest.isEmpty {
            #expect(!decoder.isFinished || text.isEmpty)
            decoder.feed(ByteBuffer(bytes: rest.prefix(size)))
            rest = rest.dropFirst(size)
            while let plain = try decoder.next() { text += String(buffer: plain) }
        }
        #expect(text == "one two three" && decoder.isFinished)
    }

    @Test("a truncated inner coding is not complete")
    func innerCut() throws {
        let decoder = ContentDecoder([.gzip, .gzip])
        decoder.feed(ByteBuffer(bytes: Self.cut))
        while try decoder.next() != nil {}
        #expect(!decoder.isFinished)
    }

    @Test("a body that expands by both codings is delivered in pieces of bounded size")
    func boundedGrowth() throws {
        let decoder = ContentDecoder([.gzip, .gzip])
        decoder.feed(ByteBuffer(bytes: Self.bomb))
        var count = 0
        while let plain = try decoder.next() {
            #expect(plain.readableBytes <= ContentStage.pieceSize)
            count += plain.readableBytes
        }
        #expect(count == 64 << 20 && decoder.isFinished)
    }

    // MARK: Ends

    /// An exchange that has received bytes of its body, and goes on.
    private static func exchange(of bytes: [UInt8]) throws -> Exchange {
        let request = try PreparedRequest(.get, HTTPURL("http://a.test/"))
        let exchange = Exchange(request: request, limits: ExchangeLimits(bufferedBytes: 1_000))
        _ = exchange.deliver(head: nil, pieces: [ByteBuffer(bytes: bytes)], end: nil, now: .now(), wakes: nil)
        return exchange
    }

    static let endings: [(code: DirectHTTPError.Code, isDecodedOn: Bool)] = [
        (.deadlineExceeded, false), (.cancelled, false), (.connectionLost, true),
    ]

    @Test("received bytes are not decoded on after a time limit or a cancellation", arguments: endings)
    func anEndedRequest(_ row: (code: DirectHTTPError.Code, isDecodedOn: Bool)) async throws {
        let exchange = try Self.exchange(of: Self.bomb)
        var pieces = ResponseBody(exchange: exchange, codings: [.gzip, .gzip]).makeAsyncIterator()
        let first = try await pieces.next()
        #expect(first != nil)
        exchange.fail(DirectHTTPError(row.code, "the request ended"))
        do throws(DirectHTTPError) {
            let second = try await pieces.next()
            #expect(second != nil && row.isDecodedOn)
        } catch {
            #expect(error.code == row.code && !row.isDecodedOn)
        }
    }

    @Test("a cancelled task does not decode a received body on, however far it expands")
    func aCancelledTask() async throws {
        let body = ResponseBody(exchange: try Self.exchange(of: Self.bomb), codings: [.gzip, .gzip])
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            var pieces = body.makeAsyncIterator()
            // Without the check, the first wait for bytes would notice the cancellation: after 64 MiB.
            var count = 0
            do throws(DirectHTTPError) {
                while let piece = try await pieces.next() { count += piece.readableBytes }
            } catch {
                return error.code == .cancelled && count == 0
            }
            return false
        }
        task.cancel()
        #expect(await task.value)
    }
}
