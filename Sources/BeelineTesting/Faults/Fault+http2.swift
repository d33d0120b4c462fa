// SPDX-License-Identifier: Apache-2.0

extension Fault {
    /// HTTP/2 faults: streams and connections that end early, and frames that RFC 9113 forbids.
    package static let http2: [Fault] = [
        h2("h2-silent", "sends nothing, not even SETTINGS", outcome: .timeout, answers: .silent) { _ in [] },
        h2("h2-http1", "chooses h2 and speaks HTTP/1.1", answers: .silent) { _ in
            Array(goodResponse.utf8)
        },
        h2("h2-close", "closes at the request", outcome: .closed, answers: .once) { _ in [] },
        h2("h2-stall", "settings, and no response", outcome: .timeout) { _ in [] },
        h2(
            "h2-goaway-unprocessed",
            "GOAWAY that says no request was processed, then a close",
            outcome: .refusedStream,
            answers: .once
        ) {
            _ in goAway(last: 0, code: 0)
        },
        h2(
            "h2-goaway-graceful",
            "the response, and GOAWAY with it: the next request needs another connection",
            outcome: .success
        ) {
            goAway(last: $0, code: 0) + response($0)
        },
        h2(
            "h2-goaway-error",
            "GOAWAY with PROTOCOL_ERROR after the request was accepted, then a close",
            outcome: .closed,
            answers: .once
        ) {
            goAway(last: $0, code: 1)
        },
        h2("h2-refused", "RST_STREAM, REFUSED_STREAM", outcome: .refusedStream) { reset($0, code: 7) },
        h2("h2-reset", "RST_STREAM, INTERNAL_ERROR", outcome: .streamReset) { reset($0, code: 2) },
        h2("h2-http1-required", "RST_STREAM, HTTP_1_1_REQUIRED, and no HTTP/1.1 either") {
            reset($0, code: 13)
        },
        h2("h2-body-reset", "half of the body, then RST_STREAM", outcome: .truncated) {
            head($0) + data($0, "o") + reset($0, code: 2)
        },
        h2("h2-body-stall", "half of the body, then silence", outcome: .timeout) { head($0) + data($0, "o") },
        h2("h2-body-close", "half of the body, then a close", outcome: .truncated, answers: .once) {
            head($0) + data($0, "o")
        },
        h2("h2-one-stream", "allows one stream at a time", outcome: .success, settings: [(3, 1)]) { response($0) },
        h2("h2-no-stream", "allows no stream", outcome: .timeout, settings: [(3, 0)]) { _ in [] },
        h2(
            "h2-no-window",
            "a window of 0 that never opens: a GET succeeds, an upload does not",
            outcome: .success,
            settings: [(4, 0)]
        ) {
            response($0)
        },
        h2("h2-length-short", "Content-Length: 5, and two bytes") {
            head($0, [("content-length", "5")]) + data($0, "ok", flags: RawFrame.endStream)
        },
        h2("h2-length-long", "Content-Length: 1, and two bytes") {
            head($0, [("content-length", "1")]) + data($0, "ok", flags: RawFrame.endStream)
        },
        h2("h2-no-status", "a header block without :status") {
            RawFrame.headers([("x", "y")], stream: $0).bytes + data($0, "ok", flags: RawFrame.endStream)
        },
        h2("h2-uppercase", "a field name in upper case") {
            head($0, [("X", "y")]) + data($0, "ok", flags: 1)
        },
        h2("h2-connection-field", "a field that belongs to HTTP/1.1") {
            head($0, [("connection", "close")]) + data($0, "ok", flags: 1)
        },
        h2("h2-line-end", "a line end in a value") {
            head($0, [("x", "a\r\nb")]) + data($0, "ok", flags: 1)
        },
        h2("h2-late-pseudo", "a pseudo header field after a field") {
            RawFrame.headers([("x", "y"), (":status", "200")], stream: $0).bytes + data($0, "ok", flags: 1)
        },
        h2("h2-data-first", "DATA before HEADERS") { data($0, "ok") + response($0) },
        h2("h2-bad-hpack", "a header block that does not decode") {
            RawFrame(.headers, flags: RawFrame.endHeaders, stream: $0, payload: [0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
                .bytes
        },
        h2("h2-hpack-index", "an index beyond the table") {
            RawFrame(.headers, flags: RawFrame.endHeaders, stream: $0, payload: [0x88, 0xff, 0x80, 0x01]).bytes
        },
        h2("h2-frame-size", "a frame larger than was allowed") {
            head($0) + RawFrame(.data, stream: $0, payload: [UInt8](repeating: 0, count: 70_000)).bytes
        },
        h2("h2-window-overflow", "a window of more than 2^31-1") { _ in
            RawFrame(.windowUpdate, payload: RawFrame.big(0x7fff_ffff)).bytes
        },
        h2("h2-window-zero", "a window increment of 0") { _ in
            RawFrame(.windowUpdate, payload: RawFrame.big(0)).bytes
        },
        h2("h2-settings-odd", "SETTINGS of seven bytes") { _ in
            RawFrame(.settings, payload: [0, 1, 0, 0, 0, 0, 0]).bytes
        },
        h2("h2-settings-value", "a frame size that is not allowed", settings: [(5, 1)]) {
            response($0)
        },
        h2("h2-push", "PUSH_PROMISE to a client that allows none") {
            let promise = RawFrame.big(2) + RawFrame.literal(":method", "GET") + RawFrame.literal(":path", "/pushed")
            return RawFrame(.pushPromise, flags: RawFrame.endHeaders, stream: $0, payload: promise).bytes + response($0)
        },
        h2("h2-unknown-stream", "a frame for a stream that is not open") { response($0 + 100) },
        h2("h2-unknown-frame", "a frame of an unknown type, which must be ignored", outcome: .success) {
            var frame = RawFrame(.data, stream: $0, payload: [1, 2, 3])
            frame.kind = nil
            return frame.bytes + response($0)
        },
        h2("h2-padding", "a body that is mostly padding", outcome: .success) {
            let padded = [250] + Array("ok".utf8) + [UInt8](repeating: 0, count: 250)
            return head($0) + RawFrame(.data, flags: RawFrame.endStream | 8, stream: $0, payload: padded).bytes
        },
        h2("h2-padding-lies", "padding longer than its frame") {
            head($0) + RawFrame(.data, flags: RawFrame.endStream | 8, stream: $0, payload: [9, 111, 107]).bytes
        },
    ]

    // MARK: Making rows

    /// The requests that an HTTP/2 fault answers.
    enum Answers: Sendable {
        /// Sends the answer at once, without SETTINGS, and then nothing more.
        case silent
        /// Answers each request.
        case each
        /// Answers the first request, then closes the connection.
        case once
    }

    /// Creates a fault that sends settings and answers each stream with the bytes of `answer`. The default outcome is
    /// `malformed`.
    static func h2(
        _ id: String,
        _ does: String,
        outcome: Outcome = .malformed,
        settings: [(id: UInt16, value: UInt32)] = [],
        answers: Answers = .each,
        answer: @escaping @Sendable (_ stream: UInt32) -> [UInt8]
    ) -> Fault {
        script(id, does, outcome: outcome) { connection in
            if answers == .silent {
                try await connection.send(answer(1))
                try await connection.drain()
                return
            }
            try await connection.send(RawFrame.settings(settings).bytes + acknowledgement)
            while let request = try await connection.receiveFrame(where: { $0.kind == .headers || $0.kind == .ping }) {
                if request.kind == .ping {
                    // Answer PING, so that the connection stays alive.
                    guard request.flags & 1 == 0 else { continue }
                    try await connection.send(RawFrame(.ping, flags: 1, payload: request.payload).bytes)
                    continue
                }
                try await connection.send(answer(request.stream))
                if answers == .once { return }
            }
        }
    }

    /// Creates a fault that plays all of HTTP/2 after the client's preface.
    static func script(
        _ id: String,
        _ does: String,
        outcome: Outcome,
        play: @escaping @Sendable (RawConnection) async throws -> Void
    ) -> Fault {
        Fault(id, does, outcome: outcome, layer: .http2) { certificates in
            var tls = ServerTLS(certificates.good)
            tls.applicationProtocols = ["h2"]
            return tls
        } serve: { connection, _ in
            _ = try await connection.receive(count: RawFrame.preface.count)
            try await play(connection)
        }
    }

    static let acknowledgement = RawFrame(.settings, flags: 1).bytes

    static func head(_ stream: UInt32, _ fields: [(String, String)] = []) -> [UInt8] {
        RawFrame.headers([(":status", "200")] + fields, stream: stream).bytes
    }

    static func data(_ stream: UInt32, _ text: String, flags: UInt8 = 0) -> [UInt8] {
        RawFrame(.data, flags: flags, stream: stream, payload: Array(text.utf8)).bytes
    }

    static func response(_ stream: UInt32) -> [UInt8] {
        head(stream) + data(stream, "ok", flags: RawFrame.endStream)
    }

    private static func reset(_ stream: UInt32, code: UInt32) -> [UInt8] {
        RawFrame(.reset, stream: stream, payload: RawFrame.big(code)).bytes
    }

    private static func goAway(last: UInt32, code: UInt32) -> [UInt8] {
        RawFrame(.goAway, payload: RawFrame.big(last) + RawFrame.big(code)).bytes
    }
}
