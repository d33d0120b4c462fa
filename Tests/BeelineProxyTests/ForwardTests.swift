// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineTesting
import NIOConcurrencyHelpers
import NIOCore
import Testing

@Suite("Requests for http:// URLs", .timeLimit(.minutes(1)))
struct ForwardTests {
    @Test("requests of one client connection share one connection to each origin")
    func persistent() async throws {
        let lab = try await ProxyLab()
        let connection = try await lab.connect()
        for index in 0..<5 {
            let name = index == 3 ? "b.test" : "a.test"
            try await connection.send(
                "GET http://\(name):\(lab.plain.port)/echo?\(index) HTTP/1.1\r\nHost: elsewhere.test\r\n\r\n"
            )
            let (head, body) = try await connection.receiveResponse()
            #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(body.contains("/echo?\(index)"))
        }
        #expect(lab.plain.connections.accepted == 2)
        let authorities = lab.plain.requests.map { $0.authority ?? "" }
        #expect(authorities == ["a", "a", "a", "b", "a"].map { "\($0).test:\(lab.plain.port)" })
        await connection.close()
        await lab.stop()
    }

    @Test("the origin gets the canonical host, however the client spells it")
    func spellings() async throws {
        let lab = try await ProxyLab(names: ["a.test", "xn--bcher-kva.test", "xn--8i7caa.test"])
        let connection = try await lab.connect()
        let port = lab.plain.port
        for (written, host) in [
            ("a.test", "a.test"), ("A.Test", "a.test"), ("%61.test", "a.test"), ("127.1", "127.0.0.1"),
            ("b\u{fc}cher.test", "xn--bcher-kva.test"), ("xn--8i7caa.test", "xn--8i7caa.test"),
        ] {
            try await connection.send("GET http://\(written):\(port)/echo HTTP/1.1\r\nHost: a.test\r\n\r\n")
            #expect(try await connection.receiveResponse().head.hasPrefix("HTTP/1.1 200 "), "\(written)")
            #expect(lab.plain.requests.last?.authority == "\(host):\(port)", "\(written)")
        }
        await connection.close()
        await lab.stop()
    }

    @Test("the user and password that wget writes into a target are not forwarded")
    func userOfTarget() async throws {
        let lab = try await ProxyLab()
        let connection = try await lab.connect()
        let host = "a.test:\(lab.plain.port)"
        for user in ["me:secret", "me", "me%40home:", ""] {
            try await connection.send("GET http://\(user)@\(host)/echo HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            #expect(try await connection.receiveResponse().head.hasPrefix("HTTP/1.1 200 "), "\(user)")
            let request = try #require(lab.plain.requests.last)
            #expect(request.authority == host && request.target == "/echo", "\(user)")
            #expect(!request.rawHead.contains("@"), "\(user)")
        }
        await connection.close()
        await lab.stop()
    }

    @Test("the proxy answers the blank page at every host itself, and forwards every other path")
    func blankPage() async throws {
        let path = ProxyConfiguration.unguessablePath()
        let lab = try await ProxyLab(configure: { $0.blankPagePath = path })
        let connection = try await lab.connect()
        for name in ["a.test", "nowhere.test"] {
            try await connection.send("GET http://\(name)\(path) HTTP/1.1\r\nHost: \(name)\r\n\r\n")
            let (head, body) = try await connection.receiveResponse()
            #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(head.contains("Content-Type: text/html"))
            // A page without an icon makes browsers ask the site for one.
            #expect(body.contains(#"rel="icon" href="data:,""#))
        }
        #expect(lab.plain.requests.isEmpty)
        #expect(lab.upstream.queries.isEmpty)
        try await connection.send("GET http://a.test:\(lab.plain.port)/echo HTTP/1.1\r\nHost: a.test\r\n\r\n")
        _ = try await connection.receiveResponse()
        #expect(lab.plain.requests.count == 1)
        await connection.close()
        await lab.stop()
    }

    @Test("the proxy removes hop-by-hop fields and forwards the others unchanged")
    func hopByHop() async throws {
        let lab = try await ProxyLab(configure: { $0.addsVia = true })
        let connection = try await lab.connect()
        try await connection.send(
            """
            POST http://a.test:\(lab.plain.port)/echo HTTP/1.1\r
            Host: a.test\r
            Connection: keep-alive, X-Mine, content-length\r
            Proxy-Connection: keep-alive\r
            Keep-Alive: timeout=5\r
            Proxy-Authorization: Basic bWU6c2VjcmV0\r
            TE: trailers\r
            X-Mine: hop\r
            X-Theirs:  two  blanks \r
            Cookie: a=b\r
            Content-Length: 5\r
            \r
            hello
            """
        )
        let (_, body) = try await connection.receiveResponse()
        #expect(body.contains("hello"))
        let request = try #require(lab.plain.requests.first)
        let raw = request.rawHead.split(separator: "\r\n").map(String.init)
        #expect(
            raw == [
                "POST /echo HTTP/1.1", "Host: a.test:\(lab.plain.port)", "X-Theirs: two  blanks", "Cookie: a=b",
                "Content-Length: 5", "Via: 1.1 beeline",
            ]
        )
        await connection.close()
        await lab.stop()
    }

