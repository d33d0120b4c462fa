// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

@testable import BeelineProxy
@testable import HTTPWire

@Suite("Trailers, framing and HTTP/2 upgrades stay on their own connection", .timeLimit(.minutes(1)))
struct TrailerTests {
    private static let forbidden = [
        "Content-Length: 5", "transfer-encoding: chunked", "HOST: b.test", "Trailer: X", "Authorization: Basic eA==",
        "Cookie: a=b", "Set-Cookie: a=b", "Content-Encoding: gzip", "If-Match: x", "Proxy-Authorization: x",
        "Connection: close", "X-Listed: hop",
    ]

    @Test("forbidden trailer fields are removed however the bytes are split, and the others stay unchanged")
    func section() throws {
        let chunks = "5;a=b\r\nhello\r\n0\r\n"
        let body = chunks + (["X-Sum: 1"] + Self.forbidden + ["x-end:2"]).joined(separator: "\r\n") + "\r\n\r\nGET"
        for size in [1, 2, 3, 7, 64, body.utf8.count] {
            var tracker = HTTP1BodyReader(.chunked)
            var passed = ByteBuffer()
            var input = ByteBuffer()
            var rest = Array(body.utf8)[...]
            while !rest.isEmpty {
                input.writeBytes(rest.prefix(size))
                rest = rest.dropFirst(size)
                while let piece = try tracker.takeVerbatim(from: &input, without: ["x-listed"]) {
                    passed.writeImmutableBuffer(piece)
                }
            }
            #expect(String(buffer: passed) == chunks + "X-Sum: 1\r\nx-end:2\r\n\r\n")
            #expect(tracker.isEnded && String(buffer: input) == "GET")
        }
        var plain = HTTP1BodyReader(.chunked)
        var input = ByteBuffer(string: "0\r\n\r\n")
        var passed = ""
        while let piece = try plain.takeVerbatim(from: &input, without: []) { passed += String(buffer: piece) }
        #expect(passed == "0\r\n\r\n" && plain.isEnded)
    }

    @Test("forbidden trailers pass neither the proxy nor the gateway, in either direction", arguments: [false, true])
    func bothDirections(isGateway: Bool) async throws {
        let lab = try await ProxyLab(configure: { $0.gatewayHosts = ["a.test"] })
        let trailers = (["X-Sum: 1"] + Self.forbidden.dropLast()).joined(separator: "\r\n")
        let received = NIOLockedValueBox("")
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            var body = ""
            while !body.hasSuffix("\r\n\r\n") {
                guard let line = try await connection.receive(until: "\r\n") else { return }
                body += String(decoding: line, as: UTF8.self)
            }
            received.withLockedValue { [body] in $0 = body }
            try await connection.send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nok\r\n0\r\n\(trailers)\r\n\r\n"
            )
        }
        let url = try HTTPURL("http://a.test:\(server.port)/")
        let gateway = try #require(lab.proxy.gateway)
        let target = isGateway ? try gateway.localURL(for: url).target : url.description
        let connection = try await lab.connect()
        try await connection.send(
            "POST \(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        try await connection.send("5\r\nhello\r\n0\r\n\(trailers)\r\n\r\n")
        let answer = try await connection.receiveAll()
        // The gateway decodes bodies and encodes them again without trailers.
        let end = isGateway ? "0\r\n\r\n" : "0\r\nX-Sum: 1\r\n\r\n"
        #expect(answer.hasSuffix("2\r\nok\r\n" + end), "\(answer)")
        #expect(received.withLockedValue { $0 } == "5\r\nhello\r\n" + end)
        await connection.close()
        await server.stop()
        await lab.stop()
    }

    @Test(
        "an upgrade to HTTP/2 is not forwarded, and upgrades to other protocols are",
        arguments: [
            ("h2c", nil), ("H2C", nil), ("h2c-14", nil), ("HTTP/2.0", nil), ("websocket, h2c", "websocket"),
            ("a/1\r\nUpgrade: h2c, b", "a/1, b"), (",", nil),
        ] as [(String, String?)]
    )
    func upgrade(asked: String, passed: String?) async throws {
        let lab = try await ProxyLab(configure: { $0.gatewayHosts = ["a.test"] })
        let url = try HTTPURL("http://a.test:\(lab.plain.port)/echo")
        let gateway = try #require(lab.proxy.gateway)
        for target in [url.description, try gateway.localURL(for: url).target] {
            let connection = try await lab.connect()
            try await connection.send(
                "GET \(target) HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: \(asked)\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"
            )
            #expect(try await connection.receiveHead().hasPrefix("HTTP/1.1 200 "))
            let head = try #require(lab.plain.requests.last?.rawHead.lowercased())
            let line = passed.map { "\r\nconnection: upgrade\r\nupgrade: \($0)\r\n" }
            #expect(line.map(head.contains) ?? !head.contains("upgrade"), "\(head)")
            #expect(!head.contains("http2-settings"))
            await connection.close()
        }
        await lab.stop()
    }

    @Test("a server that switches to a protocol that was not requested is a 502", arguments: ["h2c", "other", ""])
    func foreignProtocol(_ answer: String) async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            let field = answer.isEmpty ? "" : "Upgrade: \(answer)\r\n"
            try await connection.send("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\n\(field)\r\n")
        }
        let connection = try await lab.connect()
        try await connection.send(
            "GET http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n"
        )
        #expect(try await connection.receiveHead().hasPrefix("HTTP/1.1 502 "))
        await connection.close()
        await server.stop()
        await lab.stop()
    }

    @Test("responses that cannot have a body are forwarded without length or coding", arguments: [false, true])
    func withoutFraming(isGateway: Bool) async throws {
        let lab = try await ProxyLab(configure: { $0.gatewayHosts = ["a.test"] })
        let server = try await RawServer.start { connection in
            while try await connection.receive(until: "\r\n\r\n") != nil {
                try await connection.send(
                    "HTTP/1.1 103 Early\r\nX: 1\r\nContent-Length: 7\r\n\r\nHTTP/1.1 204 None\r\nContent-Length: 5\r\n\r\n"
                )
            }
        }
        let url = try HTTPURL("http://a.test:\(server.port)/")
        let gateway = try #require(lab.proxy.gateway)
        let target = isGateway ? try gateway.localURL(for: url).target : url.description
        let connection = try await lab.connect()
        for _ in 0..<2 {
            try await connection.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
            if !isGateway { #expect(try await connection.receiveHead() == "HTTP/1.1 103 Early\r\nX: 1\r\n\r\n") }
            let head = try await connection.receiveHead()
            #expect(head.hasPrefix("HTTP/1.1 204 ") && !head.contains("Content-Length"), "\(head)")
        }
        await connection.close()
        await server.stop()
        await lab.stop()
    }

    @Test("endless interim responses of a server are a 502")
    func interims() async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.sendEndlessly("HTTP/1.1 102 Processing\r\n\r\n")
        }
        let connection = try await lab.connect()
        // The proxy forwards no interim response to an HTTP/1.0 client.
        try await connection.send("GET http://a.test:\(server.port)/ HTTP/1.0\r\n\r\n")
        #expect(try await connection.receiveHead().hasPrefix("HTTP/1.1 502 "))
        await connection.close()
        await server.stop()
        await lab.stop()
    }
}
