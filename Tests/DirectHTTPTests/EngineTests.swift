// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import HTTPTypes
import NIOCore
import Names
import Testing

/// An engine and a server with certificates for `a.test` and `b.test` on two addresses.
struct Lab {
    let authority: TestAuthority
    let origin: LoopbackOrigin
    let engine: Engine

    init(
        addresses: [String] = ["127.0.0.1", "127.0.0.2"],
        configuration: EngineConfiguration = EngineConfiguration(),
        protocols: [String] = ["http/1.1"],
        handler: @escaping LoopbackOrigin.Handler
    ) async throws {
        authority = try TestAuthority()
        var tls = ServerTLS(try authority.certificate(for: "a.test"), try authority.certificate(for: "b.test"))
        tls.applicationProtocols = protocols
        origin = try await LoopbackOrigin.start(
            addresses: addresses,
            tls: tls,
            handler: handler
        )
        engine = Engine(configuration: configuration)
    }

    var tls: TLSSettings {
        var settings = TLSSettings()
        settings.trustsSystemRoots = false
        settings.rootPEMs = [authority.rootPEM]
        return settings
    }

    func get(
        _ name: String = "a.test",
        _ path: String = "/",
        method: HTTPRequest.Method = .get,
        fields: HTTPFields = [:],
        body: RequestBody = .none,
        at endpoints: [Endpoint]? = nil,
        limits: TimeLimits = TimeLimits()
    ) async throws -> ExchangeResponse {
        let url = try HTTPURL("https://\(name):\(origin.port)\(path)")
        return try await engine.exchange(
            PreparedRequest(method, url, fields: fields, body: body),
            from: EndpointList(endpoints ?? origin.endpoints),
            tls: tls,
            limits: limits
        )
    }

    func stop() async {
        await engine.shutDown()
        await origin.stop()
    }
}

extension ExchangeResponse {
    func text() async throws -> String { String(buffer: try await body.collect(upTo: 1 << 20)) }
}

@Suite("The engine over real sockets and TLS", .timeLimit(.minutes(1)))
struct EngineTests {
    @Test("two names on one address each get their own certificate, SNI, Host and connection")
    func twoNamesOneAddress() async throws {
        let lab = try await Lab { .text("\($0.connection.serverName ?? "") \($0.authority ?? "")") }
        for name in ["a.test", "b.test", "a.test"] {
            let response = try await lab.get(name)
            #expect(try await response.text() == "\(name) \(name):\(lab.origin.port)")
            #expect(response.connection.endpoint == lab.origin.endpoint)
        }
        #expect(lab.origin.connections.accepted == 2, "the second request to a.test uses its kept connection")
        await lab.stop()
    }

