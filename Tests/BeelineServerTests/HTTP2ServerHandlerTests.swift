// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOCore
import NIOEmbedded
import Names
import Testing

@testable import BeelineServer
@testable import HTTPWire

@Suite("The server side of HTTP/2")
struct HTTP2ServerHandlerTests {
    /// A connection without a socket, and the requests that its server received.
    private final class Wire {
        let channel = EmbeddedChannel()
        var requests: [HTTP2ServerHandler.Request] = []
        /// The tasks of the requests that get no reply at once.
        private var work: [UInt32: Task<Void, Never>] = [:]
        var cancelled: [UInt32] { work.filter(\.value.isCancelled).keys.sorted() }
        /// The content of replies; nil: requests get no reply.
        var content: [UInt8]? = Array("answer".utf8)
        private(set) var handler: HTTP2ServerHandler?

        init(
            streams: Int = 100,
            body: Int = 100,
            greeting: [RawFrame] = [RawFrame(.settings)],
            preface: [UInt8] = RawFrame.preface
        ) throws {
            var configuration = ServerConfiguration()
            configuration.streamsPerConnection = streams
            let ends = ConnectionEnds(peer: IPAddress(v4: 1), trusting: [])
            let handler = HTTP2ServerHandler(configuration, ends: ends, maxBody: body) { [unowned self] request, _ in
                requests.append(request)
                if let content {
                    reply(content, to: request.stream)
                } else {
                    work[request.stream] = Task {}
                }
                return work[request.stream]
            }
            self.handler = handler
            try channel.pipeline.syncOperations.addHandler(handler)
            try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            try send(bytes: preface)
            try send(greeting)
            if preface == RawFrame.preface, greeting == [RawFrame(.settings)] { _ = try frames() }
        }

        func reply(_ content: [UInt8], to stream: UInt32) {
            let fields = [("content-type", "text/plain", true), ("content-length", "\(content.count)", false)]
            handler?.reply(
                200,
                fields: fields.map { (name: $0.0, value: $0.1, repeats: $0.2) },
                body: content,
                to: stream
            )
        }

        func send(_ frames: [RawFrame]) throws { try send(bytes: frames.flatMap(\.bytes)) }

        func send(bytes: [UInt8]) throws { try channel.writeInbound(ByteBuffer(bytes: bytes)) }

