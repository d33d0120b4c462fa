// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import Testing

@testable import DirectHTTP
@testable import HTTPWire

@Suite("HTTP/1.1 response parser (RFC 9112)")
struct HTTP1ResponseReaderTests {
    /// What a response came to: how it ended, its status, its body and whether the connection can be kept.
    struct Outcome: Equatable {
        var status: Int?
        var body = ""
        var keepAlive: Bool?
        var isWhole = false
        var error: DirectHTTPError.Code?
        var informational = 0
    }

    static func run(
        _ text: String,
        piece: Int = .max,
        method: HTTPRequest.Method = .get,
        closes: Bool = true
    ) -> Outcome {
        var parser = HTTP1ResponseReader()
        parser.expect(method: method)
        var outcome = Outcome()
        func take(_ event: HTTP1ResponseReader.Event) {
            switch event {
            case .informational: outcome.informational += 1
            case .head(let response, _, let keepAlive):
                outcome.status = response.status.code
                outcome.keepAlive = keepAlive
            case .body(let bytes): outcome.body += String(buffer: bytes)
            case .end: outcome.isWhole = true
            }
        }
        do throws(HTTP1Error) {
            var rest = Substring(text).utf8
            while !rest.isEmpty {
                parser.feed(ByteBuffer(bytes: rest.prefix(piece)))
                rest = rest.dropFirst(piece)
                while let event = try parser.next() { take(event) }
            }
            if closes, !outcome.isWhole, let event = try parser.finishAtClose() { take(event) }
        } catch {
            outcome.error = DirectHTTPError.unreadable(error).code
        }
        return outcome
    }

