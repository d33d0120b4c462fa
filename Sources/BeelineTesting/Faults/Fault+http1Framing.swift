// SPDX-License-Identifier: Apache-2.0

extension Fault {
    /// HTTP/1.1 faults of framing: malformed heads, contradictory lengths, exceeded limits.
    package static let http1Framing: [Fault] = [
        http("garbage", "bytes that are not HTTP", bytes: String((0..<300).map { noise($0) })),
        http("http-0.9", "a body without a status line", bytes: "<html>hello</html>\n"),
        http(
            "status-word",
            "a status that is not a number",
            bytes: "HTTP/1.1 twohundred OK\r\nContent-Length: 0\r\n\r\n"
        ),
        http("status-four-digits", "a status of four digits", bytes: "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"),
        http("version-9", "an unknown version", bytes: "HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n"),
        http("header-no-colon", "a header line without a colon", bytes: ok("nonsense")),
        http("header-space", "a space before the colon (RFC 9112 §5.1)", bytes: ok("X : y")),
        http("header-nul", "a NUL in a value", bytes: ok("X: a\0b")),
        http("header-cr", "a bare CR in a value", bytes: ok("X: a\rY: b")),
        http("header-folded", "a folded value (RFC 9112 §5.2): refused, or read as one line", bytes: ok("X: a\r\n b")),
        http("length-twice", "two lengths that differ", bytes: ok("Content-Length: 3")),
        http("length-negative", "a length below zero", bytes: "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok"),
        http("length-word", "a length that is not a number", bytes: "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok"),
        http(
            "length-huge",
            "a length of more than 64 bits",
            bytes: "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok",
            then: .hold
        ),
        http(
            "length-and-chunked",
            "a length and chunks: refused, or the chunks count and the connection is not used again",
            bytes: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            then: .hold
        ),
        http(
            "coding-unknown",
            "an unknown transfer coding",
            bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: smoke\r\n\r\nok"
        ),
        http("chunk-word", "a chunk size that is not a number", bytes: chunked + "zz\r\nok\r\n0\r\n\r\n", then: .hold),
        http(
            "chunk-huge",
            "a chunk size of more than 64 bits",
            bytes: chunked + "1ffffffffffffffff\r\nok",
            then: .hold
        ),
        http("chunk-no-crlf", "no CRLF after a chunk", bytes: chunked + "2\r\nokXX0\r\n\r\n", then: .hold),
        http("head-endless", "one header line without end", outcome: .limit) { connection, _ in
            try await connection.send("HTTP/1.1 200 OK\r\nX: ")
            try await connection.sendEndlessly("x")
        },
        http("headers-endless", "header lines without end", outcome: .limit) { connection, _ in
            try await connection.send("HTTP/1.1 200 OK\r\n")
            try await connection.sendEndlessly("X-Header: value\r\n")
        },
        http("status-endless", "a reason phrase without end", outcome: .limit) { connection, _ in
            try await connection.send("HTTP/1.1 200 ")
            try await connection.sendEndlessly("O")
        },
        http("chunk-extension-endless", "a chunk extension without end", outcome: .limit) { connection, _ in
            try await connection.send(chunked + "2;x=")
            try await connection.sendEndlessly("x")
        },
        http("trailers-endless", "trailer lines without end", outcome: .limit) { connection, _ in
            try await connection.send(chunked + "2\r\nok\r\n0\r\n")
            try await connection.sendEndlessly("X-Trailer: value\r\n")
        },
    ]

    /// A good response with one more header line.
    private static func ok(_ line: String) -> String {
        "HTTP/1.1 200 OK\r\n\(line)\r\nContent-Length: 2\r\n\r\nok"
    }

    /// Pseudo-random bytes, the same on each run.
    private static func noise(_ index: Int) -> Character {
        Character(Unicode.Scalar(UInt8(truncatingIfNeeded: index &* 167 &+ 13)))
    }
}
