// SPDX-License-Identifier: Apache-2.0

extension Fault {
    /// HTTP/1.1 faults of response content: wrong content encodings, bad redirects, cookies that the client must reject.
    package static let http1Content: [Fault] = [
        http("gzip-lie", "Content-Encoding: gzip, and the body is not", bytes: encoded("gzip", "not gzip at all")),
        http("gzip-cut", "half of a gzip stream", outcome: .malformed) { connection, _ in
            let bytes = Compression.gzip.compress(Array("ok ok ok".utf8))
            try await connection.sendEncoded("gzip", Array(bytes.prefix(bytes.count / 2)))
        },
        http(
            "deflate-bomb",
            "256 MiB of zeros in 1.7 MB: a limit stops it, or it is read as a stream",
            outcome: .limit
        ) {
            connection,
            _ in
            try await connection.sendEncoded("deflate", Compression.zeros(count: 256 << 20))
        },
        http(
            "encoding-unknown",
            "an unknown content coding: the body unchanged, or an error",
            bytes: encoded("smoke", "ok")
        ),
        http("redirect-loop", "a redirect to itself", outcome: .limit, bytes: redirect("/again"), then: .next),
        http("redirect-file", "a redirect to a file", bytes: redirect("file:///etc/passwd"), then: .next),
        http("redirect-script", "a redirect to a script", bytes: redirect("javascript:alert(1)"), then: .next),
        http(
            "redirect-nowhere",
            "302 without a Location",
            outcome: .status,
            bytes: "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
            then: .next
        ),
        http("redirect-invalid", "a Location that is not a URL", bytes: redirect("http://[::1"), then: .next),
        http(
            "redirect-injection",
            "a Location with an encoded line end",
            outcome: .limit,
            bytes: redirect("/a%0d%0aX:%20y"),
            then: .next
        ),
        http(
            "switch-unasked",
            "101 to a request without Upgrade",
            bytes: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: smoke\r\nConnection: Upgrade\r\n\r\n",
            then: .hold
        ),
        http(
            "no-content-body",
            "204, and bytes after it: they are neither a body nor a response",
            outcome: .status,
            bytes: "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok",
            then: .next
        ),
        http(
            "cookies-refused",
            "cookies that a jar must refuse, and good=1",
            outcome: .success,
            bytes: "HTTP/1.1 200 OK\r\nSet-Cookie: good=1\r\nSet-Cookie: suffix=1; Domain=test\r\n"
                + "Set-Cookie: foreign=1; Domain=example.com\r\nSet-Cookie: big=\(String(repeating: "x", count: 5000))\r\n"
                + "Set-Cookie: __Host-h=1; Secure; Path=/; Domain=fault.test\r\nSet-Cookie: __Secure-s=1\r\n"
                + "Set-Cookie: =\r\nContent-Length: 2\r\n\r\nok",
            then: .next
        ),
        http(
            "cookies-many",
            "500 cookies in one response",
            outcome: .success,
            bytes: "HTTP/1.1 200 OK\r\n" + (0..<500).map { "Set-Cookie: c\($0)=\($0)\r\n" }.joined()
                + "Content-Length: 2\r\n\r\nok",
            then: .next
        ),
    ]

    private static func redirect(_ location: String) -> String {
        "HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n"
    }

    private static func encoded(_ coding: String, _ body: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}

extension RawConnection {
    fileprivate func sendEncoded(_ coding: String, _ body: [UInt8]) async throws {
        try await send("HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n")
        try await send(body)
    }
}
