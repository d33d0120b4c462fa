// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineTesting
import NIOCore
import Testing

@Suite("Requests that the proxy refuses, and its responses to them", .timeLimit(.minutes(1)))
struct RefusalTests {
    /// Ambiguous requests, which two servers could read differently, and invalid ones. `URL` and `HOST` stand for the
    /// lab's.
    static let malformed: [(String, String)] = [
        (
            "both lengths",
            "POST URL HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        ("two lengths", "POST URL HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
        ("the same length twice", "POST URL HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
        ("a list of lengths", "POST URL HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\nabc"),
        ("a length with a sign", "POST URL HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc"),
        ("a length in hex", "POST URL HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\nabc"),
        ("a length that overflows", "POST URL HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nabc"),
        ("no length", "POST URL HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\nabc"),
        ("another coding", "POST URL HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        ("an unknown coding", "POST URL HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        ("chunked twice", "POST URL HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
        (
            "two codings in two lines",
            "POST URL HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"
        ),
        (
            "a vertical tab in the coding",
            "POST URL HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{b}chunked\r\n\r\n0\r\n\r\n"
        ),
        ("a blank before the colon", "POST URL HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
        ("chunks in HTTP/1.0", "POST URL HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ("a folded line", "GET URL HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n"),
        ("a folded line at the start", "GET URL HTTP/1.1\r\n X: a\r\nHost: a\r\n\r\n"),
        ("LF alone", "GET URL HTTP/1.1\nHost: a\n\n"),
        ("LF alone in the fields", "GET URL HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"),
        ("CR alone", "GET URL HTTP/1.1\r\nHost: a\rX: b\r\n\r\n"),
        ("NUL in a value", "GET URL HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"),
        ("no colon", "GET URL HTTP/1.1\r\nHost: a\r\nX\r\n\r\n"),
        ("no name", "GET URL HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n"),
        ("two hosts", "GET URL HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        ("no host", "GET URL HTTP/1.1\r\n\r\n"),
        ("an invalid host", "GET URL HTTP/1.1\r\nHost: a b\r\n\r\n"),
        ("two blanks", "GET  URL HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a tab", "GET\tURL HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a blank in the target", "GET URL/a b HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a fragment", "GET URL#x HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("two users", "GET http://user@b.test@HOST/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a backslash in the user", "GET http://b.test\\@HOST/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a user of a tunnel", "CONNECT user@HOST HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("an invalid port", "GET http://a.test:80x/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("https without a tunnel", "GET https://HOST/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("no version", "GET URL\r\nHost: a\r\n\r\n"),
        ("HTTP/2 in the clear", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        ("HTTP/0.9", "GET URL HTTP/0.9\r\nHost: a\r\n\r\n"),
        ("no method", " URL HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a method that is no token", "GE(T URL HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("CONNECT without a port", "CONNECT a.test HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("CONNECT to a URL", "CONNECT URL HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("CONNECT with a body", "CONNECT HOST HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"),
        ("TLS", "\u{16}\u{3}\u{1}\r\n\r\n"),
    ]

    @Test("an invalid or ambiguous request is a 400 and reaches no server")
    func malformed() async throws {
        let lab = try await ProxyLab()
        let host = "a.test:\(lab.plain.port)"
        for (what, request) in Self.malformed {
            let connection = try await lab.connect()
            let text = request.replacing("URL", with: "http://\(host)/").replacing("HOST", with: host)
            try await connection.send(text)
            let answer = try await connection.receiveAll()
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(what): \(answer.prefix(100))")
            await connection.close()
        }
        #expect(lab.plain.connections.accepted == 0)
        await lab.stop()
    }

    @Test(
        "ambiguous chunks are a 400 and reach no server as a complete body",
        arguments: [
            "x\r\n", "5 5\r\nhello", "+5\r\nhello", "0x5\r\nhello", "-1\r\n", "5\nhello", "5\r\nhelloX\r\n0\r\n\r\n",
            "5\r\nhello\n0\n\n", "ffffffffffffffffff\r\n", "\r\n", "5;a\nb\r\nhello", "0\r\nX: a\nY: b\r\n\r\n",
            "0\r\n folded\r\n\r\n",
        ]
    )
    func badChunks(body: String) async throws {
        let lab = try await ProxyLab()
        let connection = try await lab.connect()
        let head = "POST http://a.test:\(lab.plain.port)/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        try await connection.send(head + body)
        #expect(try await connection.receiveAll().hasPrefix("HTTP/1.1 400 "))
        #expect(lab.plain.requests.isEmpty)
        await connection.close()
        await lab.stop()
    }

    @Test("a refusal is a 403, an unknown name is a 502, and only a refused tunnel ends the connection")
    func statuses() async throws {
        let lab = try await ProxyLab(configure: {
            $0.policy.tunnelPorts = [443]
            $0.policy.allowsLocalAnswers = false
        })
        try lab.upstream.zone.set("public.test", to: ["127.0.0.1"])
        let kept = try await lab.connect()
        for (request, status, word) in [
            ("CONNECT a.test:22", 403, "22"),
            ("CONNECT a.test:443", 403, "the name leads to 127.0.0.1"),
            ("CONNECT 127.0.0.1:443", 403, "this machine"),
            ("CONNECT localhost:443", 403, "this machine"),
            ("CONNECT [::1]:443", 403, "this machine"),
            ("CONNECT nobody.test:443", 502, "nobody.test"),
            ("GET http://a.test/", 403, "the name leads to 127.0.0.1"),
            ("GET http://0x7f.1/", 403, "127.0.0.1"),
            ("GET http://169.254.169.254/latest/meta-data/", 403, "169.254.169.254"),
            ("GET http://\(lab.proxy.endpoint)/", 403, "this proxy"),
            ("GET /elsewhere", 404, "this is a proxy"),
        ] {
            let isTunnel = request.hasPrefix("CONNECT ")
            let connection = try await isTunnel ? lab.connect() : kept
            try await connection.send("\(request) HTTP/1.1\r\nHost: a\r\n\r\n")
            let (head, body) = try await connection.receiveResponse()
            #expect(head.hasPrefix("HTTP/1.1 \(status) "), "\(request): \(head)")
            #expect(head.contains("Connection: close\r\n") == isTunnel, "\(request): \(head)")
            #expect(body.contains(word) && body.split(separator: "\n").count == 1, "\(request): \(body)")
            if isTunnel { await connection.close() }
        }
        #expect(await lab.proxy.counts().refused == 11)
        await kept.close()
        await lab.stop()
    }

    @Test(
        "bytes for a tunnel that is refused are not read as a request",
        arguments: [(403, "a.test:25"), (407, "a.test:443"), (502, "nobody.test:443")]
    )
    func bytesForARefusedTunnel(status: Int, place: String) async throws {
        let lab = try await ProxyLab(configure: {
            $0.policy.tunnelPorts = [443]
            if status == 407 { $0.credentials = ProxyCredentials(user: "me", password: "secret") }
        })
        let login = "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n"
        let connection = try await lab.connect()
        try await connection.send(
            "CONNECT \(place) HTTP/1.1\r\nHost: a\r\n\r\n"
                + "GET http://a.test:\(lab.plain.port)/echo HTTP/1.1\r\nHost: a\r\n\(login)\r\n"
        )
        let answer = try await connection.receiveAll()
        #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.contains("Connection: close\r\n"), "\(answer)")
        #expect(answer.ranges(of: "HTTP/1.1 ").count == 1, "\(answer)")
        #expect(lab.plain.connections.accepted == 0)
        await connection.close()
        await lab.stop()
    }

    @Test("a poisoned answer is refused although the policy allows local answers, because the resolver rejects it")
    func poisoned() async throws {
        let lab = try await ProxyLab(client: { $0.resolver.check.allowsLocalAnswers = false })
        let connection = try await lab.connect()
        try await connection.send("CONNECT a.test:443 HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try await connection.receiveResponse().head.hasPrefix("HTTP/1.1 403 "))
        await connection.close()
        await lab.stop()
    }

    @Test("a client without valid credentials receives a 407, and no connection is opened")
    func credentials() async throws {
        let token = ProxyCredentials.token()
        let lab = try await ProxyLab(configure: { $0.credentials = token })
        let connection = try await lab.connect()
        let url = "http://a.test:\(lab.plain.port)/echo"
        for given in [
            "", "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n", "Proxy-Authorization: Bearer \(token.password)\r\n",
        ] {
            try await connection.send("GET \(url) HTTP/1.1\r\nHost: a\r\n\(given)\r\n")
            let (head, _) = try await connection.receiveResponse()
            #expect(head.hasPrefix("HTTP/1.1 407 ") && head.contains("Proxy-Authenticate: Basic "))
        }
        #expect(lab.plain.connections.accepted == 0)
        await connection.close()
        let user = try lab.user(credentials: token)
        #expect(try await user.get(url).status == .ok)
        #expect(try await user.get("https://a.test:\(lab.site.port)/echo").status == .ok)
        let request = try #require(lab.plain.requests.first)
        #expect(!request.rawHead.lowercased().contains("proxy-"))
        await user.shutDown()
        await lab.stop()
    }

    @Test("a client above the limit receives a 503, and the next one is served when there is room")
    func tooMany() async throws {
        let lab = try await ProxyLab(configure: { $0.limits.connections = 2 })
        let server = try await RawServer.start { try await $0.hold() }
        let one = try await lab.tunnel(to: "a.test", port: server.port)
        let two = try await lab.tunnel(to: "a.test", port: server.port)
        let three = try await lab.connect()
        try await three.send("CONNECT a.test:\(server.port) HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try await three.receiveAll().hasPrefix("HTTP/1.1 503 "))
        await three.close()
        await one.close()
        try await server.connections { $0.open == 1 }
        try await eventually("the end of a connection") { await lab.proxy.counts().connections <= 1 }
        await (try lab.tunnel(to: "a.test", port: server.port)).close()
        await two.close()
        await server.stop()
        await lab.stop()
    }

    @Test("an HTTP/1.0 client is told whether its connection is kept after a refusal")
    func keepAliveOfHTTP10() async throws {
        let lab = try await ProxyLab()
        let connection = try await lab.connect()
        for (option, expected) in [("Connection: keep-alive\r\n", "keep-alive"), ("", "close")] {
            try await connection.send("GET /elsewhere HTTP/1.0\r\n\(option)\r\n")
            let head = try await connection.receiveResponse().head
            #expect(head.hasPrefix("HTTP/1.1 404 ") && head.contains("\r\nConnection: \(expected)\r\n"), "\(head)")
        }
        #expect(try await connection.receive() == nil)
        await connection.close()
        await lab.stop()
    }

    @Test("pipelined requests are all answered, although a turn of the event loop answers only some of them")
    func pipelined() async throws {
        let lab = try await ProxyLab()
        let connection = try await lab.connect()
        try await connection.send(String(repeating: "GET /x HTTP/1.1\r\nHost: a\r\n\r\n", count: 1_000))
        try await connection.finishSending()
        for _ in 0..<1_000 { #expect(try await connection.receiveResponse().head.hasPrefix("HTTP/1.1 404 ")) }
        #expect(try await connection.receive() == nil)
        await connection.close()
        await lab.stop()
    }

    @Test("SOCKS4 and TLS are refused at their first bytes, and not when the time for a head has passed")
    func otherProtocols() async throws {
        let lab = try await ProxyLab(configure: { $0.limits.head = nil })
        let socks4: [UInt8] = [4, 1, 0, 80, 0, 0, 0, 1, 0] + Array("a.test".utf8) + [0]
        let old = try await lab.connect()
        try await old.send(socks4)
        #expect(try await old.receive(count: 8) == [0, 0x5b, 0, 0, 0, 0, 0, 0])
        #expect(try await old.receive() == nil)
        await old.close()
        let secure = try await lab.connect()
        try await secure.send([0x16, 3, 1, 2, 0, 1, 0])
        #expect(try await secure.receiveAll().hasPrefix("HTTP/1.1 400 "))
        await secure.close()
        let later = try await lab.connect()
        try await later.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n\u{5}\u{1}\u{0}")
        #expect(try await later.receiveResponse().head.hasPrefix("HTTP/1.1 404 "))
        #expect(try await later.receiveAll().hasPrefix("HTTP/1.1 400 "))
        await later.close()
        #expect(await lab.proxy.counts().refused == 4)
        await lab.stop()
    }

    @Test("a proxy for other machines does not start without credentials")
    func needsCredentials() async throws {
        let client = try BeelineClient()
        var configuration = ProxyConfiguration()
        configuration.listen = Endpoint(IPAddress(v4: 0), port: 0)
        let error = await #expect(throws: ProxyError.self) {
            _ = try await BeelineProxy.start(configuration, client: client)
        }
        #expect(error?.code == .needsCredentials)
        await client.shutDown()
    }
}