    @Test("a certificate for another name is rejected, and no request is sent")
    func wrongName() async throws {
        let lab = try await Lab { _ in .text("never") }
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await lab.get("c.test") }
        #expect(error?.code == .certificateRejected)
        #expect(error?.attempts.count == 2, "both addresses were tried")
        #expect(lab.origin.requests.isEmpty)
        await lab.stop()
    }

    @Test("an endpoint with a wrong certificate is skipped, and its attempt reports the reason")
    func wrongCertificateMovesOn() async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"]) { _ in .text("right") }
        let stranger = try await LoopbackOrigin.start(
            addresses: ["127.0.0.2"],
            tls: ServerTLS(try TestAuthority().certificate(for: "a.test"))
        ) { _ in .text("impostor") }
        let response = try await lab.get(at: [stranger.endpoint, lab.origin.endpoint])
        #expect(try await response.text() == "right")
        guard case .failed(.certificateRejected, _)? = response.connection.attempts.first?.outcome else {
            Issue.record("the impostor's certificate is not in \(response.connection.attempts)")
            return
        }
        #expect(stranger.requests.isEmpty)
        await stranger.stop()
        await lab.stop()
    }

    @Test("a refused connection starts the next attempt at once")
    func refusedEndpoint() async throws {
        var configuration = EngineConfiguration()
        configuration.dial.stagger = .seconds(3600)
        let lab = try await Lab(addresses: ["127.0.0.1"], configuration: configuration) { _ in .text("alive") }
        let refused = try RefusedEndpoint()
        let response = try await lab.get(at: [refused.endpoint, lab.origin.endpoint])
        #expect(response.connection.attempts.map(\.endpoint) == [refused.endpoint, lab.origin.endpoint])
        await lab.stop()
    }

    @Test("a silent endpoint delays the request by the stagger only")
    func silentEndpoint() async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"]) { _ in .text("alive") }
        let hole = try BlackHole()
        let response = try await lab.get(at: [hole.endpoint, lab.origin.endpoint])
        #expect(response.connection.attempts.map(\.outcome) == [.abandoned, .connected])
        #expect(response.connection.attempts.map(\.start).map { $0 >= .milliseconds(250) } == [false, true])
        hole.close()
        await lab.stop()
    }

    @Test("a very negative time limit ends a request at once, and is not taken for no limit")
    func veryNegativeLimits() async throws {
        let gate = Gate()
        let lab = try await Lab(addresses: ["127.0.0.1"]) { _ in
            try await gate.wait()
            return .text("late")
        }
        // More nanoseconds than an Int64 holds.
        let past = Duration.seconds(-10_000_000_000)
        var (whole, connect, idle) = (TimeLimits(), TimeLimits(), TimeLimits())
        whole.total = past
        connect.connect = past
        idle.idle = past
        let rows: [(TimeLimits, DirectHTTPError.Code)] = [
            (whole, .deadlineExceeded), (connect, .connectTimeout), (idle, .idleTimeout),
        ]
        for (limits, code) in rows {
            let error = await #expect(throws: DirectHTTPError.self) { _ = try await lab.get(limits: limits) }
            #expect(error?.code == code)
        }
        gate.open()
        await lab.stop()
        #expect(TimeAmount(limit: past) == .zero)
        #expect(TimeAmount(limit: .seconds(10_000_000_000)) == .nanoseconds(.max))
    }

    @Test("a connection on which Connection: close was sent is not used again, even if the server keeps it open")
    func closeOption() async throws {
        let count = Watermark()
        let server = try await RawServer.start { connection in
            count.rise()
            let number = count.height
            while try await connection.receive(until: "\r\n\r\n") != nil {
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\(number)")
            }
        }
        let engine = Engine()
        let origin = try HTTPURL("http://a.test:\(server.port)/").origin
        var options = WireOptions()
        var connections: [String] = []
        for option in ["keep-alive", "Close", nil, "TE, close", nil, nil] {
            options.connectionOption = option
            let request = try PreparedRequest(.get, origin, target: "/", options: options)
            let response = try await engine.exchange(request, from: EndpointList([server.endpoint]))
            connections.append(try await response.text())
        }
        #expect(connections == ["1", "1", "2", "2", "3", "3"])
        await engine.shutDown()
        await server.stop()
    }

    @Test(
        "TE is sent with its connection option, and codings in it only if the caller gets the coded body",
        arguments: [
            ("trailers", nil, false, "trailers; TE"), ("Trailers", "close", false, "Trailers; close, TE"),
            ("trailers", "te, close", false, "trailers; te, close"), ("gzip", nil, false, "none; none"),
            ("gzip", nil, true, "gzip; TE"),
        ] as [(String, String?, Bool, String)]
    )
    func transferCodings(value: String, option: String?, keepsCoding: Bool, sent: String) async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"]) { request in
            .text("\(request.fields[.te] ?? "none"); \(request.fields[.connection] ?? "none")")
        }
        var options = WireOptions()
        options.connectionOption = option
        options.keepsTransferCoding = keepsCoding
        let origin = try HTTPURL("https://a.test:\(lab.origin.port)/").origin
        let request = try PreparedRequest(.get, origin, target: "/", fields: [.te: value], options: options)
        let response = try await lab.engine.exchange(request, from: EndpointList(lab.origin.endpoints), tls: lab.tls)
        #expect(try await response.text() == sent)
        await lab.stop()
    }

    @Test("an HTTP/1.0 response reports its version, and its connection is kept only with keep-alive")
    func oldServer() async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"]) { request in
            let field = request.path == "/kept" ? "Connection: keep-alive\r\n" : ""
            let head = "HTTP/1.0 200 OK\r\n\(field)Content-Length: 1\r\n\r\n"
            return .raw(.text("\(head)\(request.connection.number)"), ending: field.isEmpty ? .hangUp : .keepAlive)
        }
        var connections: [String] = []
        for path in ["/kept", "/kept", "/closed", "/kept"] {
            let response = try await lab.get("a.test", path)
            #expect(response.applicationProtocol == "http/1.0")
            #expect(response.connection.applicationProtocol == "http/1.1")
            #expect(response.connection.localEndpoint?.address == response.connection.endpoint.address)
            connections.append(try await response.text())
        }
        #expect(connections == ["1", "1", "1", "2"])
        await lab.stop()
    }

    @Test("if every endpoint fails, the error lists each with its reason")
    func allFail() async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"]) { _ in .text("unused") }
        let refused = try RefusedEndpoint()
        let hole = try BlackHole()
        var limits = TimeLimits()
        limits.connect = .seconds(2)
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await lab.get(at: [refused.endpoint, hole.endpoint], limits: limits)
        }
        #expect(error?.code == .connectTimeout)
        #expect(error?.attempts.map(\.endpoint) == [refused.endpoint, hole.endpoint])
        #expect(error?.message.contains("refused") == true)
        hole.close()
        await lab.stop()
    }

    @Test("bodies of bytes, files and streams of known and unknown length arrive complete")
    func bodies() async throws {
        let lab = try await Lab { .text("\($0.bodySize) \($0.fields[.contentLength] ?? "chunked")") }
        let megabyte = ByteBuffer(repeating: 7, count: 1 << 20)
        let file = try TemporaryFile(bytes: Array(repeating: 9, count: 300_001))
        let cases: [(RequestBody, String)] = [
            (.none, "0 0"), (.bytes("x".utf8), "1 1"), (.bytes(megabyte), "1048576 1048576"),
            (.file(file.path), "300001 300001"),
            (.stream(length: 3 << 20) { PieceSequence(megabyte, count: 3) }, "3145728 3145728"),
            (.stream(length: nil) { PieceSequence(megabyte, count: 2) }, "2097152 chunked"),
            (.once(length: nil, PieceSequence(ByteBuffer(), count: 3)), "0 chunked"),
        ]
        for (body, expected) in cases {
            let response = try await lab.get(method: .post, body: body)
            #expect(try await response.text() == expected)
        }
        #expect(lab.origin.connections.accepted == 1, "every body left the connection in order")
        await lab.stop()
    }

    @Test("a body source that fails or has the wrong length is an error")
    func brokenBodies() async throws {
        let lab = try await Lab { .text("\($0.bodySize)") }
        let piece = ByteBuffer(repeating: 1, count: 100)
        let broken: [RequestBody] = [
            .stream(length: 1000) { PieceSequence(piece, count: 3) },
            .stream(length: 250) { PieceSequence(piece, count: 3) },
            .stream(length: nil) { PieceSequence(piece, count: 3, failing: true) },
        ]
        for body in broken {
            let error = await #expect(throws: DirectHTTPError.self) { _ = try await lab.get(method: .post, body: body) }
            #expect(error?.code == .bodySourceFailed)
        }
        let missing = #expect(throws: DirectHTTPError.self) {
            try PreparedRequest(.post, HTTPURL("https://a.test/"), body: .file("/nonexistent/file"))
        }
        #expect(missing?.code == .bodySourceFailed)
        #expect(lab.origin.requests.isEmpty, "no whole request reached the server")
        await lab.stop()
    }

    @Test("a response that arrives before the body is sent is returned, and the upload ends")
    func earlyAnswer() async throws {
        let authority = try TestAuthority()
        let origin = try await LoopbackOrigin.start(head: { _ in Reply.status(.contentTooLarge) }) { _ in
            .text("unused")
        }
        let engine = Engine()
        let endless = RequestBody.stream(length: nil) {
            PieceSequence(ByteBuffer(repeating: 1, count: 1000), count: .max)
        }
        let request = try PreparedRequest(.post, HTTPURL("http://a.test:\(origin.port)/"), body: endless)
        let response = try await engine.exchange(request, from: EndpointList(origin.endpoints))
        #expect(response.head.status == .contentTooLarge)
        _ = authority
        await engine.shutDown()
        await origin.stop()
    }

    @Test("a kept connection that the server closed is replaced without an error")
    func staleConnection() async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"]) { request in
            var reply = Reply.text("ok")
            // The server announces keep-alive, then closes the connection.
            reply.ending = request.path == "/close" ? .hangUp : .keepAlive
            return reply
        }
        for method in [HTTPRequest.Method.get, .put] {
            #expect(try await lab.get("a.test", "/close").text() == "ok")
            #expect(try await lab.get(method: method).text() == "ok")
            lab.engine.closeIdle()
        }
        await lab.stop()
    }

    @Test("a 408 that ends a kept connection's idle time is not the response of a request that can be repeated")
    func crossedIdleTimeout() async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"]) { request in
            guard request.path == "/\(request.connection.number)" else { return .text("ok") }
            var reply = Reply.status(.requestTimeout)
            reply.ending = .close
            return reply
        }
        func status(_ path: String, _ method: HTTPRequest.Method = .get) async throws -> HTTPResponse.Status {
            let response = try await lab.get("a.test", path, method: method)
            _ = try await response.text()
            return response.head.status
        }
        #expect(try await status("/") == .ok)
        #expect(try await status("/1") == .ok)
        #expect(lab.origin.connections.accepted == 2)
        #expect(try await status("/2", .post) == .requestTimeout, "it may not be repeated")
        #expect(try await status("/3") == .requestTimeout, "the connection was new")
        #expect(lab.origin.connections.accepted == 3)
        await lab.stop()
    }

    @Test("a request whose time is over is not sent on a kept connection")
    func lateOnKeptConnection() async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"]) { _ in .text("ok") }
        #expect(try await lab.get().text() == "ok")
        var limits = TimeLimits()
        limits.total = .zero
        let late = await #expect(throws: DirectHTTPError.self) { _ = try await lab.get(method: .post, limits: limits) }
        #expect(late?.code == .deadlineExceeded)
        #expect(try await lab.get().text() == "ok")
        #expect(lab.origin.connections.accepted == 1, "the connection was not used")
        #expect(lab.origin.requests.map(\.method) == [.get, .get])
        await lab.stop()
    }

    @Test("a request that is cancelled between lease and start returns its connection")
    func cancelledBeforeStart() async throws {
        var configuration = EngineConfiguration()
        configuration.connectionsPerOrigin = 1
        let lab = try await Lab(addresses: ["127.0.0.1"], configuration: configuration) { _ in .text("ok") }
        #expect(try await lab.get().text() == "ok")
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            // The pool lends the kept connection without waiting, to a cancelled task.
            return try await lab.get().text()
        }
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await task.value }
        #expect(error?.code == .cancelled)
        #expect(try await lab.get().text() == "ok")
        #expect(lab.origin.requests.count == 2)
        await lab.stop()
    }

    @Test("a response body that is not read stops at the socket, and memory stays bounded")
    func backPressure() async throws {
        let sent = Watermark()
        let server = try await LoopbackOrigin.start { _ in
            .takeover { connection in
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(64 << 20)\r\n\r\n")
                for _ in 0..<64 {
                    try await connection.send([UInt8](repeating: 7, count: 1 << 20))
                    sent.rise()
                }
            }
        }
        let engine = Engine()
        let request = try PreparedRequest(.get, HTTPURL("http://a.test:\(server.port)/"))
        let response = try await engine.exchange(request, from: EndpointList(server.endpoints))
        var iterator = response.body.makeAsyncIterator()
        var taken = try await iterator.next()?.readableBytes ?? 0
        // The buffers of the client and the kernel are full and the server waits: they hold less than 64 MiB.
        try await sent.settle()
        #expect(sent.height < 32)
        while let piece = try await iterator.next() { taken += piece.readableBytes }
        #expect(taken == 64 << 20)
        await engine.shutDown()
        await server.stop()
    }

    @Test("after a server refuses a long body, its connection is not reused")
    func refusedBody() async throws {
        let server = try await RawServer.start { connection in
            guard try await connection.receive(until: "\r\n\r\n") != nil else { return }
            try await connection.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
            try await connection.hold()
        }
        let engine = Engine()
        let url = try HTTPURL("http://a.test:\(server.port)/")
        for body in [RequestBody.bytes([UInt8](repeating: 7, count: 1 << 20)), .none] {
            let request = try PreparedRequest(.post, url, body: body)
            let response = try await engine.exchange(request, from: EndpointList(server.endpoints))
            #expect(response.head.status == .unauthorized)
            await response.body.discard()
        }
        #expect(server.connections.accepted == 2)
        await engine.shutDown()
        await server.stop()
    }

    @Test("an empty piece after the last byte of a body of known length is not an error")
    func emptyLastPiece() async throws {
        let lab = try await Lab { .text("\($0.bodySize)") }
        let body = RequestBody.stream(length: 5) {
            AsyncStream { pieces in
                pieces.yield(ByteBuffer(string: "piece"))
                pieces.yield(ByteBuffer())
                pieces.finish()
            }
        }
        #expect(try await lab.get(method: .put, body: body).text() == "5")
        await lab.stop()
    }
}