        /// The frames sent since the last call.
        func frames() throws -> [(kind: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8])] {
            var bytes = ByteBuffer()
            channel.embeddedEventLoop.run()
            while var more = try channel.readOutbound(as: ByteBuffer.self) { bytes.writeBuffer(&more) }
            var frames: [(kind: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8])] = []
            while let (first, flags, stream) = bytes.readMultipleIntegers(as: (UInt32, UInt8, UInt32).self) {
                guard let payload = bytes.readBytes(length: Int(first >> 8)) else { break }
                frames.append((UInt8(truncatingIfNeeded: first), flags, stream, payload))
            }
            try #require(bytes.readableBytes == 0)
            return frames
        }

        func end() { _ = try? channel.finish(acceptAlreadyClosed: true) }
    }

    private static func request(
        _ stream: UInt32,
        method: String = "GET",
        more: [(name: String, value: String)] = [],
        ends: Bool = true
    ) -> RawFrame {
        let fields: [(name: String, value: String)] = [
            (":method", method), (":scheme", "https"), (":path", "/dns-query?dns=AA"), (":authority", "dns.test"),
        ]
        let flags = RawFrame.endHeaders | (ends ? RawFrame.endStream : 0)
        return .headers(fields + more, stream: stream, flags: flags)
    }

    @Test("requests arrive complete, and their replies are written together")
    func answers() throws {
        let wire = try Wire()
        let content = [(name: "content-type", value: "application/dns-message")]
        try wire.send([
            Self.request(1), Self.request(3, method: "POST", more: content, ends: false),
            RawFrame(.data, stream: 3, payload: [1, 2]), RawFrame(.data, stream: 3, payload: [3]),
            RawFrame(.data, flags: RawFrame.endStream, stream: 3),
        ])
        let questions = wire.requests.map(\.question)
        #expect(questions.map(\.method) == [.get, .post] && questions[1].body == [1, 2, 3])
        #expect(questions.allSatisfy { $0.path == "/dns-query" && $0.query == "dns=AA" })
        #expect(questions.map(\.contentType) == [nil, "application/dns-message"])
        #expect(wire.requests.allSatisfy { $0.hasContent && !$0.isTooLarge })
        let frames = try wire.frames()
        #expect(frames.map(\.kind) == [1, 0, 1, 0] && frames.map(\.stream) == [1, 1, 3, 3])
        #expect(frames[1].payload == Array("answer".utf8) && frames[1].flags == RawFrame.endStream)
        // A repeated field is sent as an index.
        #expect(frames[2].payload.count < frames[0].payload.count)
        wire.end()
    }

    @Test(
        "a client that keeps cancelling requests is disconnected, in spite of replies in between (CVE-2023-44487)"
    )
    func takenBack() throws {
        let wire = try Wire()
        let cancel: [UInt8] = [0, 0, 0, 8]
        var stream: UInt32 = 1
        for round in 0..<(HTTP2FloodGuard.cancellationLimit + 1) {
            wire.content = nil
            try wire.send([Self.request(stream), RawFrame(.reset, stream: stream, payload: cancel)])
            stream += 2
            // A reply counts as progress, but must not hide the cancellations.
            wire.content = [1]
            if round < HTTP2FloodGuard.cancellationLimit { try wire.send([Self.request(stream)]) }
            stream += 2
        }
        #expect(wire.cancelled.count == HTTP2FloodGuard.cancellationLimit + 1)
        let last = try #require(try wire.frames().last)
        #expect(last.kind == 7 && last.payload.last == 11, "GOAWAY, ENHANCE_YOUR_CALM")
        wire.end()
    }

    @Test("a finishing server closes the connection when the last reply has left", arguments: [true, false])
    func finishing(_ isAsked: Bool) throws {
        let wire = try Wire()
        wire.content = nil
        if isAsked { try wire.send([Self.request(1)]) }
        // The server does not wait for the rest of this request.
        try wire.send([Self.request(3, method: "POST", ends: false)])
        wire.handler?.sendGoAway()
        wire.handler?.finish()
        #expect(wire.channel.isActive == isAsked)
        if isAsked {
            wire.reply(Array("answer".utf8), to: 1)
            #expect(wire.channel.isActive)
        }
        let frames = try wire.frames()
        #expect(frames.map(\.kind) == (isAsked ? [7, 1, 0, 3, 7] : [7, 3, 7]))
        #expect(frames.dropLast().last?.payload == [0, 0, 0, 7], "REFUSED_STREAM")
        #expect(frames.last?.payload == [0, 0, 0, 3, 0, 0, 0, 0], "the last stream, and NO_ERROR")
        #expect(!wire.channel.isActive)
        wire.end()
    }

    @Test("a protocol error of the client ends the connection, with its error code")
    func connectionErrors() throws {
        let zero: [UInt8] = [0, 0, 0, 0]
        let rows: [(String, [RawFrame], UInt8)] = [
            ("an even stream", [Self.request(2)], 1),
            ("DATA on a stream that was never opened", [RawFrame(.data, stream: 1, payload: [1])], 1),
            ("a reset of one", [RawFrame(.reset, stream: 9, payload: zero)], 1),
            ("a push", [RawFrame(.pushPromise, stream: 1, payload: zero)], 1),
            ("a WINDOW_UPDATE of zero", [RawFrame(.windowUpdate, payload: zero)], 1),
            ("a window that cannot be", [RawFrame(.windowUpdate, payload: [0x7f, 0xff, 0xff, 0xff])], 3),
            ("a PING of three octets", [RawFrame(.ping, payload: [1, 2, 3])], 6),
            ("an invalid header block", [RawFrame(.headers, flags: 5, stream: 1, payload: [0xff, 0xff, 0xff])], 9),
            (
                "half a header block",
                [RawFrame(.headers, flags: 1, stream: 1), RawFrame(.ping, payload: zero + zero)], 1
            ),
            ("a flood of PINGs", (0..<3_000).map { _ in RawFrame(.ping, payload: zero + zero) }, 11),
            ("SETTINGS of a stream", [RawFrame(.settings, stream: 1)], 1),
        ]
        for (what, sent, code) in rows {
            let wire = try Wire()
            try wire.send(sent)
            let last = try wire.frames().last
            #expect(
                last?.kind == 7 && last?.payload.suffix(4) == [0, 0, 0, code],
                "\(what): \(String(describing: last))"
            )
            #expect(!wire.channel.isActive, "\(what)")
            wire.end()
        }
        let other = try Wire(preface: Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        #expect(try other.frames().last?.kind == 7 && !other.channel.isActive)
        let late = try Wire(greeting: [RawFrame(.ping, payload: zero + zero)])
        #expect(try late.frames().last?.kind == 7 && !late.channel.isActive)
    }

    @Test("a malformed request ends its stream only")
    func streamErrors() throws {
        let wire = try Wire(streams: 1)
        wire.content = nil
        let rows: [(String, [(name: String, value: String)])] = [
            ("a field of HTTP/1.1", [("connection", "close")]), ("a name in capitals", [("Accept", "x")]),
            ("a pseudo field behind fields", [("accept", "x"), (":path", "/")]), ("two paths", [(":path", "/")]),
            ("an invalid length", [("content-length", "x")]), ("a status", [(":status", "200")]),
        ]
        for (index, (what, more)) in rows.enumerated() {
            try wire.send([Self.request(UInt32(index * 2 + 1), more: more)])
            let frames = try wire.frames()
            #expect(frames.map(\.kind) == [3] && frames.first?.payload == [0, 0, 0, 1], "\(what)")
        }
        try wire.send([Self.request(21), Self.request(23)])
        #expect(try wire.frames().map(\.payload) == [[0, 0, 0, 7]], "more streams than allowed")
        #expect(wire.channel.isActive && wire.requests.map(\.stream) == [21])
        wire.end()
    }

    @Test("a reply continues after the client shrinks the stream's window while the connection's window is closed")
    func windowTakenBack() throws {
        let wire = try Wire()
        wire.content = [UInt8](repeating: 7, count: 60_000)
        try wire.send([Self.request(1), Self.request(3)])
        func count() throws -> Int { try wire.frames().filter { $0.kind == 0 }.reduce(0) { $0 + $1.payload.count } }
        #expect(try count() == HTTP2Frame.defaultWindow)
        // The connection's window is used up, and those of the streams are not.
        try wire.send([RawFrame.settings([(4, 0)]), RawFrame(.windowUpdate, payload: RawFrame.big(200_000))])
        #expect(try count() == 0)
        try wire.send([1, 3].map { RawFrame(.windowUpdate, stream: $0, payload: RawFrame.big(100_000)) })
        #expect(try count() == 120_000 - HTTP2Frame.defaultWindow)
        wire.end()
    }

    @Test("replies that the client does not read wait in their streams, whose number is bounded")
    func unreadReplies() throws {
        let wire = try Wire(greeting: [
            .settings([(4, 1 << 20)]), RawFrame(.windowUpdate, payload: RawFrame.big(1 << 30)),
        ])
        _ = try wire.frames()
        wire.content = [UInt8](repeating: 7, count: 10_000)
        wire.channel.isWritable = false
        wire.channel.pipeline.fireChannelWritabilityChanged()
        try wire.send((0..<500).map { Self.request($0 * 2 + 1) })
        let before = try wire.frames()
        #expect(wire.requests.count == 100, "the others exceed the limit of streams")
        #expect(before.count { $0.kind == 3 } == 400 && !before.contains { $0.kind == 0 })
        wire.channel.isWritable = true
        wire.channel.pipeline.fireChannelWritabilityChanged()
        let after = try wire.frames().filter { $0.kind == 0 }
        #expect(after.count { $0.flags == RawFrame.endStream } == 100)
        #expect(after.reduce(0) { $0 + $1.payload.count } == 1_000_000)
        // The streams have ended.
        try wire.send([Self.request(1_001)])
        #expect(wire.requests.count == 101)
        wire.end()
    }

    @Test("replies that come after all requests do not fill the memory while the client's windows are closed")
    func lateReplies() throws {
        let wire = try Wire(greeting: [.settings([(4, 0)])])
        _ = try wire.frames()
        wire.content = nil
        try wire.send((0..<100).map { Self.request($0 * 2 + 1) })
        #expect(wire.requests.count == 100)
        for request in wire.requests { wire.reply([UInt8](repeating: 7, count: 20_000), to: request.stream) }
        let replied = try wire.frames()
        // The 53rd reply passes 1 MiB.
        #expect(replied.count { $0.kind == 1 } == 53)
        let refused = replied.filter { $0.kind == 3 }
        #expect(refused.count == 47 && refused.allSatisfy { $0.payload == [0, 0, 0, 7] }, "REFUSED_STREAM")
        // The replies leave when the windows open, and then there is room again.
        try wire.send([.settings([(4, 1 << 20)]), RawFrame(.windowUpdate, payload: RawFrame.big(2 << 20))])
        #expect(try wire.frames().filter { $0.kind == 0 }.reduce(0) { $0 + $1.payload.count } == 53 * 20_000)
        wire.content = [1]
        try wire.send([Self.request(201)])
        #expect(try wire.frames().map(\.kind) == [1, 0])
        wire.end()
    }

    @Test("replies wait for the client's windows")
    func windows() throws {
        let wire = try Wire(greeting: [.settings([(4, 10)])])
        wire.content = Array(0..<25)
        try wire.send([Self.request(1)])
        #expect(try wire.frames().last?.payload == Array(0..<10))
        try wire.send([RawFrame(.windowUpdate, stream: 1, payload: [0, 0, 0, 5])])
        #expect(try wire.frames().map(\.payload) == [Array(10..<15)])
        // A larger initial window applies to open streams.
        try wire.send([.settings([(4, 100)])])
        let rest = try wire.frames()
        #expect(rest.last?.payload == Array(15..<25) && rest.last?.flags == RawFrame.endStream)
        // The connection has a window of its own.
        wire.content = [UInt8](repeating: 7, count: 70_000)
        try wire.send([.settings([(4, 1_000_000)]), Self.request(3)])
        let sent = try wire.frames().filter { $0.kind == 0 }
        #expect(sent.reduce(0) { $0 + $1.payload.count } == 65_535 - 25 && sent.allSatisfy { $0.flags == 0 })
        try wire.send([RawFrame(.windowUpdate, payload: [0, 1, 0, 0])])
        #expect(try wire.frames().last?.flags == RawFrame.endStream)
        wire.end()
    }

    @Test("content that is too large is discarded, and the connection's window reopens for later content")
    func content() throws {
        let wire = try Wire()
        try wire.send([
            Self.request(1, method: "POST", ends: false),
            RawFrame(.data, stream: 1, payload: [UInt8](repeating: 1, count: 101)),
            RawFrame(.data, flags: RawFrame.endStream, stream: 1, payload: [1]),
        ])
        #expect(wire.requests.count == 1 && wire.requests[0].isTooLarge)
        _ = try wire.frames()
        for index in UInt32(0)..<1_000 {
            let stream = 3 + index * 2
            try wire.send([
                Self.request(stream, method: "POST", ends: false),
                RawFrame(.data, flags: RawFrame.endStream, stream: stream, payload: [UInt8](repeating: 1, count: 100)),
            ])
        }
        #expect(wire.requests.count == 1_001 && wire.channel.isActive)
        #expect(try wire.frames().contains { $0.kind == 8 && $0.stream == 0 })
        wire.end()
    }

    @Test(
        "content that is too large gets a reply, and RST_STREAM only when more arrives, as curl 7.88 needs it"
    )
    func tooLarge() throws {
        let wire = try Wire()
        try wire.send([
            Self.request(1, method: "POST", ends: false),
            RawFrame(.data, stream: 1, payload: [UInt8](repeating: 1, count: 101)),
        ])
        let replied = try wire.frames()
        #expect(replied.map(\.kind) == [1, 0, 8] && replied.map(\.stream) == [1, 1, 1])
        #expect(replied[1].flags == RawFrame.endStream)
        try wire.send([RawFrame(.data, stream: 1, payload: [1])])
        let stopped = try wire.frames()
        #expect(stopped.map(\.kind) == [3] && stopped.map(\.payload) == [[0, 0, 0, 0]])
        // Frames that were already on their way are ignored.
        try wire.send([RawFrame(.data, flags: RawFrame.endStream, stream: 1, payload: [1])])
        #expect(try wire.frames().isEmpty && wire.requests.count == 1)
        wire.end()
    }

    @Test("streams whose content is too large count as open until they end", arguments: [0, 1, 2])
    func tooLargeIsBounded(_ end: Int) throws {
        let wire = try Wire(streams: 2)
        for stream: UInt32 in [1, 3, 5] {
            try wire.send([
                Self.request(stream, method: "POST", ends: false),
                RawFrame(.data, stream: stream, payload: [UInt8](repeating: 1, count: 101)),
            ])
        }
        #expect(wire.requests.map(\.stream) == [1, 3])
        switch end {
        case 0: try wire.send([RawFrame(.data, flags: RawFrame.endStream, stream: 1)])
        case 1: try wire.send([RawFrame(.reset, stream: 1, payload: [0, 0, 0, 8])])
        default: try wire.send([.headers([("x", "y")], stream: 1, flags: RawFrame.endHeaders | RawFrame.endStream)])
        }
        try wire.send([Self.request(7)])
        #expect(wire.requests.map(\.stream) == [1, 3, 7] && wire.channel.isActive)
        wire.end()
    }

    @Test("a request that does not end in time ends only its stream, in spite of PINGs, and others are answered")
    func slowRequest() throws {
        let wire = try Wire()
        try wire.send([Self.request(1, method: "POST", ends: false)])
        for _ in 0..<3 {
            wire.channel.embeddedEventLoop.advanceTime(by: .seconds(3))
            try wire.send([RawFrame(.ping, payload: [UInt8](repeating: 0, count: 8))])
        }
        #expect(try wire.frames().allSatisfy { $0.kind == 6 })
        wire.channel.embeddedEventLoop.advanceTime(by: .seconds(6))
        let frames = try wire.frames()
        #expect(frames.map(\.kind) == [3] && frames.first?.payload == [0, 0, 0, 8], "CANCEL")
        #expect(wire.channel.isActive && wire.requests.isEmpty)
        try wire.send([Self.request(3)])
        #expect(try wire.frames().map(\.kind) == [1, 0])
        wire.channel.embeddedEventLoop.advanceTime(by: .seconds(65))
        #expect(!wire.channel.isActive, "the idle limit")
        wire.end()
    }

    @Test("a client that stops sending after the reply to content that is too large loses its stream only")
    func stoppedUpload() throws {
        let wire = try Wire()
        try wire.send([
            Self.request(1, method: "POST", ends: false),
            RawFrame(.data, stream: 1, payload: [UInt8](repeating: 1, count: 101)),
        ])
        #expect(try wire.frames().map(\.kind) == [1, 0, 8])
        wire.channel.embeddedEventLoop.advanceTime(by: .seconds(15))
        let frames = try wire.frames()
        #expect(frames.map(\.kind) == [3] && frames.first?.payload == [0, 0, 0, 0], "NO_ERROR")
        #expect(wire.channel.isActive)
        wire.end()
    }

    @Test("a client that opens no window for its reply loses the stream, and the connection if it has no other")
    func slowReader() throws {
        let wire = try Wire(greeting: [.settings([(4, 3)])])
        try wire.send([Self.request(1)])
        wire.channel.embeddedEventLoop.advanceTime(by: .seconds(25))
        #expect(try wire.frames().last?.kind == 0)
        wire.channel.embeddedEventLoop.advanceTime(by: .seconds(10))
        let frames = try wire.frames()
        #expect(frames.map(\.kind) == [3] && frames.first?.payload == [0, 0, 0, 8], "CANCEL")
        #expect(wire.channel.isActive)
        wire.channel.embeddedEventLoop.advanceTime(by: .seconds(30))
        #expect(!wire.channel.isActive, "the idle limit")
        wire.end()
    }

    @Test("a connection without requests is closed in spite of PINGs, and one with a pending reply stays open")
    func quiet() throws {
        for isAwaited in [false, true] {
            let wire = try Wire()
            wire.content = nil
            if isAwaited { try wire.send([Self.request(1)]) }
            for _ in 0..<7 {
                wire.channel.embeddedEventLoop.advanceTime(by: .seconds(10))
                guard wire.channel.isActive else { break }
                try wire.send([RawFrame(.ping, payload: [UInt8](repeating: 0, count: 8))])
            }
            #expect(wire.channel.isActive == isAwaited)
            let kinds = try wire.frames().map(\.kind)
            #expect((kinds.last == 7) != isAwaited)
            wire.end()
        }
    }

    @Test("content in small frames is appended in place without copying")
    func smallFrames() throws {
        let wire = try Wire(body: 65_535)
        let handler = try #require(wire.handler)
        try wire.send([Self.request(1, method: "POST", ends: false)])
        var places: [UInt] = []
        for _ in 0..<2_000 {
            try wire.send([RawFrame(.data, stream: 1, payload: [1])])
            let place = handler.pending[1]?.request?.question.body.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
            places.append(try #require(place))
        }
        // The buffer moves when it grows.
        #expect(zip(places, places.dropFirst()).count(where: { $0 != $1 }) < 40)
        try wire.send([RawFrame(.data, flags: RawFrame.endStream, stream: 1, payload: [2])])
        #expect(wire.requests.first?.question.body == [UInt8](repeating: 1, count: 2_000) + [2])
        wire.end()
    }

    @Test("a reply to a cancelled request is not sent")
    func cancellation() throws {
        let wire = try Wire()
        wire.content = nil
        try wire.send([Self.request(1), Self.request(3), RawFrame(.reset, stream: 1, payload: [0, 0, 0, 8])])
        #expect(wire.cancelled == [1])
        wire.reply([1], to: 1)
        wire.reply([2], to: 3)
        #expect(try wire.frames().filter { $0.kind == 0 }.map(\.stream) == [3])
        try wire.send([Self.request(5)])
        wire.end()
        #expect(wire.cancelled == [1, 5])
    }

    @Test("no input makes the server trap, and its output is valid frames")
    func fuzz() throws {
        var random = SeededRandom(seed: 9_113)
        let seeds: [[RawFrame]] = [
            [Self.request(1), RawFrame(.windowUpdate, payload: [0, 0, 1, 0]), Self.request(3)],
            [Self.request(1, method: "POST", ends: false), RawFrame(.data, flags: 1, stream: 1, payload: [1, 2, 3])],
            [RawFrame(.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8]), .settings([(4, 5), (1, 0)]), Self.request(5)],
            [Self.request(1), RawFrame(.reset, stream: 1, payload: [0, 0, 0, 8]), RawFrame(.continuation, stream: 1)],
        ]
        for _ in 0..<FuzzRounds.count(ordinary: 2_000) {
            let wire = try Wire()
            var bytes = seeds[Int.random(in: 0..<seeds.count, using: &random)].flatMap(\.bytes)
            for _ in 0...Int.random(in: 0..<4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                bytes[place] =
                    Bool.random(using: &random) ? .random(in: .min ... .max, using: &random) : bytes[place] ^ 1
            }
            let cut = Int.random(in: 0...bytes.count, using: &random)
            for part in [bytes[..<cut], bytes[cut...]] where wire.channel.isActive { try wire.send(bytes: Array(part)) }
            _ = try wire.frames()
            wire.end()
        }
    }
}
