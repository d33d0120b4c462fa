// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import NIOConcurrencyHelpers
import NIOCore
import Testing

@Suite("Response heads as the server sent them", .timeLimit(.minutes(1)))
struct ReceivedHeadTests {
    /// The heads that a call received.
    private final class Log: Sendable {
        private let heads = NIOLockedValueBox<[ReceivedHead]>([])
        var options: RequestOptions {
            var options = RequestOptions()
            options.onHead = { [heads] head in heads.withLockedValue { $0.append(head) } }
            return options
        }
        var texts: [String] { heads.withLockedValue { $0.map { String(buffer: $0.raw) } } }
        var codes: [Int] { heads.withLockedValue { $0.map(\.response.status.code) } }
    }

    private static let get = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil)
    private static let early = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
    private static let moved = "HTTP/1.1 302 Over there\nLOCATION: /next\nContent-Length: 0\n\n"
    private static let final =
        "HTTP/1.1 200 fine\r\nx-Folded: a\r\n\tb\r\nServer:none\r\nTransfer-Encoding: chunked\r\n\r\n"

    @Test("a call receives the bytes of each head in order: informational, redirect, final")
    func raw() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send(Self.early + Self.moved)
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send(Self.final + "2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n")
        }
        let client = try plainClient()
        let log = Log()
        let url = "http://127.0.0.1:\(server.port)/"
        let response = try await client.send(Self.get, to: HTTPURL(url), options: log.options)
        #expect(try await response.text() == "ok")
        #expect(log.texts == [Self.early, Self.moved, Self.final])
        #expect(response.fields[.init("X-Folded") ?? .accept]?.split(whereSeparator: \.isWhitespace) == ["a", "b"])
        #expect(response.trailers?[.init("X-Sum") ?? .accept] == "1")
        await client.shutDown()
        await server.stop()
    }

    @Test("a call that fails later has received the heads before its failure")
    func beforeFailure() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send(Self.early + "HTTP/1.1 302 Gone\r\nLocation: http://127.0.0.1:1/\r\n")
            try await connection.send("Content-Length: 0\r\n\r\n")
        }
        let client = try plainClient()
        let log = Log()
        await #expect(throws: BeelineError.self) {
            let url = try HTTPURL("http://127.0.0.1:\(server.port)/")
            _ = try await client.send(Self.get, to: url, options: log.options)
        }
        #expect(log.codes == [103, 302])
        await client.shutDown()
        await server.stop()
    }

    @Test("heads of HTTP/2 have the form of HTTP/1")
    func http2() async throws {
        let lab = try await ClientLab(protocols: ["h2"]) { _ in .text("hi") }
        let log = Log()
        let url = try HTTPURL(lab.url("a.test"))
        let response = try await lab.client.send(Self.get, to: url, options: log.options)
        #expect(try await response.text() == "hi" && log.codes == [200])
        #expect(log.texts[0].hasPrefix("HTTP/2 200 \r\n") && log.texts[0].hasSuffix("\r\n\r\n"))
        #expect(log.texts[0].contains("content-length: 2\r\n"))
        await lab.stop()
    }

    @Test("a WebSocket's handshake reports its heads, also those of a refusal")
    func webSocket() async throws {
        let refused = "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send(Self.early + refused)
        }
        let client = try plainClient()
        let log = Log()
        let url = try HTTPURL("ws://127.0.0.1:\(server.port)/")
        await #expect(throws: BeelineError.self) { _ = try await client.webSocket(url, options: log.options) }
        #expect(log.texts == [Self.early, refused])
        await client.shutDown()
        await server.stop()
    }
}
