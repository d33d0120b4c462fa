// SPDX-License-Identifier: Apache-2.0

import BeelineServer
import BeelineTesting
import HTTPDNS
import Testing

@Suite("Limits and the end of a server's HTTP/2 connections", .timeLimit(.minutes(1)))
struct HTTP2LimitTests {
    /// Opens a connection over TLS and sends the preface and SETTINGS.
    private static func connect(
        to lab: ServerLab,
        settings: [(id: UInt16, value: UInt32)] = []
    ) async throws -> RawConnection {
        var tls = RawConnection.ClientTLS("dns.test", trusting: lab.authority)
        tls.applicationProtocols = ["h2"]
        let connection = try await RawConnection.connect(to: lab.endpoint, tls: tls)
        try await connection.send(RawFrame.preface + RawFrame.settings(settings).bytes)
        return connection
    }

    /// The head of a request. That of a POST does not end the stream.
    private static func request(_ path: String, method: String = "GET", stream: UInt32) -> RawFrame {
        let fields: [(name: String, value: String)] = [
            (":method", method), (":scheme", "https"), (":path", path), (":authority", "dns.test"),
            ("content-type", "application/dns-message"),
        ]
        let flags = RawFrame.endHeaders | (method == "GET" ? RawFrame.endStream : 0)
        return .headers(fields, stream: stream, flags: flags)
    }

    /// The content of the reply to a GET of `/health`, which works while the connection does.
    private static func health(on connection: RawConnection, stream: UInt32) async throws -> [UInt8]? {
        try await connection.send(request("/health", stream: stream).bytes)
        return try await connection.receiveFrame { $0.kind == .data && $0.stream == stream }?.payload
    }

    private static let ok = Array("ok\n".utf8)

    @Test("replies that closed windows hold back do not fill the memory, however many streams a client may open")
    func heldReplies() async throws {
        let lab = try await ServerLab {
            $0.streamsPerConnection = 2_000
            $0.questionsPerSecond = nil
        }
        let path = "/resolve?name=many.test"
        _ = try await lab.get(path)
        let connection = try await Self.connect(to: lab, settings: [(4, 0)])
        let count = 1_500
        var bytes = (0..<UInt32(count)).flatMap { Self.request(path, stream: $0 * 2 + 1).bytes }
        // The windows open after the last request.
        bytes += RawFrame.settings([(4, 1 << 30)]).bytes + RawFrame(.windowUpdate, payload: RawFrame.big(1 << 30)).bytes
        try await connection.send(bytes)
        var replies = 0, refused = 0, size = 0
        while replies + refused < count, let frame = try await connection.receiveFrame() {
            switch frame.kind {
            case .data:
                size += frame.payload.count
                if frame.flags & RawFrame.endStream != 0 { replies += 1 }
            case .reset:
                #expect(frame.payload == RawFrame.big(7), "REFUSED_STREAM")
                refused += 1
            default: break
            }
        }
        #expect(replies > 0 && refused > 0 && replies + refused == count)
        #expect(size < 2 << 20, "\(size) octets in \(replies) replies")
        #expect(try await Self.health(on: connection, stream: 5_001) == Self.ok)
        await connection.close()
        await lab.stop()
    }

