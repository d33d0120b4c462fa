// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import HTTPTypes
import NIOCore
import Names
import Testing

@Suite("HTTP/2 (RFC 9113)", .timeLimit(.minutes(1)))
struct HTTP2Tests {
    private func lab(handler: @escaping LoopbackOrigin.Handler) async throws -> Lab {
        try await Lab(addresses: ["127.0.0.1"], protocols: ["h2", "http/1.1"], handler: handler)
    }

    @Test("ALPN selects HTTP/2, and many exchanges share one connection")
    func manyOnOne() async throws {
        let lab = try await lab { .text("\($0.version) \($0.target) \($0.authority ?? "")") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<100 {
                group.addTask {
                    let response = try await lab.get("a.test", "/\(index)")
                    #expect(response.connection.applicationProtocol == "h2")
                    #expect(try await response.text() == "HTTP/2 /\(index) a.test:\(lab.origin.port)")
                }
            }
            try await group.waitForAll()
        }
        #expect(lab.origin.connections.accepted == 1, "later callers waited for the first connection")
        await lab.stop()
    }

    @Test("an origin with HTTP/1.1 only gets one connection for each concurrent exchange")
    func fallsBack() async throws {
        let gate = Gate()
        let lab = try await Lab(addresses: ["127.0.0.1"]) { _ in
            try await gate.wait()
            return .text("ok")
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    let text = try await lab.get().text()
                    #expect(text == "ok")
                }
            }
            try await gate.arrivals(atLeast: 5)
            gate.open()
            try await group.waitForAll()
        }
        #expect(lab.origin.connections.accepted == 5)
        await lab.stop()
    }

    @Test("two names on one address use separate connections")
    func notCoalesced() async throws {
        let lab = try await lab { .text($0.connection.serverName ?? "") }
        #expect(try await lab.get("a.test").text() == "a.test")
        #expect(try await lab.get("b.test").text() == "b.test")
        #expect(lab.origin.connections.accepted == 2)
        await lab.stop()
    }

    @Test("bodies of every source and size arrive complete in both directions")
    func bodies() async throws {
        let lab = try await lab { request in
            Reply(fields: [.xSize: "\(request.bodySize)"], body: [.zeros(request.bodySize)])
        }
        let megabyte = ByteBuffer(repeating: 7, count: 1 << 20)
        let file = try TemporaryFile(bytes: Array(repeating: 9, count: 300_001))
        let cases: [(RequestBody, Int)] = [
            (.none, 0), (.bytes("x".utf8), 1), (.bytes(megabyte), 1 << 20), (.file(file.path), 300_001),
            (.stream(length: 5 << 20) { PieceSequence(megabyte, count: 5) }, 5 << 20),
            (.stream(length: nil) { PieceSequence(megabyte, count: 20) }, 20 << 20),
        ]
        for (body, size) in cases {
            let response = try await lab.get(method: .post, body: body)
            #expect(response.head.headerFields[.xSize] == "\(size)")
            #expect(try await response.body.collect(upTo: 32 << 20).readableBytes == size)
        }
        #expect(lab.origin.connections.accepted == 1)
        await lab.stop()
    }

    @Test(
        "a body of known length ends at its last byte, even if its source never ends",
        arguments: ["h2", "http/1.1"]
    )
    func sourceWithoutEnd(_ applicationProtocol: String) async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"], protocols: [applicationProtocol]) { .text("\($0.bodySize)") }
        for text in ["piece", ""] {
            let (pieces, source) = AsyncStream.makeStream(of: ByteBuffer.self)
            source.yield(ByteBuffer(string: text))
            let body = RequestBody.once(length: Int64(text.utf8.count), pieces)
            #expect(try await lab.get(method: .put, body: body).text() == "\(text.utf8.count)")
            source.finish()
        }
        await lab.stop()
    }

    @Test("informational responses are skipped, and trailers follow the body")
    func hintsAndTrailers() async throws {
        let lab = try await lab(handler: Routes.standard)
        let response = try await lab.get("a.test", "/trailers")
        #expect(try await response.text() == "body\n")
        #expect(response.trailers?[.digest] == "done")
        #expect(try await lab.get("a.test", "/hints").text() == "hinted\n")
        await lab.stop()
    }

    @Test("a cancelled exchange ends its own stream only")
    func cancellation() async throws {
        let gate = Gate()
        let lab = try await lab { request in
            if request.path == "/slow" { try await gate.wait() }
            return .text(request.path)
        }
        let slow = Task { try await lab.get("a.test", "/slow").text() }
        try await gate.arrivals(atLeast: 1)
        slow.cancel()
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await slow.value }
        #expect(error?.code == .cancelled)
        #expect(try await lab.get("a.test", "/next").text() == "/next")
        #expect(lab.origin.connections.accepted == 1)
        gate.open()
        await lab.stop()
    }

    @Test("a reset stream is an error, and its connection stays usable")
    func reset() async throws {
        let lab = try await lab { request in
            request.path == "/cut" ? Reply(fields: [.contentLength: "10"], body: ["half"], ending: .reset) : .text("ok")
        }
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await lab.get("a.test", "/cut").text() }
        #expect(error?.code == .streamReset)
        #expect(try await lab.get().text() == "ok")
        #expect(lab.origin.connections.accepted == 1)
        await lab.stop()
    }

    @Test("a body that is not read stops at its window, and other streams continue")
    func backPressure() async throws {
        let lab = try await lab { request in
            request.path == "/large" ? Reply(body: [.zeros(64 << 20)]) : .text("small")
        }
        let large = try await lab.get("a.test", "/large")
        for _ in 0..<20 { #expect(try await lab.get().text() == "small") }
        var size = 0
        for try await piece in large.body { size += piece.readableBytes }
        #expect(size == 64 << 20)
        await lab.stop()
    }

    @Test("retired connections finish their exchanges, and new requests open new connections")
    func retired() async throws {
        let gate = Gate()
        let lab = try await lab { request in
            if request.path == "/slow" { try await gate.wait() }
            return .text(request.path)
        }
        async let slow = lab.get("a.test", "/slow").text()
        try await gate.arrivals(atLeast: 1)
        lab.engine.retireConnections()
        #expect(try await lab.get("a.test", "/new").text() == "/new")
        #expect(lab.origin.connections.accepted == 2)
        gate.open()
        let text = try await slow
        #expect(text == "/slow")
        try await lab.origin.connections { $0.open == 1 }
        await lab.stop()
    }

    @Test("a graceful shutdown waits for every exchange of a connection")
    func graceForAll() async throws {
        let (first, second) = (Gate(), Gate())
        let lab = try await lab { request in
            if request.path == "/first" { try await first.wait() }
            if request.path == "/second" { try await second.wait() }
            return .text(request.path)
        }
        let firstText = Task { try await lab.get("a.test", "/first").text() }
        let secondText = Task { try await lab.get("a.test", "/second").text() }
        try await first.arrivals(atLeast: 1)
        try await second.arrivals(atLeast: 1)
        async let end: Void = lab.engine.shutDown(after: .seconds(30))
        try await lab.untilShutDown()
        first.open()
        #expect(try await firstText.value == "/first")
        second.open()
        #expect(try await secondText.value == "/second")
        await end
        #expect(lab.engine.openConnections == 0)
        await lab.origin.stop()
    }
}

extension HTTPField.Name {
    fileprivate static let xSize = HTTPField.Name(parsed: "x-size") ?? .contentLength
    fileprivate static let digest = HTTPField.Name(parsed: "digest") ?? .contentLength
}
