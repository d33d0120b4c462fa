// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import NIOHPACK
import Testing

@testable import DirectHTTP

@Suite("Header blocks of a connection")
struct HTTP2HeaderReaderTests {
    /// What a block says that a decoder reads each time anew; nil where it is refused.
    private static func read(_ block: ByteBuffer, with decoder: inout DirectHTTP.HPACKDecoder) -> HTTPResponse? {
        var received = HTTP2Headers.Received()
        guard (try? decoder.decode(block) { received.take($0) }) != nil else { return nil }
        return try? received.response()
    }

    @Test("blocks that come again say what they would say if they were read again, and the table stays in step")
    func repeatedBlocks() throws {
        var random = SeededRandom(seed: 9113)
        let names = ["server", "date", "etag", "x-a", "x-name-of-no-table", "content-length"]
        let values = ["nginx", "1", "2", "Mon, 23 Nov 2026 09:59:28 GMT", String(repeating: "z", count: 900)]
        var repeated = 0
        for _ in 0..<FuzzRounds.count(ordinary: 300) {
            var encoder = NIOHPACK.HPACKEncoder(allocator: ByteBufferAllocator())
            var decoder = HPACKTests.decoder()
            var reader = HTTP2HeaderReader(maximumListSize: 1 << 16, maximumFields: 500)
            var blocks: [ByteBuffer] = []
            for _ in 0..<30 {
                let block: ByteBuffer
                if let last = blocks.last, Bool.random(using: &random) {
                    // A table that changes meanwhile gives its indices other meanings: on both sides the same ones.
                    block =
                        Int.random(in: 0..<4, using: &random) == 0 ? blocks.randomElement(using: &random) ?? last : last
                } else {
                    var headers: HPACKHeaders = [":status": "200"]
                    for _ in 0..<Int.random(in: 0...4, using: &random) {
                        let indexing: HPACKIndexing = Bool.random(using: &random) ? .indexable : .nonIndexable
                        headers.add(
                            name: names.randomElement(using: &random) ?? "",
                            value: values.randomElement(using: &random) ?? "",
                            indexing: indexing
                        )
                    }
                    var new = ByteBuffer()
                    // Some blocks begin with a new size of the table.
                    if Int.random(in: 0..<8, using: &random) == 0 {
                        HPACKInteger.write(
                            [0, 60, 300, 4_096].randomElement(using: &random) ?? 0,
                            prefix: 5,
                            flags: 0x20,
                            into: &new
                        )
                    }
                    try encoder.encode(headers: headers, to: &new)
                    block = new
                }
                repeated += block == blocks.last ? 1 : 0
                blocks.append(block)
                let expected = Self.read(block, with: &decoder)
                let received = try? reader.read(block)
                #expect((try? received?.response()) == expected)
                // What is wrong with a block's coding ends a connection.
                if received == nil { break }
            }
        }
        #expect(repeated > 100)
    }

    @Test("a block that changes what it says is read each time: its index means another field then")
    func indexThatMoves() throws {
        var reader = HTTP2HeaderReader(maximumListSize: 1 << 16, maximumFields: 500)
        // x-a: 1 and x-a: 2 into the table, and then the older one, which is named anew as the younger one.
        for (name, value) in [("x-a", "1"), ("x-a", "2")] {
            let text = Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
            _ = try reader.read(ByteBuffer(bytes: [0x88, 0x40, UInt8(name.utf8.count)] + text))
        }
        let older = ByteBuffer(bytes: [0x88, 0xbf, 0x7f, 0x00, 1, UInt8(ascii: "3")])
        let name = try #require(HTTPField.Name("x-a"))
        #expect(try reader.read(older).response().headerFields[values: name] == ["1", "3"])
        #expect(try reader.read(older).response().headerFields[values: name] == ["2", "3"])
    }
}
