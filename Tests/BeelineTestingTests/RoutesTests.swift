// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(1))) struct RoutesTests {
    @Test(arguments: [
        ("the request comes back", "GET /echo?a=1", "", "", "\"target\":\"/echo?a=1\""),
        ("its body by size and hash", "POST /echo", "", "abc", "\"bodyHash\":\"ba7816bf8f01cfea414140de5dae2223"),
        ("a status", "GET /status/418", "", "", "HTTP/1.1 418 "),
        ("bytes", "GET /bytes/3", "", "", "Content-Length: 3\r\nConnection: close\r\n\r\n\0\0\0"),
        ("chunks", "GET /chunked/2", "", "", "\r\n\r\n8\r\nchunk 1\n\r\n8\r\nchunk 2\n\r\n0\r\n\r\n"),
        ("a redirect", "GET /redirect?to=%2Fx&status=307", "", "", "HTTP/1.1 307 \r\nLocation: /x\r\n"),
        (
            "cookies", "GET /set-cookie?value=a%3D1%3B+Path%3D/&value2=b", "", "",
            "Set-Cookie: a=1; Path=/\r\nSet-Cookie: b\r\n"
        ),
        ("a login", "POST /login", "", "user=ann&password=nna", "Set-Cookie: session=ann; Path=/; HttpOnly\r\n"),
        ("with a wrong password", "POST /login", "", "user=ann&password=ann", "HTTP/1.1 403 "),
        ("who is logged in", "GET /me", "Cookie: session=ann\r\n", "", "\r\n\r\nann\n"),
        ("who is not", "GET /me", "", "", "HTTP/1.1 401 "),
        (
            "credentials", "GET /basic?user=Aladdin&password=open+sesame",
            "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n", "", "200 OK"
        ),
        ("none", "GET /basic?user=a&password=b", "", "", "WWW-Authenticate: Basic realm="),
        ("trailers", "GET /trailers", "", "", "0\r\nDigest: done\r\n\r\n"),
        ("hints", "GET /hints", "", "", "HTTP/1.1 103 Early Hints\r\nLink: </style.css>"),
        ("no route", "GET /nowhere", "", "", "HTTP/1.1 404 "),
        ("a negative count", "GET /bytes/-1", "", "", "HTTP/1.1 404 "),
    ])
    func aRouteAnswers(_: String, line: String, fields: String, body: String, expected: String) async throws {
        let origin = try await LoopbackOrigin.start(handler: Routes.standard)
        let connection = try await RawConnection.connect(to: origin.endpoint)
        let fields = "Host: a.test\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n"
        try await connection.send("\(line) HTTP/1.1\r\n\(fields)\(body)")
        var bytes: [UInt8] = []
        while let more = try await connection.receive() { bytes += more }
        let answer = String(decoding: bytes, as: UTF8.self)
        #expect(answer.contains(expected), "\(answer.debugDescription)")
        await connection.close()
        await origin.stop()
    }

    /// Both were verified with Python's zlib.
    @Test(
        arguments: [
            ("nothing", "", [0x78, 0x01, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01]),
            ("a letter", "a", [0x78, 0x01, 0x4b, 0x04, 0x00, 0x00, 0x62, 0x00, 0x62]),
        ] as [(String, String, [UInt8])]
    )
    func deflateIsTheZlibForm(_: String, text: String, expected: [UInt8]) {
        #expect(Compression.deflate.compress(Array(text.utf8)) == expected)
    }

    @Test func aRunIsCompressed() {
        let gzip = Compression.gzip.compress([UInt8](repeating: 7, count: 100_000))
        #expect(gzip.count < 1000 && gzip.prefix(2) == [0x1f, 0x8b])
        #expect(gzip.suffix(4) == [0xa0, 0x86, 0x01, 0x00])
    }
}
