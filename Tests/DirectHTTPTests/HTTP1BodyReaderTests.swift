// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import Testing

@testable import HTTPWire

@Suite("The reader of HTTP/1 bodies (RFC 9112 §6, §7)")
struct HTTP1BodyReaderTests {
    /// The content, and the error that ended it.
    private static func read(_ text: String, allowsBareLineFeed: Bool = true) -> (content: String, error: HTTP1Error?) {
        var reader = HTTP1BodyReader(.chunked, allowsBareLineFeed: allowsBareLineFeed)
        var input = ByteBuffer(string: text)
        var content = ""
        do throws(HTTP1Error) {
            while let part = try reader.next(from: &input) {
                if case .content(let piece) = part { content += String(buffer: piece) }
            }
        } catch {
            return (content, error)
        }
        return (content, nil)
    }

    @Test("white space after the size of a chunk is bounded")
    func blanks() {
        #expect(Self.read("1  \r\na\r\n0\r\n\r\n").content == "a")
        #expect(Self.read("1" + String(repeating: " ", count: 5_000)).error != nil)
    }

    @Test("the size of a chunk may have leading zeros, but has a largest value and a bounded number of digits")
    func leadingZeros() {
        #expect(Self.read("0000000000000002\r\nok\r\n0000000000000000\r\n\r\n").content == "ok")
        #expect(Self.read("0000000000000002\r\nok\r\n0000000000000000\r\n\r\n").error == nil)
        #expect(Self.read("fffffffffffffff\r\n").error == nil)
        for size in ["1000000000000000", "8000000000000000", "10000000000000002", String(repeating: "0", count: 100)] {
            #expect(Self.read(size + "\r\nok\r\n").error != nil, "\(size)")
        }
    }

    @Test("a chunk's extension may end in LF alone, but other recipients may read that as a part of it")
    func extensionLineFeed() throws {
        for (text, isAmbiguous) in [("2;a\nhi\r\n0\r\n\r\n", true), ("2\nhi\n0\n\n", false)] {
            #expect(Self.read(text).content == "hi")
            var reader = HTTP1ResponseReader()
            reader.expect(method: .get)
            reader.feed(ByteBuffer(string: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + text))
            var last: HTTP1ResponseReader.Event?
            while let event = try reader.next() { last = event }
            #expect(last == .end(trailers: nil, isClear: !isAmbiguous))
        }
        // A proxy forwards the framing, so it takes no such LF.
        var forwarded = HTTP1BodyReader(.chunked)
        var input = ByteBuffer(string: "2;a\nhi\r\n0\r\n\r\n")
        #expect(throws: HTTP1Error.self) { _ = try forwarded.takeVerbatim(from: &input, without: []) }
    }

    @Test(
        "an undecoded chunked body is handed out as received, with trailers and in whatever pieces",
        arguments: [1, 7, 100]
    )
    func undecoded(step: Int) throws {
        let text = "2;a=b\r\nhi\r\n0\r\nX: y\r\n\r\n"
        var reader = HTTP1ResponseReader()
        reader.expect(method: .get, keepsTransferCoding: true)
        var rest = ByteBuffer(string: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(text)next")
        var (body, isEnded) = ("", false)
        while let piece = rest.readSlice(length: min(step, rest.readableBytes)), piece.readableBytes > 0 {
            reader.feed(piece)
            while let event = try reader.next() {
                if case .body(let piece) = event { body += String(buffer: piece) }
                if case .end = event { isEnded = true }
            }
        }
        #expect(body == text && isEnded)
    }

    @Test("a malformed body has not ended, and stays malformed")
    func malformed() {
        for isVerbatim in [false, true] {
            var reader = HTTP1BodyReader(.chunked)
            for _ in 0..<2 {
                var input = ByteBuffer(string: "zz\r\nGET / HTTP/1.1\r\n")
                #expect(throws: HTTP1Error.self) {
                    _ = isVerbatim ? try reader.takeVerbatim(from: &input, without: []) : nil
                    _ = try reader.next(from: &input)
                }
                #expect(!reader.isEnded)
            }
        }
    }

    @Test("trailers longer than their bound are an error, and those of a response have the bound of its head")
    func longTrailers() throws {
        let long = "0\r\nX: " + String(repeating: "y", count: 20_000)
        #expect(Self.read(long).error == .trailersTooLarge)
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(try Self.response(head + long + "\r\n\r\n").trailers?.count == 1)
        var reader = HTTP1ResponseReader(limits: .init(headBytes: 1_000))
        reader.expect(method: .get)
        reader.feed(ByteBuffer(string: head + long))
        let error = #expect(throws: HTTP1Error.self) { while try reader.next() != nil {} }
        #expect(error == .trailersTooLarge)
    }

    private static func response(_ text: String) throws -> (body: String, trailers: HTTPFields?) {
        var reader = HTTP1ResponseReader()
        reader.expect(method: .get)
        reader.feed(ByteBuffer(string: text))
        var body = ""
        while let event = try reader.next() {
            switch event {
            case .body(let piece): body += String(buffer: piece)
            case .end(let trailers, _): return (body, trailers)
            case .head, .informational: break
            }
        }
        throw HTTP1Error.endedEarly("no end")
    }

    @Test("a trailer that looks like framing does not fail a body that is whole")
    func framingTrailer() throws {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nContent-Length: x\r\n\r\n"
        let (body, trailers) = try Self.response(text)
        #expect(body == "hi" && trailers?[.contentLength] == "x")
    }

    @Test("an empty Transfer-Encoding beside a chunked one does not hand out the framing as content")
    func emptyCoding() throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding:\r\n\r\n"
        #expect(try Self.response(head + "2\r\nhi\r\n0\r\n\r\n").body == "hi")
    }
}
