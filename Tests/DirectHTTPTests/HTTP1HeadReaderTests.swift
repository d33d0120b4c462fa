// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import HTTPWire

@Suite("The reader of HTTP/1 heads (RFC 9112 §2, §5)")
struct HTTP1HeadReaderTests {
    private static func lines(_ text: String, _ strictness: HTTP1HeadReader.Strictness) throws -> [String]? {
        var reader = HTTP1HeadReader(strictness, limit: 1_000)
        var input = ByteBuffer(string: text)
        return try reader.take(from: &input)?.withLines { lines throws(HTTP1Error) in
            var all: [String] = []
            while let line = lines.next() { all.append(line.text) }
            return all
        }
    }

    @Test("a head is kept as received, and its folded lines are read as one")
    func folded() throws {
        let text = "HTTP/1.1 200 OK\r\nA: 1\r\n  2\n\t3\r\nB: 4\r\n\r\n"
        var reader = HTTP1HeadReader(.response, limit: 1_000)
        var input = ByteBuffer(string: text + "body")
        let head = try #require(try reader.take(from: &input))
        #expect(String(buffer: head.raw) == text && String(buffer: input) == "body")
        #expect(try Self.lines(text, .response) == ["HTTP/1.1 200 OK", "A: 1    2 \t3", "B: 4"])
    }

    @Test(
        "a request whose lines could be read in two ways is refused",
        arguments: [
            "GET / HTTP/1.1\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\n\r\n",
            "GET / HTTP/1.1\r\nA: 1\r\n 2\r\n\r\n",
        ]
    )
    func ambiguous(_ text: String) {
        #expect(throws: HTTP1Error.self) { try Self.lines(text, .request) }
    }

    @Test("a continuation of the status line is refused: the first field would have no name")
    func foldedStatusLine() {
        #expect(throws: HTTP1Error.self) { try Self.lines("HTTP/1.1 200 OK\r\n A: 1\r\n\r\n", .response) }
    }

    @Test("a field's name cannot be continued on the next line")
    func foldedName() {
        #expect(throws: HTTP1Error.self) {
            try Self.lines("HTTP/1.1 200 OK\r\nContent-Length\r\n : 5\r\n\r\n", .response)
        }
    }

    @Test("a head of folds below a long status line is read in linear time", .timeLimit(.minutes(1)))
    func manyFolds() throws {
        let size = 8 << 20
        var reader = HTTP1HeadReader(.response, limit: size * 2)
        let line = "HTTP/1.1 200 " + String(repeating: "a", count: size / 2) + "\nA: b\n"
        var input = ByteBuffer(string: line + String(repeating: " \n", count: size / 4) + "\n")
        #expect(try reader.take(from: &input)?.isFolded == true)
    }

    @Test("a head in single bytes takes linear time", .timeLimit(.minutes(1)))
    func linear() throws {
        let size = 1 << 19
        var reader = HTTP1HeadReader(.response, limit: size + 10)
        var input = ByteBuffer()
        // One long line: a reader that begins each search at the start of the line needs 10^11 steps.
        for _ in 0..<size {
            input.writeInteger(UInt8(ascii: "x"))
            if try reader.take(from: &input) != nil { Issue.record("a head without an end") }
            // The next search begins at the end of this one.
            guard reader.searched == input.readableBytes else {
                Issue.record("a search begins again")
                return
            }
        }
        input.writeString("\n\n")
        #expect(try reader.take(from: &input)?.raw.readableBytes == size + 2)
    }

    @Test("white space before a colon is removed from responses and refused in requests")
    func blankBeforeColon() throws {
        var lines = ByteBuffer(string: "Content-Length : 5\r\n\r\n")
        let framing = try HTTP1Head(raw: lines).withLines { lines throws(HTTP1Error) in
            try EndToEndFields(&lines, fieldLimit: 10, isResponse: true).framing.contentLength
        }
        #expect(framing == 5)
        lines = ByteBuffer(string: "Content-Length : 5\r\n\r\n")
        #expect(throws: HTTP1Error.self) {
            _ = try HTTP1Head(raw: lines).withLines { lines throws(HTTP1Error) in
                try EndToEndFields(&lines, fieldLimit: 10)
            }
        }
    }
}
