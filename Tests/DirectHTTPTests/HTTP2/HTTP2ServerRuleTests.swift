// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import Testing

@testable import DirectHTTP
@testable import HTTPWire

@Suite("The rules of an HTTP/2 connection (RFC 9113) at the server")
struct HTTP2ServerRuleTests: HTTP2RuleSuite {
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
        Row(
            "PING of a stream",
            frames: [RawFrame(.ping, stream: 1, payload: [0, 0, 0, 0, 0, 0, 0, 0])],
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
            events: ["head 1", "malformedTrailers 1"],
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

    @Test("the server applies the rules of RFC 9113", arguments: server)
    func servers(_ row: Row) { check(row) }

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
}
