// SPDX-License-Identifier: Apache-2.0

extension Fault {
    /// HTTP/1.1 faults of timing and order: stalls, slow responses, early ends, idle connections that close.
    package static let http1: [Fault] = [
        http(
            "head-stall",
            "half a head, then silence",
            outcome: .timeout,
            bytes: "HTTP/1.1 200 OK\r\nContent-Ty",
            then: .hold
        ),
        http("head-close", "half a head, then a close", outcome: .closed, bytes: "HTTP/1.1 200 OK\r\nContent-Ty"),
        http(
            "head-reset",
            "half a head, then a reset",
            outcome: .closed,
            bytes: "HTTP/1.1 200 OK\r\nContent-Ty",
            then: .reset
        ),
        http("head-drip", "a head of a byte each second, without end", outcome: .timeout) { connection, clock in
            try await connection.drip("HTTP/1.1 200 OK\r\nX: ", clock: clock)
        },
        http("body-stall", "half of the body, then silence", outcome: .timeout, bytes: half, then: .hold),
        http("body-close", "half of the body, then a close", outcome: .truncated, bytes: half),
        http("body-reset", "half of the body, then a reset", outcome: .truncated, bytes: half, then: .reset),
        http("body-drip", "a body of a byte each second", outcome: .timeout) { connection, clock in
            try await connection.drip("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", clock: clock)
        },
        http("chunk-close", "half of a chunk, then a close", outcome: .truncated, bytes: chunked + "4\r\nok"),
        http("chunk-no-last", "chunks without the last one", outcome: .truncated, bytes: chunked + "2\r\nok\r\n"),
        http(
            "trailer-close",
            "the last chunk, and then half a trailer",
            outcome: .truncated,
            bytes: chunked + "2\r\nok\r\n0\r\nX: "
        ),
        http("idle-close", "answers, and closes without announcing it", outcome: .success, bytes: goodResponse),
        http("idle-reset", "answers, and resets at the next request", outcome: .success) { connection, _ in
            try await connection.send(goodResponse)
            _ = try await connection.receiveRequest()
            await connection.reset()
        },
        http("request-unread", "answers before it has read the body, and closes", outcome: .success) { connection, _ in
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        },
        http(
            "request-timeout",
            "408 after the request, then a close (RFC 9110 §15.5.9)",
            outcome: .status,
            bytes: "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
        http(
            "status-500",
            "500 with a body",
            outcome: .status,
            bytes: "HTTP/1.1 500 No\r\nContent-Length: 6\r\n\r\nbroken",
            then: .next
        ),
        http(
            "status-503",
            "503 with Retry-After",
            outcome: .status,
            bytes: "HTTP/1.1 503 No\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nbusy",
            then: .next
        ),
        http(
            "interim",
            "unsolicited 103 and 100, then the response",
            outcome: .success,
            bytes: "HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + goodResponse,
            then: .next
        ),
        http("interim-endless", "responses 103 without end", outcome: .limit) { connection, _ in
            try await connection.sendEndlessly("HTTP/1.1 103 Early Hints\r\n\r\n")
        },
        http(
            "poison",
            "an unsolicited second response: no request may receive it",
            outcome: .success,
            bytes: goodResponse + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
            then: .next
        ),
        http(
            "body-too-long",
            "more bytes than Content-Length: the rest is not a response",
            outcome: .success,
            bytes: goodResponse + "and more",
            then: .next
        ),
    ]

    static let half = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok"
    static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    /// The action after the bytes of a fault are sent.
    enum Then: Sendable {
        case close, reset, hold, next
    }

    /// Sends the same bytes for a request. The default outcome is `malformed`.
    static func http(
        _ id: String,
        _ does: String,
        outcome: Outcome = .malformed,
        bytes: String,
        then: Then = .close
    ) -> Fault {
        http(id, does, outcome: outcome) { connection, _ in
            try await connection.send(bytes.latin1)
            switch then {
            case .close: break
            case .reset: await connection.reset()
            case .hold: try await connection.hold()
            case .next: while try await connection.receiveRequest() != nil { try await connection.send(bytes.latin1) }
            }
        }
    }

    /// Runs a script after the request head is received.
    static func http(
        _ id: String,
        _ does: String,
        outcome: Outcome,
        answer: @escaping @Sendable (RawConnection, any Clock<Duration>) async throws -> Void
    ) -> Fault {
        Fault(id, does, outcome: outcome, layer: .http1) { connection, clock in
            guard try await connection.receiveHead() != nil else { return }
            try await answer(connection, clock)
        }
    }
}

extension RawConnection {
    /// Sends `start` at once, then a byte each second on the server's clock, 100,000 times.
    fileprivate func drip(_ start: String, clock: any Clock<Duration>) async throws {
        try await send(start)
        for _ in 0..<100_000 {
            try await clock.sleep(for: .seconds(1))
            try await send("x")
        }
    }
}