    @Test(
        "a response parses the same in one piece and byte by byte",
        arguments: [
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
                Outcome(status: 200, body: "hi", keepAlive: true, isWhole: true)
            ),
            (
                "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
                Outcome(status: 200, body: "hi", keepAlive: true, isWhole: true)
            ),
            ("HTTP/1.1 200\r\n\r\nrest", Outcome(status: 200, body: "rest", keepAlive: false, isWhole: true)),
            ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", Outcome(status: 200, keepAlive: false, isWhole: true)),
            // HTTP/1.0 keeps a connection only with keep-alive (RFC 9112 §9.3), and has no transfer codings (§6.1).
            (
                "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nhi",
                Outcome(status: 200, body: "hi", keepAlive: true, isWhole: true)
            ),
            (
                "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nhi",
                Outcome(status: 200, body: "hi", keepAlive: false, isWhole: true)
            ),
            (
                "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nq\r\n0\r\n\r\n",
                Outcome(status: 200, body: "q", keepAlive: false, isWhole: true)
            ),
            (
                "HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
                Outcome(status: 200, keepAlive: false, isWhole: true)
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX: 1\r\n\r\n",
                Outcome(status: 200, body: "abc", keepAlive: true, isWhole: true)
            ),
            (
                "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
                Outcome(status: 204, keepAlive: true, isWhole: true, informational: 1)
            ),
            (
                "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 1, 1\r\n\r\nz",
                Outcome(status: 200, body: "z", keepAlive: true, isWhole: true)
            ),
            // With both lengths the coding takes precedence, and the connection is not reused (RFC 9112 §6.3).
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nq\r\n0\r\n\r\n",
                Outcome(status: 200, body: "q", keepAlive: false, isWhole: true)
            ),
        ]
    )
    func response(text: String, expected: Outcome) {
        #expect(Self.run(text) == expected)
        #expect(Self.run(text, piece: 1) == expected)
    }

    @Test(
        "a body with a transfer coding that was not requested is an error, and is not handed out encoded",
        arguments: [
            ("gzip", true), ("gzip, chunked", true), ("chunked, gzip", true), ("chunked, identity", true),
            ("chunked\r\nTransfer-Encoding: identity", true), ("gzip\r\nTransfer-Encoding: chunked", true),
            ("chunked", false), ("CHUNKED", false), ("identity, chunked", false), ("chunked, chunked", false),
        ]
    )
    func unrequestedCoding(_ coding: String, isRefused: Bool) {
        let response = "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n1\r\nq\r\n0\r\n\r\n"
        let outcome = Self.run(response)
        #expect(outcome.error == (isRefused ? .undecodableBody : nil) && outcome.body == (isRefused ? "" : "q"))
        // The field of a response without a body encodes nothing.
        #expect(Self.run(response, method: .head, closes: false).error == nil)
    }

    @Test("the transfer coding identity leaves a body as it is")
    func identityCoding() {
        let outcome = Self.run("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nhi")
        #expect(outcome == Outcome(status: 200, body: "hi", keepAlive: false, isWhole: true))
    }

    @Test("a Content-Length beside a transfer coding is removed, so that a gateway cannot forward it")
    func bothLengths() throws {
        var parser = HTTP1ResponseReader()
        parser.expect(method: .get)
        parser.feed(ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"))
        guard case .head(let response, _, keepAlive: false) = try parser.next() else {
            Issue.record("there is no head")
            return
        }
        #expect(response.headerFields[.contentLength] == nil && response.headerFields[.transferEncoding] == "chunked")
    }

    @Test(
        "a response that is not valid HTTP is rejected as malformed",
        arguments: [
            "hello, world, this is no status line\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\nna me: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: b\u{0}c\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000000000\r\n",
        ]
    )
    func refused(text: String) {
        #expect(Self.run(text).error == .malformedResponse)
        #expect(Self.run(text, piece: 1).error == .malformedResponse)
    }

    @Test(
        "a status line of another version, or one that cannot be read, is an error of its own",
        arguments: [
            "HTTP/1.1 20x OK\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.2 200 OK\r\n\r\n", "HTTP/1.1 2 OK\r\n\r\n",
            "HTTP/1.\(String(repeating: "1", count: 100)) 200 OK\r\n\r\n",
        ]
    )
    func otherVersion(text: String) {
        #expect(Self.run(text).error == .unsupportedVersion)
        #expect(Self.run(text, piece: 1).error == .unsupportedVersion)
    }

    @Test("a truncated body is an error")
    func cutShort() {
        #expect(Self.run("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc").error == .connectionLost)
        #expect(Self.run("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc").error == .connectionLost)
        #expect(Self.run("HTTP/1.1 200 OK\r\nContent-Le").error == .connectionLost)
        #expect(Self.run("").error == .connectionLost)
    }

    @Test("a head without end is rejected at its limit, however the bytes are split")
    func endlessHead() {
        let endless = "HTTP/1.1 200 OK\r\n" + String(repeating: "X: 0123456789\r\n", count: 10_000)
        #expect(Self.run(endless, piece: 1000, closes: false).error == .responseTooLarge)
        #expect(Self.run("HTTP/1.1 200 OK\r\nX: " + String(repeating: "y", count: 70_000)).error == .responseTooLarge)
        let many = "HTTP/1.1 200 OK\r\n" + String(repeating: "X: 0\r\n", count: 1_001) + "\r\n"
        #expect(Self.run(many).error == .responseTooLarge)
    }

    @Test("the errors of a large head and of large trailers name the one limit that a program can raise")
    func adviceForLargeHeads() {
        for error in [HTTP1Error.tooLarge("its head is larger than 9 bytes"), .trailersTooLarge] {
            #expect(DirectHTTPError.unreadable(error).message.hasSuffix("; raise maxHeadBytes to read it"), "\(error)")
        }
    }

    @Test("a response to HEAD has no body in spite of its length")
    func head() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        #expect(Self.run(text, method: .head) == Outcome(status: 200, keepAlive: true, isWhole: true))
    }

    @Test("a tunnel opens in spite of an invalid length in its response", arguments: ["-1", "", "1, 2"])
    func lengthOfTunnel(length: String) {
        let fields = "Content-Length: \(length)\r\n\r\n"
        #expect(Self.run("HTTP/1.1 200 OK\r\n\(fields)", method: .connect) == Outcome(status: 200, keepAlive: false))
        #expect(Self.run("HTTP/1.1 407 No\r\n\(fields)", method: .connect).error == .malformedResponse)
    }

    @Test("extra bytes after a response are noticed, so that the connection is not reused")
    func bytesBehind() throws {
        var parser = HTTP1ResponseReader()
        parser.expect(method: .get)
        parser.feed(ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc"))
        var last: HTTP1ResponseReader.Event?
        while let event = try parser.next() { last = event }
        #expect(last == .end(trailers: nil, isClear: false))
    }

    @Test("earlier responses of a connection do not change how the next one is parsed")
    func repeatedLines() {
        let long = "X-Long: \(String(repeating: "y", count: 300))"
        let first = ["Server: x", "Set-Cookie: a=1; Path=/", long, "Content-Length: 0"]
        let tables = [
            first, first.reversed(), Array(first.dropFirst()), Array(first.dropLast()), first + ["Connection: close"],
            ["Server: x", " y", "Content-Length: 0"],
            ["Server: xy", "Content-Length: 0"],
            ["Server: x", "Set-Cookie: a=2; Path=/", "Content-Length: 0"],
            ["server: x", "Set-Cookie: a=1; Path=/", "Content-Length: 00"],
            ["Server: x", "no name", "Content-Length: 0"],
        ]
        let heads = tables.map { "HTTP/1.1 200 OK\r\n\($0.joined(separator: "\r\n"))\r\n\r\n" }
        for one in heads {
            for other in heads { #expect(Self.events(of: other, behind: one) == Self.events(of: other)) }
        }
        #expect(Self.events(of: heads[0])?.count == 2)
        #expect(Self.events(of: heads[9]) == nil)
    }

    /// All that comes of a response to GET, perhaps on a connection that had another one before; nil: an error.
    static func events(of text: String, behind another: String? = nil) -> [HTTP1ResponseReader.Event]? {
        var parser = HTTP1ResponseReader()
        if let another { _ = try? events(of: another, &parser) }
        return try? events(of: text, &parser)
    }

    private static func events(
        of text: String,
        _ parser: inout HTTP1ResponseReader
    ) throws(HTTP1Error) -> [HTTP1ResponseReader.Event] {
        parser.expect(method: .get)
        parser.feed(ByteBuffer(string: text))
        var events: [HTTP1ResponseReader.Event] = []
        while let event = try parser.next() { events.append(event) }
        return events
    }

    @Test("no input makes the parser trap, and splitting it does not change the result")
    func fuzz() async {
        let seeds = [
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: 1\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 \r\nA:b\r\n c\r\n\r\n",
        ]
        var random = SeededRandom(seed: 9112)
        for round in 0..<FuzzRounds.count(ordinary: 20_000) {
            var bytes = Array(seeds[round % seeds.count].utf8)
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...127, using: &random)
                case 1: bytes.remove(at: index)
                default: bytes.insert(contentsOf: bytes[..<index], at: index)
                }
                if bytes.isEmpty { bytes = [0] }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(Self.run(text) == Self.run(text, piece: 1 + round % 7))
            if round % 4 == 0 {
                #expect(Self.events(of: text, behind: seeds[round % seeds.count]) == Self.events(of: text))
            }
            // Yield to other tests, which check time limits.
            if round % 100 == 0 { await Task.yield() }
        }
    }

    @Test("bytes that are not a status line have one error, whatever follows and however they are split")
    func otherProtocol() {
        let large = String(repeating: "y", count: 400_000)
        for (rest, piece) in [("A/b\r\n c\r\n\r\n", 3), ("A/b\r\n c\r\n\r\n", .max), (large, .max)] {
            var parser = HTTP1ResponseReader()
            parser.expect(method: .get)
            var bytes = Array("220 mail.test\r\n\(rest)".utf8)[...]
            let error = #expect(throws: HTTP1Error.self) {
                while !bytes.isEmpty {
                    parser.feed(ByteBuffer(bytes: bytes.prefix(piece)))
                    bytes = bytes.dropFirst(piece)
                    while try parser.next() != nil {}
                }
            }
            #expect(error == .malformed("it does not begin with a status line"), "in pieces of \(piece)")
        }
    }

    @Test("lines with white space before the first field are skipped (RFC 9112 §2.2), and no field of theirs counts")
    func blankBeforeFirstField() throws {
        var reader = HTTP1ResponseReader()
        reader.expect(method: .get)
        let text = "HTTP/1.1 200 OK\r\n Content-Length: 9\r\n\tX: y\r\nContent-Length: 0\r\nA: b\r\n c\r\n\r\n"
        reader.feed(ByteBuffer(string: text))
        guard case .head(let response, let raw, _) = try reader.next() else { return #expect(Bool(false), "no head") }
        #expect(response.headerFields[.contentLength] == "0" && response.headerFields.count == 2)
        #expect(response.status.reasonPhrase == "OK" && String(buffer: raw) == text)
        #expect(try reader.next() == .end(trailers: nil, isClear: true))
    }

    @Test(
        "of a head that is malformed or breaks off, the lines before the fault can be had",
        arguments: [
            ("HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: \r-6\r\nC: d\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n"),
            ("HTTP/1.1 200 OK\nA: b\nTransfer-Encoding: chunked, gzip\n\n", "HTTP/1.1 200 OK\nA: b\n"),
            ("HTTP/1.1 200 OK\r\nA: b\r\nC: ", "HTTP/1.1 200 OK\r\nA: b\r\n"),
            ("HTTP/1.1 200 OK\r\nA: b\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n"),
            ("ICY 200 OK\r\nA: b\r\n\r\n", ""), ("HTT", ""),
        ]
    )
    func brokenHead(_ text: String, _ lines: String) {
        var reader = HTTP1ResponseReader()
        reader.expect(method: .get)
        reader.feed(ByteBuffer(string: text))
        #expect(throws: HTTP1Error.self) {
            _ = try reader.next()
            _ = try reader.finishAtClose()
        }
        #expect(reader.brokenHead.map { String(buffer: $0) } ?? "" == lines)
    }

    @Test("another version on a connection that spoke HTTP/1 is malformed; on a new one it is not supported")
    func changedVersion() throws {
        var reader = HTTP1ResponseReader()
        reader.expect(method: .get)
        reader.feed(ByteBuffer(string: "HTTP/1.1 204 OK\r\n\r\n"))
        while try reader.next() != nil {}
        for isFirst in [false, true] {
            if isFirst { reader = HTTP1ResponseReader() }
            reader.expect(method: .get)
            reader.feed(ByteBuffer(string: "HTTP/2 200 OK\r\n\r\n"))
            let error = #expect(throws: HTTP1Error.self) { _ = try reader.next() }
            guard case .unsupportedVersion = error else {
                #expect(!isFirst)
                continue
            }
            #expect(isFirst)
        }
    }

    @Test("a head with more fields than HTTPFields can hold is too large, even under a higher limit")
    func fieldsWithoutLimit() {
        var configuration = EngineConfiguration()
        configuration.maxHeadFields = .max
        configuration.maxHeadBytes = .max
        var parser = HTTP1ResponseReader(limits: configuration.headLimits)
        parser.expect(method: .get)
        let fields = String(repeating: "a:1\r\n", count: 70_000)
        parser.feed(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\(fields)\r\n"))
        let error = #expect(throws: HTTP1Error.self) { _ = try parser.next() }
        guard case .tooManyFields = error else { return #expect(Bool(false), "\(String(describing: error))") }
    }

    @Test(
        "a length consists of digits only, and fits 64 bits",
        arguments: [
            ("9223372036854775807", nil), ("9223372036854775808", .malformedResponse),
            ("36893488147419103232", .malformedResponse),
            ("-0", .malformedResponse),
            ("+1", .malformedResponse), ("-1", .malformedResponse), ("0x1", .malformedResponse),
        ] as [(String, DirectHTTPError.Code?)]
    )
    func lengths(_ length: String, _ error: DirectHTTPError.Code?) {
        let outcome = Self.run("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nab", closes: false)
        #expect(outcome.error == error)
        #expect(outcome.body == (error == nil ? "ab" : ""))
    }

    @Test(
        "a chunk's size has a bounded number of digits",
        arguments: [("fffffffffffffff", nil), ("1000000000000000", .malformedResponse)]
            as [(String, DirectHTTPError.Code?)]
    )
    func chunkSizes(_ size: String, _ error: DirectHTTPError.Code?) {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(Self.run("\(head)\(size)\r\nab", closes: false).error == error)
    }

    @Test("a chunked body that is split in its line endings does not accumulate in memory")
    func keepsLittle() throws {
        var parser = HTTP1ResponseReader()
        parser.expect(method: .get)
        parser.feed(ByteBuffer(string: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r"))
        for _ in 0..<2_000 {
            while try parser.next() != nil {}
            parser.feed(ByteBuffer(string: "\n5\r\nhello\r"))
        }
        #expect(parser.capacity < 2_000)
    }
}