    @Test("bodies of known and unknown length pass in both directions, and pipelined requests keep their order")
    func bodies() async throws {
        let lab = try await ProxyLab()
        let user = try lab.user()
        let bytes = [UInt8](repeating: 120, count: 3 << 20)
        let response = try await user.send(
            HTTPRequest(method: .put, scheme: nil, authority: nil, path: nil),
            to: HTTPURL("http://a.test:\(lab.plain.port)/echo"),
            body: .bytes(bytes)
        )
        _ = try await response.collect(upTo: 1 << 20)
        #expect(lab.plain.requests.first?.bodySize == bytes.count)
        let large = try await user.get("http://a.test:\(lab.plain.port)/bytes/5000000")
        #expect(try await large.collect(upTo: 1 << 23).readableBytes == 5_000_000)
        await user.shutDown()

        let connection = try await lab.connect()
        let url = "http://a.test:\(lab.plain.port)"
        try await connection.send(
            """
            POST \(url)/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n\
            GET \(url)/chunked/3 HTTP/1.1\r\nHost: a\r\n\r\nHEAD \(url)/bytes/10 HTTP/1.1\r\nHost: a\r\n\r\n\
            GET \(url)/status/204 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n
            """
        )
        let all = try await connection.receiveAll()
        #expect(all.contains("hello"))
        #expect(all.contains("8\r\nchunk 3\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"))
        #expect(all.contains("Content-Length: 10\r\n\r\nHTTP/1.1 204"))
        #expect(all.hasSuffix("Connection: close\r\n\r\n"))
        await connection.close()
        await lab.stop()
    }

    @Test("the proxy replaces a kept connection that died if the request is safe to repeat, and else the client can")
    func staleConnection() async throws {
        let lab = try await ProxyLab()
        let served = NIOLockedValueBox(0)
        let server = try await RawServer.start { connection in
            // The server answers one request a connection, then closes it without a `Connection: close`.
            _ = try await connection.receive(until: "\r\n\r\n")
            served.withLockedValue { $0 += 1 }
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            if try await connection.receive() != nil { await connection.cut() }
        }
        let connection = try await lab.connect()
        for _ in 0..<3 {
            try await connection.send("GET http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await connection.receiveResponse().body == "ok")
        }
        // As without the proxy, a POST on a client's new connection reaches the server on a new one, and a client that has
        // used its connection sees that it ends.
        let post = "POST http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
        let other = try await lab.connect()
        try await other.send(post)
        #expect(try await other.receiveResponse().body == "ok")
        try await connection.send(post)
        #expect(try await connection.receiveAll() == "")
        #expect(served.withLockedValue { $0 } == 4)
        await other.close()
        await connection.close()
        await server.stop()
        await lab.stop()
    }

    @Test("the proxy replaces a kept connection that died for a half-closed client too")
    func staleConnectionOfAHalfClosedClient() async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start(allowsHalfClosure: true) { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            // The server ends after the client's end, without an answer to the second request.
            try await connection.drain()
        }
        let request = "GET http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\n\r\n"
        let (one, other) = (try await lab.connect(), try await lab.connect())
        try await one.send(request)
        #expect(try await one.receiveResponse().body == "ok")
        try await other.send(request)
        try await other.finishSending()
        #expect(try await other.receiveAll().hasSuffix("\r\n\r\nok"))
        #expect(server.connections.accepted == 2)
        await one.close()
        await other.close()
        await server.stop()
        await lab.stop()
    }

