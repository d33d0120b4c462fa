// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineTesting
import NIOCore
import Testing

@Suite("Bodies of requests that a server answers without reading them", .timeLimit(.minutes(1)))
struct ForwardUploadTests {
    /// A server that answers POST without reading the body, and takes the body for the next request.
    private static func unreading(_ answer: String = "403 No") async throws -> RawServer {
        try await RawServer.start { connection in
            while let bytes = try await connection.receive(until: "\r\n\r\n") {
                let head = String(decoding: bytes, as: UTF8.self)
                let line = head.prefix { $0 != "\r\n" }
                let status = head.hasPrefix("POST ") ? answer : "200 OK"
                let field = head.contains("NTLM") ? "WWW-Authenticate: NTLM\r\n" : ""
                try await connection.send(
                    "HTTP/1.1 \(status)\r\n\(field)Content-Length: \(line.utf8.count)\r\n\r\n\(line)"
                )
            }
        }
    }

    @Test(
        "the unread body of a refused or redirected request is not taken for a request of the next client",
        arguments: ["403 No", "302 Found"]
    )
    func unreadBody(_ answer: String) async throws {
        let lab = try await ProxyLab()
        let server = try await Self.unreading(answer)
        let url = "http://a.test:\(server.port)"
        let body = "GET /smuggled HTTP/1.1\r\nX: "
        let one = try await lab.connect()
        try await one.send(
            "POST \(url)/ HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        )
        #expect(try await one.receiveResponse().head.hasPrefix("HTTP/1.1 \(answer)"))
        let other = try await lab.connect()
        for _ in 0..<2 {
            try await other.send("GET \(url)/mine HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await other.receiveResponse().body == "GET /mine HTTP/1.1")
        }
        // Requests without a body share the connection, even if the server refuses them.
        #expect(server.connections.accepted == 2)
        try await other.send("POST \(url)/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        _ = try await other.receiveResponse()
        try await one.send("GET \(url)/ HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = try await one.receiveResponse()
        #expect(server.connections.accepted == 2)
        // A login belongs to its connection, which serves no other client.
        for _ in 0..<2 {
            try await other.send(
                "POST \(url)/ HTTP/1.1\r\nHost: a\r\nAuthorization: NTLM x\r\nContent-Length: 1\r\n\r\n\n"
            )
            _ = try await other.receiveResponse()
        }
        #expect(server.connections.accepted == 2)
        await one.close()
        await other.close()
        await server.stop()
        await lab.stop()
    }

    @Test("an origin that answers 200 before it has read the body gets the whole body, and its connection is kept")
    func earlyResponse() async throws {
        let lab = try await ProxyLab()
        let length = 4 << 20
        let hasRead = Gate()
        let server = try await RawServer.start { connection in
            while let head = try await connection.receive(until: "\r\n\r\n") {
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                guard head.starts(with: "POST".utf8) else { continue }
                _ = try await connection.receive(count: length)
                hasRead.open()
            }
        }
        let post = "POST http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n"
        let connection = try await lab.connect()
        try await connection.send(post + "\r\n")
        #expect(try await connection.receiveResponse().body == "ok")
        try await connection.send([UInt8](repeating: 7, count: length))
        try await hasRead.wait()
        try await connection.send("GET http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try await connection.receiveResponse().body == "ok")
        #expect(server.connections.accepted == 1)
        // A client that stops within the body, and one that need not send it after a response without 100 Continue.
        for (field, stops) in [("", true), ("Expect: 100-continue\r\n", false)] {
            let other = try await lab.connect()
            try await other.send(post + field + "\r\n")
            #expect(try await other.receiveResponse().body == "ok")
            if stops { try await other.finishSending() }
            #expect(try await other.receiveAll() == "")
            await other.close()
            // The connection of the GET is kept.
            try await server.connections { $0.open == 1 }
        }
        await connection.close()
        await server.stop()
        await lab.stop()
    }
}