    @Test("content of requests that do not end does not fill the memory, although their streams were open before")
    func heldContent() async throws {
        let lab = try await ServerLab()
        let connection = try await Self.connect(to: lab)
        let streams = (0..<UInt32(20)).map { $0 * 2 + 1 }
        var bytes = streams.flatMap { Self.request("/dns-query", method: "POST", stream: $0).bytes }
        // 65,535 octets for each stream: 8 streams leave 8 octets of half of the limit, 1 MiB.
        for stream in streams {
            for count in [16_000, 16_000, 16_000, 16_000, 1_535] {
                bytes += RawFrame(.data, stream: stream, payload: [UInt8](repeating: 1, count: count)).bytes
            }
        }
        bytes += RawFrame(.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8]).bytes
        try await connection.send(bytes)
        var refused: [UInt32] = []
        while let frame = try await connection.receiveFrame(where: { $0.kind == .reset || $0.kind == .ping }),
            frame.kind == .reset
        {
            #expect(frame.payload == RawFrame.big(7), "REFUSED_STREAM")
            refused.append(frame.stream)
        }
        #expect(refused == Array(streams.suffix(12)))
        // The content of a request in one frame does not wait, so it needs no room.
        let message: [UInt8] = [7, 9, 1, 0] + [UInt8](repeating: 0, count: 96)
        let question =
            Self.request("/dns-query", method: "POST", stream: 41).bytes
            + RawFrame(.data, flags: RawFrame.endStream, stream: 41, payload: message).bytes
        try await connection.send(question)
        let answer = try await connection.receiveFrame { $0.kind == .data || $0.kind == .reset }
        #expect(answer?.payload == [7, 9, 0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0], "FORMERR")
        // The end of a request frees its octets.
        try await connection.send(RawFrame(.data, flags: RawFrame.endStream, stream: 1).bytes)
        let reply = try await connection.receiveFrame { $0.kind == .headers }
        #expect(reply?.stream == 1)
        #expect(try await Self.health(on: connection, stream: 43) == Self.ok)
        await connection.close()
        await lab.stop()
    }

    @Test("a request that does not end in time ends only its stream, not the connection that clients of a proxy share")
    func slowStream() async throws {
        let lab = try await ServerLab { $0.requestTimeout = .milliseconds(50) }
        let connection = try await Self.connect(to: lab)
        try await connection.send(Self.request("/dns-query", method: "POST", stream: 1).bytes)
        let frame = try await connection.receiveFrame { $0.kind == .reset || $0.kind == .goAway }
        #expect(frame == RawFrame(.reset, stream: 1, payload: RawFrame.big(8)), "CANCEL")
        #expect(try await Self.health(on: connection, stream: 3) == Self.ok)
        await connection.close()
        await lab.stop()
    }

    @Test("a server that stops says which requests it did not process, so that their clients repeat them")
    func stop() async throws {
        let lab = try await ServerLab()
        let connection = try await Self.connect(to: lab)
        let request = Self.request("/dns-query", method: "POST", stream: 1)
        try await connection.send(request.bytes + RawFrame(.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8]).bytes)
        let ping = try await connection.receiveFrame { $0.kind == .ping }
        #expect(ping != nil, "the server has received the request")
        async let stopped: Void = lab.stop()
        var frames: [RawFrame] = []
        while let frame = try await connection.receiveFrame() { frames.append(frame) }
        await connection.close()
        await stopped
        let noError = RawFrame.big(0)
        #expect(
            frames == [
                RawFrame(.goAway, payload: RawFrame.big(0x7fff_ffff) + noError),
                RawFrame(.reset, stream: 1, payload: RawFrame.big(7)),
                RawFrame(.goAway, payload: RawFrame.big(1) + noError),
            ]
        )
    }

    @Test("a server whose time to stop has run out says which requests it did not process")
    func forcedStop() async throws {
        let silent = ScriptedUpstream("silent") { _ in .silence }
        let lab = try await ServerLab(carrier: silent) { $0.drainTime = .milliseconds(100) }
        let connection = try await Self.connect(to: lab)
        // The first question gets no answer, and the second one has no end.
        let frames = [
            Self.request("/resolve?name=slow.test", stream: 1),
            Self.request("/dns-query", method: "POST", stream: 3),
            RawFrame(.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8]),
        ]
        try await connection.send(frames.flatMap(\.bytes))
        let ping = try await connection.receiveFrame { $0.kind == .ping }
        #expect(ping != nil, "the server has received the requests")
        async let stopped: Void = lab.stop()
        var received: [RawFrame] = []
        while let frame = try await connection.receiveFrame() { received.append(frame) }
        await connection.close()
        await stopped
        let noError = RawFrame.big(0)
        #expect(
            received == [
                RawFrame(.goAway, payload: RawFrame.big(0x7fff_ffff) + noError),
                RawFrame(.reset, stream: 3, payload: RawFrame.big(7)),
                RawFrame(.goAway, payload: RawFrame.big(3) + noError),
            ]
        )
    }

    @Test(
        "a request with too many or too large header fields gets 431, and the connection takes further requests",
        arguments: [false, true]
    )
    func tooLargeHead(_ isOneField: Bool) async throws {
        let lab = try await ServerLab()
        let connection = try await Self.connect(to: lab)
        var block = Self.request("/health", stream: 1).payload
        if isOneField {
            block += RawFrame.literal("cookie", String(repeating: "c", count: 20_000))
        } else {
            for number in 0..<200 { block += RawFrame.literal("x-\(number)", "y") }
        }
        // A frame has at most 16,384 octets.
        let start = Array(block.prefix(16_000)), rest = Array(block.dropFirst(16_000))
        let head = RawFrame(.headers, flags: RawFrame.endStream, stream: 1, payload: start)
        let end = RawFrame(.continuation, flags: RawFrame.endHeaders, stream: 1, payload: rest)
        try await connection.send(head.bytes + end.bytes)
        let reply = try await connection.receiveFrame { $0.kind == .headers || $0.kind == .goAway }
        #expect(reply?.kind == .headers && reply?.stream == 1 && reply?.flags == 5)
        // `:status` is a literal that is not Huffman-coded.
        let text = String(decoding: reply?.payload ?? [], as: UTF8.self)
        #expect(text.contains("431"))
        #expect(try await Self.health(on: connection, stream: 3) == Self.ok)
        await connection.close()
        await lab.stop()
    }

    @Test("the padding of an upload does not use up the window for its content")
    func padding() async throws {
        let lab = try await ServerLab()
        let connection = try await Self.connect(to: lab)
        try await connection.send(Self.request("/dns-query", method: "POST", stream: 1).bytes)
        // A message of 40,000 octets without a question, in frames of 100 octets with 255 octets of padding.
        let message: [UInt8] = [7, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 39_988)
        var windows: [UInt32: Int] = [0: 65_535, 1: 65_536]
        for start in stride(from: 0, to: message.count, by: 100) {
            let payload: [UInt8] = [255] + message[start..<start + 100] + [UInt8](repeating: 0, count: 255)
            while windows.values.contains(where: { $0 < payload.count }) {
                let update = try #require(try await connection.receiveFrame { $0.kind == .windowUpdate })
                windows[update.stream]? += update.payload.reduce(0) { $0 << 8 | Int($1) }
            }
            for stream in windows.keys { windows[stream]? -= payload.count }
            let isLast = start + 100 == message.count
            let flags = 8 | (isLast ? RawFrame.endStream : 0)
            try await connection.send(RawFrame(.data, flags: flags, stream: 1, payload: payload).bytes)
        }
        let reply = try await connection.receiveFrame { $0.kind == .data }
        #expect(reply?.payload == [7, 9, 0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0], "FORMERR")
        await connection.close()
        await lab.stop()
    }
}
