// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import DirectHTTP

@Suite("Content codings, undone piece by piece")
struct InflaterTests {
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
        ("members with nothing in them", [nothing + nothing, one, nothing, two + nothing], "one two", true),
        ("many of them in one piece", [Array(repeatElement(nothing, count: 2_000).joined()) + two], "two", true),
        ("zeros behind the last", [one + two + [0, 0], [0], [0, 0, 0]], "one two", true),
        ("what looks like a member behind what is none", [one, [0], two], "one ", true),
        ("a second member that is cut short", [one, Array(two.prefix(10))], "one ", false),
        ("a byte at a time", (one + two).map { [$0] }, "one two", true),
    ]

    @Test("a gzip body may have several members, wherever its pieces end (RFC 1952 §2.2)", arguments: rows)
    func members(_ row: (what: String, pieces: [[UInt8]], text: String, isWhole: Bool)) throws {
        let inflater = Inflater(.gzip)
        var text = ""
        for piece in row.pieces {
            inflater.feed(ByteBuffer(bytes: piece))
            while let plain = try inflater.next() { text += String(buffer: plain) }
        }
        #expect(text == row.text && inflater.isFinished == row.isWhole, "\(row.what)")
    }
}