    @Test("a 408 that ends a kept connection's idle time is not the response to the next request")
    func idleTimeout() async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start { connection in
            var isIdle = false
            while let bytes = try await connection.receive(until: "\r\n\r\n") {
                guard !isIdle, !String(decoding: bytes, as: UTF8.self).contains("/late") else {
                    return try await connection.send("HTTP/1.1 408 Late\r\nContent-Length: 4\r\n\r\nlate")
                }
                isIdle = true
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let connection = try await lab.connect()
        // A POST is not repeated, and a 408 on a new connection is the response to its request.
        for (request, body, connections) in [
            ("GET /", "ok", 1), ("GET /", "ok", 2), ("POST /", "late", 2), ("GET /late", "late", 3),
        ] {
            let line = request.replacing(" ", with: " http://a.test:\(server.port)")
            try await connection.send("\(line) HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            #expect(try await connection.receiveResponse().body == body, "\(request)")
            #expect(server.connections.accepted == connections, "\(request)")
        }
        await connection.close()
        await server.stop()
        await lab.stop()
    }

    @Test(
        "the proxy rejects or repairs responses that break the rules",
        arguments: [
            (
                "both lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "502"
            ),
            ("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", "502"),
            (
                "one length said twice", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nok",
                "200 OK\r\nContent-Length: 2\r\n\r\n"
            ),
            ("no length", "HTTP/1.1 200 OK\r\nContent-Length: 2,\r\nContent-Length: ,\r\n\r\nok", "502"),
            (
                "blanks before a colon", "HTTP/1.1 200 OK\r\nX \t: a\r\nContent-Length : 2\r\n\r\nok",
                "200 OK\r\nX: a\r\nContent-Length: 2\r\n\r\n"
            ),
            ("a field without a name", "HTTP/1.1 200 OK\r\n : a\r\nContent-Length: 2\r\n\r\nok", "502"),
            ("a folded field", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok", "200"),
            ("no status", "HTTP/1.1 twohundred\r\n\r\n", "502"),
            ("no HTTP", "220 mail.example ESMTP\r\n\r\n", "502"),
            ("nothing", "", "502"),
            ("malformed chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "502"),
            ("half a head", "HTTP/1.1 200 OK\r\nContent-Le", "502"),
            ("lines that end in LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "200"),
            ("a body that ends with the connection", "HTTP/1.0 200 OK\r\n\r\nall of it", "200"),
            ("an interim response", "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "103"),
            ("an unrequested protocol", "HTTP/1.1 101 No\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "502"),
        ]
    )
    func badServers(what: String, answer: String, status: String) async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send(answer)
        }
        let connection = try await lab.connect()
        try await connection.send("GET http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try await connection.receiveHead().hasPrefix("HTTP/1.1 \(status)"), "\(what)")
        await connection.close()
        await server.stop()
        await lab.stop()
    }

    @Test("a server of another protocol that waits is a 502 at once, and a 502 says how the response ended")
    func brokenResponses() async throws {
        let lab = try await ProxyLab()
        for (answer, reason) in [
            ("220 mail.example ESMTP\r\n", "is not HTTP"), ("HTTP/1.1 200 OK\r\n", "before the response was complete"),
            ("220 mail.example ESMTP\r\n : a\r\n\r\n", "does not begin with a status line"), ("", "without a response"),
        ] {
            let server = try await RawServer.start { connection in
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send(answer)
                if answer.hasPrefix("220") { try await connection.hold() }
            }
            let connection = try await lab.connect()
            try await connection.send("GET http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let (head, body) = try await connection.receiveResponse()
            #expect(head.hasPrefix("HTTP/1.1 502 ") && body.contains(reason), "\(head)\(body)")
            await connection.close()
            await server.stop()
        }
        await lab.stop()
    }

    @Test("a response with too many fields or too large a head is called that, and not another protocol")
    func largeResponses() async throws {
        let lab = try await ProxyLab()
        let many = String(repeating: "X: a\r\n", count: 1_025)
        let large = "X: \(String(repeating: "a", count: 256 * 1024))\r\n"
        for (fields, reason) in [(many, "more than 1024 header fields"), (large, "larger than 262144 bytes")] {
            let server = try await RawServer.start { connection in
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send("HTTP/1.1 200 OK\r\n\(fields)\r\n")
            }
            let connection = try await lab.connect()
            try await connection.send("GET http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let (head, body) = try await connection.receiveResponse()
            #expect(head.hasPrefix("HTTP/1.1 502 ") && body.contains(reason), "\(head)\(body)")
            #expect(!body.contains("not HTTP"), "\(body)")
            await connection.close()
            await server.stop()
        }
        await lab.stop()
    }

    @Test("a truncated body reaches the client as an error")
    func truncated() async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        }
        let user = try lab.user()
        let response = try await user.get("http://a.test:\(server.port)/")
        await #expect(throws: BeelineError.self) { _ = try await response.collect(upTo: 100) }
        await user.shutDown()
        await server.stop()
        await lab.stop()
    }

    @Test(
        "a WebSocket over plain http is upgraded at both sides, and its bytes pass unchanged",
        arguments: ["http", "ws"]
    )
    func upgrade(scheme: String) async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start { connection in
            let head = String(decoding: try await connection.receive(until: "\r\n\r\n") ?? [], as: UTF8.self)
            let agrees = head.hasPrefix("GET / ") && head.contains("\r\nConnection: Upgrade\r\nUpgrade: echo\r\n")
            try await connection.send(
                "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: \(agrees ? "echo" : "no")\r\n\r\nhi "
            )
            while let bytes = try await connection.receive() { try await connection.send(bytes) }
        }
        let connection = try await lab.connect()
        try await connection.send(
            "GET \(scheme)://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
        )
        #expect(try await connection.receiveHead().contains("Upgrade: echo\r\n"))
        try await connection.send("there")
        #expect(try await connection.receive(count: 8) == Array("hi there".utf8))
        await connection.close()
        await server.stop()
        await lab.stop()
    }

    @Test("a client that disconnects ends its request at the origin")
    func cancelled() async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.hold()
        }
        let connection = try await lab.connect()
        try await connection.send("GET http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\n\r\n")
        try await server.connections { $0.open == 1 }
        await connection.close()
        try await server.connections { $0.open == 0 }
        await server.stop()
        await lab.stop()
    }

    @Test("a half-closed client half-closes the origin's connection, and still receives the response")
    func halfClosed() async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start(allowsHalfClosure: true) { connection in
            var asked = [UInt8]()
            while let bytes = try await connection.receive() { asked += bytes }
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(asked.count)\r\n\r\n")
            try await connection.send(asked)
            await connection.close()
        }
        for (request, body) in [
            ("GET http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\n\r\n", ""),
            ("POST http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n", "body"),
        ] {
            let connection = try await lab.connect()
            try await connection.send(request + body)
            try await connection.finishSending()
            let answer = try await connection.receiveAll()
            #expect(answer.hasPrefix("HTTP/1.1 200 OK") && answer.hasSuffix("\r\n\r\n" + body), "\(answer)")
            await connection.close()
        }
        await server.stop()
        await lab.stop()
    }

    @Test("the proxy closes a half-closed client after its time limit")
    func halfClosedForEver() async throws {
        let lab = try await ProxyLab(configure: { $0.limits.halfClosed = .milliseconds(50) })
        let server = try await RawServer.start(allowsHalfClosure: true) { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.hold()
        }
        let connection = try await lab.connect()
        try await connection.send("GET http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\n\r\n")
        try await connection.finishSending()
        #expect(try await connection.receiveAll().hasPrefix("HTTP/1.1 504 "))
        await connection.close()
        await server.stop()
        await lab.stop()
    }

    @Test("OPTIONS and TRACE are forwarded while Max-Forwards lasts, and the last recipient answers")
    func maxForwards() async throws {
        let lab = try await ProxyLab()
        let connection = try await lab.connect()
        let url = "http://a.test:\(lab.plain.port)"
        func ask(_ line: String, _ fields: String) async throws -> (head: String, body: String) {
            try await connection.send("\(line) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
            return try await connection.receiveResponse()
        }
        let secrets = "Cookie: a=b\r\nauthorization: Basic x\r\nX-Mine: c\r\n"
        let trace = try await ask("TRACE \(url)/a?b", secrets + "Max-Forwards: 0\r\n")
        #expect(trace.head.contains("Content-Type: message/http\r\n"))
        let seen = "TRACE \(url)/a?b HTTP/1.1\r\nHost: a.test:\(lab.plain.port)\r\nX-Mine: c\r\nMax-Forwards: 0\r\n\r\n"
        #expect(trace.body == seen)
        #expect(try await ask("OPTIONS \(url)", "Max-Forwards: 0\r\n").head.hasPrefix("HTTP/1.1 200 "))
        #expect(lab.plain.requests.isEmpty)
        for (line, field, passed) in [
            ("OPTIONS \(url)/echo", "max-forwards: 10", "Max-Forwards: 9"),
            ("TRACE \(url)/echo", "Max-Forwards: 1", "Max-Forwards: 0"),
            ("GET \(url)/echo", "Max-Forwards: 0", "Max-Forwards: 0"),
        ] {
            _ = try await ask(line, field + "\r\n")
            #expect(lab.plain.requests.last?.rawHead.contains("\r\n\(passed)\r\n") == true, "\(line), \(field)")
        }
        for fields in ["Max-Forwards: -1\r\n", "Max-Forwards: 1\r\nMax-Forwards: 2\r\n"] {
            let connection = try await lab.connect()
            try await connection.send("TRACE \(url)/ HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
            #expect(try await connection.receiveAll().hasPrefix("HTTP/1.1 400 "))
            await connection.close()
        }
        await connection.close()
        await lab.stop()
    }

    @Test("the proxy removes every field that Connection lists, and refuses a list that is too long")
    func manyListed() async throws {
        let lab = try await ProxyLab()
        let connection = try await lab.connect()
        let line = "GET http://a.test:\(lab.plain.port)/echo HTTP/1.1\r\nHost: a\r\n"
        let names = (0..<100).map { "X-\($0)" }
        try await connection.send("\(line)Connection: \(names.joined(separator: ","))\r\nX-99: hop\r\n\r\n")
        _ = try await connection.receiveResponse()
        #expect(lab.plain.requests.first?.rawHead.contains("X-99") == false)
        let tooMany = (0..<300).map { "X-\($0)" }.joined(separator: ",")
        try await connection.send("\(line)Connection: \(tooMany)\r\n\r\n")
        #expect(try await connection.receiveResponse().head.hasPrefix("HTTP/1.1 400 "))
        await connection.close()
        await lab.stop()
    }

    @Test("an HTTP/1.0 client receives a response that it can read")
    func old() async throws {
        let lab = try await ProxyLab()
        let connection = try await lab.connect()
        try await connection.send("GET http://a.test:\(lab.plain.port)/bytes/3 HTTP/1.0\r\n\r\n")
        #expect(try await connection.receiveAll().contains("Connection: close\r\n"))
        #expect(lab.plain.requests.first?.version == "HTTP/1.0")
        await connection.close()
        // A server that sends chunks in spite of the version.
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nall\r\n6\r\n of it\r\n0\r\nX: y\r\n\r\n"
            )
            try await connection.hold()
        }
        let other = try await lab.connect()
        let line = "GET http://a.test:\(server.port)/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
        try await other.send(line)
        #expect(try await other.receiveAll() == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it")
        await other.close()
        await server.stop()
        await lab.stop()
    }
}
