// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import Testing

@testable import DirectHTTP
@testable import HTTPWire

@Suite("The rules of an HTTP/2 connection (RFC 9113) at the client")
struct HTTP2ClientRuleTests: HTTP2RuleSuite {
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
            "a pseudo field in trailers",
            frames: [response(), .headers([(":status", "200")], stream: 1, flags: 5)],
            events: ["head 1 200", "malformedTrailers 1"],
            resets: [1: .protocolError],
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

    @Test("the client applies the rules of RFC 9113", arguments: client)
    func clients(_ row: Row) { check(row) }

    @Test("the error of a response names its fault, not another that it does not have")
    func faults() {
        let cases: [(frames: [RawFrame], text: String)] = [
            ([Self.response(status: "204"), Self.data()], "the method or status allows none"),
            ([Self.response(status: "103", ends: true)], "ends before its final status"),
            ([Self.response(status: "101")], "no status 101"),
            ([Self.response(status: "099")], "invalid"),
            ((0..<33).map { _ in Self.response(status: "103") }, "too many informational responses"),
        ]
        for (frames, text) in cases {
            let (events, error) = Self.events(.client, frames)
            guard error == nil, case .failed(1, let message)? = events.last else {
                Issue.record("\(text): \(events), \(String(describing: error))")
                continue
            }
            #expect(message.contains(text))
        }
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
}
