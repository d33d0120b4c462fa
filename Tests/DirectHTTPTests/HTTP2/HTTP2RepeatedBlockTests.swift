// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import NIOHPACK
import Testing

@testable import DirectHTTP
@testable import HTTPWire

@Suite("Repeated header blocks of a server")
struct HTTP2RepeatedBlockTests {
    /// A client's connection, and a decoder that decodes every block again.
    private struct Pair {
        private var connection = HTTP2Connection(role: .client, limits: .init())
        private var decoder = HPACKTests.decoder(listSize: HTTP2Connection.Limits().listSize)

        init() throws { try connection.feed(ByteBuffer(bytes: RawFrame(.settings).bytes)) }

        /// The fields of a block from the connection and from the decoder; nil if the block is rejected.
        mutating func read(_ block: ByteBuffer) -> (received: [String]?, expected: [String]?) {
            var request = ByteBuffer(bytes: [0x82])
            let id = connection.open(&request, endStream: true, mayHaveBody: true)
            let frame = RawFrame(.headers, flags: 5, stream: id, payload: Array(block.readableBytesView))
            var received: [String]?
            do {
                try connection.feed(ByteBuffer(bytes: frame.bytes))
                while let event = try connection.next(now: .uptimeNanoseconds(1)) {
                    guard case .head(id, let head, _) = event else { continue }
                    received = head.fields.map { "\($0.name.rawName): \($0.value)" }
                }
            } catch {
                received = nil
            }
            let expected = HPACKTests.decode(block, with: &decoder)?.filter { !$0.hasPrefix(":") }
            return (received, expected)
        }
    }

    @Test("a repeated block gives the same fields as decoding it again, and the tables stay in sync")
    func repeatedBlocks() throws {
        var random = SeededRandom(seed: 9113)
        let names = ["server", "date", "etag", "x-a", "x-name-of-no-table", "vary"]
        let values = ["nginx", "1", "2", "Mon, 23 Nov 2026 09:59:28 GMT", String(repeating: "z", count: 900)]
        var repeated = 0
        for _ in 0..<FuzzRounds.count(ordinary: 300) {
            var encoder = NIOHPACK.HPACKEncoder(allocator: ByteBufferAllocator())
            var pair = try Pair()
            var blocks: [ByteBuffer] = []
            for _ in 0..<30 {
                var block = ByteBuffer()
                if let last = blocks.last, Bool.random(using: &random) {
                    // If the table changed in between, indices mean other fields, but the same ones at both sides.
                    let isOlder = Int.random(in: 0..<4, using: &random) == 0
                    block = isOlder ? blocks.randomElement(using: &random) ?? last : last
                } else {
                    var headers: HPACKHeaders = [":status": "200"]
                    for _ in 0..<Int.random(in: 0...4, using: &random) {
                        headers.add(
                            name: names.randomElement(using: &random) ?? "",
                            value: values.randomElement(using: &random) ?? "",
                            indexing: Bool.random(using: &random) ? .indexable : .nonIndexable
                        )
                    }
                    // Some blocks begin with a table size update.
                    if Int.random(in: 0..<8, using: &random) == 0 {
                        let size = [0, 60, 300, 4_096].randomElement(using: &random) ?? 0
                        HPACKInteger.write(size, prefix: 5, flags: 0x20, into: &block)
                    }
                    try encoder.encode(headers: headers, to: &block)
                }
                repeated += block == blocks.last ? 1 : 0
                blocks.append(block)
                let (received, expected) = pair.read(block)
                #expect(received == expected)
                // A coding error ends the connection.
                if expected == nil { break }
            }
        }
        #expect(repeated > 100)
    }

    @Test("a repeated block is decoded again if its indices stand for other fields")
    func indexThatMoves() throws {
        var pair = try Pair()
        // Insert x-a: 1 and x-a: 2. The block then refers to the older entry, which an insertion moves.
        for (name, value) in [("x-a", "1"), ("x-a", "2")] {
            let text = Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
            _ = pair.read(ByteBuffer(bytes: [0x88, 0x40, UInt8(name.utf8.count)] + text))
        }
        let older = ByteBuffer(bytes: [0x88, 0xbf, 0x7f, 0x00, 1, UInt8(ascii: "3")])
        #expect(pair.read(older).received == ["x-a: 1", "x-a: 3"])
        #expect(pair.read(older).received == ["x-a: 2", "x-a: 3"])
    }
}
