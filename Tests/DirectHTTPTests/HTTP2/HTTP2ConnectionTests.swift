// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import Testing

@testable import DirectHTTP
@testable import HTTPWire

@Suite("The rules of an HTTP/2 connection (RFC 9113), at both ends")
struct HTTP2ConnectionTests {
    /// The result of the peer's frames: events, our resets, and the error that ends the connection.
    struct Outcome: Equatable {
        var events: [String] = []
        /// RST_STREAM by stream.
        var resets: [UInt32: HTTP2ErrorCode] = [:]
        var error: HTTP2ErrorCode?
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let role: HTTP2Connection.Role
        let frames: [RawFrame]
        let events: [String]
        var resets: [UInt32: HTTP2ErrorCode] = [:]
        var error: HTTP2ErrorCode?
    }

    static let get = [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a.test")]

    static func request(_ id: UInt32, _ more: [(String, String)] = [], ends: Bool = true) -> RawFrame {
        .headers(get + more, stream: id, flags: ends ? 5 : 4)
    }

    static func response(_ more: [(String, String)] = [], status: String = "200", ends: Bool = false) -> RawFrame {
        .headers([(":status", status)] + more, stream: 1, flags: ends ? 5 : 4)
    }

    static func data(_ count: Int = 1, stream: UInt32 = 1, ends: Bool = false) -> RawFrame {
        RawFrame(.data, flags: ends ? 1 : 0, stream: stream, payload: [UInt8](repeating: 65, count: count))
    }

    static func window(_ increment: UInt32, stream: UInt32) -> RawFrame {
        RawFrame(.windowUpdate, stream: stream, payload: RawFrame.big(increment))
    }

    static let reset = RawFrame(.reset, stream: 1, payload: RawFrame.big(8))

    /// More fields than the default limit of a block.
    static let manyFields: [(String, String)] = (0..<200).map { ("x-\($0)", "y") }

    static let server: [Row] = [
        Row("a request", frames: [request(1)], events: ["head 1 end"]),
        Row(
            "a body and trailers",
            frames: [request(1, ends: false), data(2), .headers([("x", "y")], stream: 1, flags: 5)],
            events: ["head 1", "data 1 2", "trailers 1"]
        ),
        Row("DATA of an idle stream", frames: [data()], error: .protocolError),
        Row("RST_STREAM of an idle stream", frames: [reset], error: .protocolError),
        Row("WINDOW_UPDATE of an idle stream", frames: [window(1, stream: 1)], error: .protocolError),
        Row("PRIORITY of an idle stream", frames: [RawFrame(.priority, stream: 9, payload: [0, 0, 0, 1, 0])]),
        Row(
            "DATA after END_STREAM",
            frames: [request(1), data()],
            events: ["head 1 end", "failed 1"],
            resets: [1: .streamClosed]
        ),
        Row(
            "HEADERS after END_STREAM",
            frames: [request(1), request(1)],
            events: ["head 1 end", "failed 1"],
            resets: [1: .streamClosed]
        ),
        Row(
            "DATA after RST_STREAM of the client",
            frames: [request(1, ends: false), reset, data()],
            events: ["head 1", "reset 1"],
            error: .streamClosed
        ),
        Row(
            "HEADERS after RST_STREAM of the client",
            frames: [request(1), reset, request(1)],
            events: ["head 1 end", "reset 1"],
            error: .streamClosed
        ),
        Row(
            "DATA on a stream that we reset",
            frames: [request(1, [("te", "gzip")], ends: false), data(), request(3)],
            events: ["head 3 end"],
            resets: [1: .protocolError]
        ),
        Row(
            "WINDOW_UPDATE and RST_STREAM of a closed stream",
            frames: [request(1), reset, window(1, stream: 1), reset],
            events: ["head 1 end", "reset 1"]
        ),
        Row(
            "a lower stream that was never opened",
            frames: [request(5), request(3)],
            events: ["head 5 end"],
            error: .streamClosed
        ),
        Row("an even stream", frames: [request(2)], error: .protocolError),
        Row("HEADERS of stream 0", frames: [request(0)], error: .protocolError),
        Row(
            "a stream that depends on itself",
            frames: [RawFrame(.headers, flags: 0x25, stream: 1, payload: [0, 0, 0, 1, 0, 0x82])],
            error: .protocolError
        ),
        Row(
            "PRIORITY that depends on itself",
            frames: [RawFrame(.priority, stream: 1, payload: [0, 0, 0, 1, 0])],
            error: .protocolError
        ),
        Row("PRIORITY of stream 0", frames: [RawFrame(.priority, payload: [0, 0, 0, 1, 0])], error: .protocolError),
        Row(
            "PRIORITY of 4 octets",
            frames: [RawFrame(.priority, stream: 1, payload: [0, 0, 0, 1])],
            error: .frameSizeError
        ),
        Row(
            "SETTINGS that acknowledges with a payload",
            frames: [RawFrame(.settings, flags: 1, payload: [0, 1, 0, 0, 0, 0])],
            error: .frameSizeError
        ),
        Row(
            "GOAWAY of a stream",
            frames: [RawFrame(.goAway, stream: 1, payload: [0, 0, 0, 0, 0, 0, 0, 0])],
            error: .protocolError
        ),
        Row("PUSH_PROMISE", frames: [RawFrame(.pushPromise, stream: 1, payload: [0, 0, 0, 2])], error: .protocolError),
        Row("a connection's window beyond 2^31-1", frames: [window(0x7fff_ffff, stream: 0)], error: .flowControlError),
        Row(
            "a stream's window beyond 2^31-1",
            frames: [request(1), window(0x7fff_ffff, stream: 1)],
            events: ["head 1 end", "failed 1"],
            resets: [1: .flowControlError]
        ),
        Row(
            "a WINDOW_UPDATE of zero on a stream",
            frames: [request(1), window(0, stream: 1)],
            events: ["head 1 end", "failed 1"],
            resets: [1: .protocolError]
        ),
        Row("a field of HTTP/1.1", [request(1, [("connection", "close")])], resets: [1: .protocolError]),
        Row(
            "TE with more than trailers",
            [request(1, [("te", "trailers, deflate")])],
            resets: [1: .protocolError]
        ),
        Row("TE with trailers only", frames: [request(1, [("te", "trailers")])], events: ["head 1 end"]),
        Row("a name in capitals", [request(1, [("X", "y")])], resets: [1: .protocolError]),
        Row("a value that starts with a tab", [request(1, [("x", "\ty")])], resets: [1: .protocolError]),
        Row("a value that ends with a space", [request(1, [("x", "y ")])], resets: [1: .protocolError]),
        Row("a value of one space", [request(1, [("x", " ")])], resets: [1: .protocolError]),
        Row("an empty value", frames: [request(1, [("x", "")])], events: ["head 1 end"]),
        Row("a pseudo field behind a field", [request(1, [("x", "y"), (":path", "/")])], resets: [1: .protocolError]),
        Row("a pseudo field twice", [request(1, [(":path", "/")])], resets: [1: .protocolError]),
        Row("a pseudo field of responses", [request(1, [(":status", "200")])], resets: [1: .protocolError]),
        Row("no :path", [.headers(Array(get.prefix(2)), stream: 1, flags: 5)], resets: [1: .protocolError]),
        Row(
            "an empty :path",
            [.headers(get.prefix(2) + [(":path", "")], stream: 1, flags: 5)],
            resets: [1: .protocolError]
        ),
        Row(
            "a pseudo field in trailers",
            frames: [request(1, ends: false), request(1)],
            events: ["head 1", "failed 1"],
            resets: [1: .protocolError]
        ),
        Row(
            "trailers without END_STREAM",
            frames: [request(1, ends: false), .headers([("x", "y")], stream: 1)],
            events: ["head 1", "failed 1"],
            resets: [1: .protocolError]
        ),
        Row("Content-Length without a body", [request(1, [("content-length", "1")])], resets: [1: .protocolError]),
        Row(
            "a body shorter than Content-Length",
            frames: [request(1, [("content-length", "2")], ends: false), data(ends: true)],
            events: ["head 1", "failed 1"],
            resets: [1: .protocolError]
        ),
        Row(
            "a body longer than Content-Length",
            frames: [request(1, [("content-length", "2")], ends: false), data(), data(2, ends: true)],
            events: ["head 1", "data 1 1", "failed 1"],
            resets: [1: .protocolError]
        ),
        Row(
            "a request with too many fields, and the next one",
            frames: [request(1, manyFields), request(3)],
            events: ["tooLarge 1", "head 3 end"]
        ),
        Row(
            "trailers with too many fields",
            frames: [request(1, ends: false), .headers(manyFields, stream: 1, flags: 5)],
            events: ["head 1", "failed 1"],
            resets: [1: .enhanceYourCalm]
        ),
        Row(
            "two lengths",
            [request(1, [("content-length", "1"), ("content-length", "2")], ends: false)],
            resets: [1: .protocolError]
        ),
        Row(
            "more streams than allowed",
            frames: [request(1), request(3), request(5)],
            events: ["head 1 end", "head 3 end"],
            resets: [5: .refusedStream]
        ),
        Row(
            "more DATA than the stream's window",
            frames: [request(1, ends: false)] + (0..<2).map { _ in data(60) },
            events: ["head 1", "data 1 60"],
            error: .flowControlError
        ),
    ]

    static let client: [Row] = [
        Row(
            "a response",
            frames: [response(), data(2, ends: true)],
            events: ["head 1 200", "data 1 2 end"],
            role: .client
        ),
        Row(
            "informational responses",
            frames: [response(status: "103"), response(ends: true)],
            events: ["informational 1 103", "head 1 200 end"],
            role: .client
        ),
        Row(
            "a value with spaces at its ends, as some servers send it",
            frames: [response([("x", " y ")], ends: true)],
            events: ["head 1 200 end"],
            role: .client
        ),
        Row("101", frames: [response(status: "101")], events: ["failed 1"], resets: [1: .protocolError], role: .client),
        Row(
            "an informational response that ends the stream",
            frames: [response(status: "100", ends: true)],
            events: ["failed 1"],
            resets: [1: .protocolError],
            role: .client
        ),
        Row(
            "informational responses without an end",
            frames: (0..<33).map { _ in response(status: "103") },
            events: (0..<32).map { _ in "informational 1 103" } + ["failed 1"],
            resets: [1: .protocolError],
            role: .client
        ),
        Row("DATA before the head", frames: [data()], events: ["failed 1"], resets: [1: .protocolError], role: .client),
        Row(
            "no :status",
            frames: [.headers([("x", "y")], stream: 1)],
            events: ["failed 1"],
            resets: [1: .protocolError],
            role: .client
        ),
        Row(
            "a pseudo field of requests",
            frames: [response([(":path", "/")])],
            events: ["failed 1"],
            resets: [1: .protocolError],
            role: .client
        ),
        Row(
            "a second head",
            frames: [response(), response()],
            events: ["head 1 200", "failed 1"],
            resets: [1: .protocolError],
            role: .client
        ),
        Row(
            "trailers",
            frames: [response(), .headers([("x", "y")], stream: 1, flags: 5)],
            events: ["head 1 200", "trailers 1"],
            role: .client
        ),
        Row(
            "a body shorter than Content-Length",
            frames: [response([("content-length", "2")]), data(ends: true)],
            events: ["head 1 200", "failed 1"],
            resets: [1: .protocolError],
            role: .client
        ),
        Row(
            "a response with too many fields",
            frames: [response(manyFields)],
            events: ["tooLarge 1"],
            resets: [1: .enhanceYourCalm],
            role: .client
        ),
        Row(
            "trailers with too many fields",
            frames: [response(), .headers(manyFields, stream: 1, flags: 5)],
            events: ["head 1 200", "tooLarge 1"],
            resets: [1: .enhanceYourCalm],
            role: .client
        ),
        Row(
            "204 with a body",
            frames: [response(status: "204"), data()],
            events: ["head 1 204", "failed 1"],
            resets: [1: .protocolError],
            role: .client
        ),
        Row(
            "DATA after END_STREAM",
            frames: [response(ends: true), data()],
            events: ["head 1 200 end"],
            error: .streamClosed,
            role: .client
        ),
        Row(
            "a stream that was never opened",
            frames: [.headers([(":status", "200")], stream: 3)],
            error: .protocolError,
            role: .client
        ),
        Row(
            "a stream of the server",
            frames: [.headers([(":status", "200")], stream: 2)],
            error: .protocolError,
            role: .client
        ),
        Row(
            "PUSH_PROMISE",
            frames: [RawFrame(.pushPromise, stream: 1, payload: [0, 0, 0, 2])],
            error: .protocolError,
            role: .client
        ),
        Row("SETTINGS that allows push", frames: [.settings([(2, 1)])], error: .protocolError, role: .client),
        Row(
            "SETTINGS with the number of streams",
            frames: [.settings([(3, 7)])],
            events: ["capacity 7"],
            role: .client
        ),
        Row(
            "GOAWAY",
            frames: [RawFrame(.goAway, payload: RawFrame.big(1) + RawFrame.big(0))],
            events: ["goAway 1"],
            role: .client
        ),
        Row(
            "RST_STREAM, then a late response for the stream",
            frames: [reset, response()],
            events: ["reset 1"],
            role: .client
        ),
    ]

    @Test("the server applies the rules of RFC 9113", arguments: server)
    func servers(_ row: Row) { check(row) }

    @Test("the client applies the rules of RFC 9113", arguments: client)
    func clients(_ row: Row) { check(row) }

    /// Runs frames through a connection and returns its events and the error that ended it.
    private static func events(
        _ role: HTTP2Connection.Role,
        _ frames: [RawFrame],
        reset: UInt32? = nil
    ) -> ([HTTP2Connection.Event], HTTP2ErrorCode?) {
        var connection = HTTP2Connection(role: role, limits: .init())
        if role == .client {
            for _ in 0..<2 {
                var block = ByteBuffer(bytes: [0x82])
                _ = connection.open(&block, endStream: true, mayHaveBody: true)
            }
        }
        if let reset { connection.reset(reset, .cancel) }
        var events: [HTTP2Connection.Event] = []
        do throws(HTTP2ConnectionError) {
            let start = (role == .server ? RawFrame.preface : []) + RawFrame(.settings).bytes
            try connection.feed(ByteBuffer(bytes: start + frames.flatMap(\.bytes)))
            while let event = try connection.next(now: .uptimeNanoseconds(1)) {
                events.append(event)
            }
        } catch {
            return (events, error.code)
        }
        return (events, nil)
    }

    @Test("fields of a cancelled response do not appear in the next response")
    func droppedBlock() throws {
        let late = RawFrame.headers([(":status", "200"), ("set-cookie", "of=1")], stream: 1)
        let next = RawFrame.headers([(":status", "200"), ("etag", "3")], stream: 3)
        let (events, error) = Self.events(.client, [late, next], reset: 1)
        guard error == nil, events.count == 1, case .head(3, let head, _) = events[0], head.status == 200 else {
            Issue.record("\(events), \(String(describing: error))")
            return
        }
        #expect(head.fields == [.eTag: "3"])
    }

    @Test("a client that provokes resets by protocol errors is disconnected like one that sends them (CVE-2025-8671)")
    func provokedResets() {
        let frames = (0..<1_100).flatMap { number -> [RawFrame] in
            let id = UInt32(2 * number + 1)
            return [Self.request(id), Self.window(0, stream: id)]
        }
        let (events, error) = Self.events(.server, frames)
        #expect(error == .enhanceYourCalm)
        #expect(events.count <= 2 * HTTP2FloodGuard.cancellationLimit + 2)
    }

    @Test("DATA of a reset stream does not hide a flood of useless frames")
    func floodBetweenData() {
        let broken = Self.request(1, [("te", "gzip")], ends: false)
        let flood = (0..<30).flatMap { _ in
            (0..<100).map { _ in RawFrame(.priority, stream: 9, payload: [0, 0, 0, 0, 0]) } + [Self.data()]
        }
        #expect(Self.events(.server, [broken] + flood).1 == .enhanceYourCalm)
    }

    @Test("the end of one body does not wait for the window of another")
    func endWithoutWindow() {
        var connection = HTTP2Connection(role: .client, limits: .init())
        let ids = (0..<2).map { _ in
            var block = ByteBuffer(bytes: [0x83])
            return connection.open(&block, endStream: false, mayHaveBody: true)
        }
        connection.send(ByteBuffer(repeating: 65, count: HTTP2Frame.defaultWindow + 1), on: ids[0], isLast: true)
        while connection.writeNextFrame() != nil {}
        #expect(connection.sendWindow == 0)
        connection.send(ByteBuffer(), on: ids[1], isLast: true)
        #expect(connection.writeNextFrame() == ids[1])
        #expect(connection.streams[ids[1]]?.isLocalEnded == true)
        #expect(connection.writeNextFrame() == nil)
    }

    private func check(_ row: Row) {
        let outcome = Self.run(row)
        #expect(outcome.events == row.events)
        #expect(outcome.resets == row.resets)
        #expect(outcome.error == row.error)
    }

    private static func run(_ row: Row) -> Outcome {
        var limits = HTTP2Connection.Limits()
        limits.streams = 2
        limits.streamWindow = 100
        var connection = HTTP2Connection(role: row.role, limits: limits)
        if row.role == .client {
            var block = ByteBuffer(bytes: [0x82])
            _ = connection.open(&block, endStream: true, mayHaveBody: true)
        }
        connection.out.clear()
        var outcome = Outcome()
        do throws(HTTP2ConnectionError) {
            let start = (row.role == .server ? RawFrame.preface : []) + RawFrame(.settings).bytes
            try connection.feed(ByteBuffer(bytes: start + row.frames.flatMap(\.bytes)))
            while let event = try connection.next(now: .uptimeNanoseconds(1)) {
                outcome.events.append(text(event))
            }
        } catch {
            outcome.error = error.code
        }
        while let (first, _, stream) = connection.out.readMultipleIntegers(as: (UInt32, UInt8, UInt32).self) {
            guard let payload = connection.out.readSlice(length: Int(first >> 8)) else { break }
            guard first & 0xff == 3, let code = payload.getInteger(at: payload.readerIndex, as: UInt32.self) else {
                continue
            }
            outcome.resets[stream] = HTTP2ErrorCode(rawValue: code)
        }
        return outcome
    }

    private static func text(_ event: HTTP2Connection.Event) -> String {
        switch event {
        case .head(let id, let head, let ends):
            "head \(id)\(head.status.map { " \($0)" } ?? "")\(ends ? " end" : "")"
        case .informational(let id, let head): "informational \(id) \(head.status ?? 0)"
        case .trailers(let id, _): "trailers \(id)"
        case .data(let id, let piece, let ends): "data \(id) \(piece.readableBytes)\(ends ? " end" : "")"
        case .reset(let id, _): "reset \(id)"
        case .failed(let id, _): "failed \(id)"
        case .tooLarge(let id): "tooLarge \(id)"
        case .window(let id): "window \(id)"
        case .goAway(let last, _): "goAway \(last)"
        case .capacity(let count): "capacity \(count)"
        }
    }
}

extension HTTP2ConnectionTests.Row {
    fileprivate init(
        _ description: String,
        frames: [RawFrame],
        events: [String] = [],
        resets: [UInt32: HTTP2ErrorCode] = [:],
        error: HTTP2ErrorCode? = nil,
        role: HTTP2Connection.Role = .server
    ) {
        self.init(
            testDescription: description,
            role: role,
            frames: frames,
            events: events,
            resets: resets,
            error: error
        )
    }

    fileprivate init(_ description: String, _ frames: [RawFrame], resets: [UInt32: HTTP2ErrorCode]) {
        self.init(description, frames: frames, events: [], resets: resets)
    }
}
