// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import NIOEmbedded
import Names
import Testing

@testable import DirectHTTP

@Suite("Limits and GOAWAY of HTTP/2 servers (RFC 9113 §5.1.2, §6.8, §8.7)", .timeLimit(.minutes(1)))
struct HTTP2ServerLimitTests {
    /// Runs a server whose connections a closure handles after the preface, and a body that sends requests to it.
    private func withServer(
        connections: Int = 64,
        _ play: @escaping @Sendable (_ number: Int, RawConnection) async throws -> Void,
        _ body: (RawServer, @escaping @Sendable (HTTPRequest.Method) async throws -> String) async throws -> Void
    ) async throws {
        let authority = try TestAuthority()
        var tls = ServerTLS(try authority.certificate(for: "a.test"))
        tls.applicationProtocols = ["h2"]
        let count = Watermark()
        let server = try await RawServer.start(tls: tls) { connection in
            count.rise()
            let number = count.height
            _ = try await connection.receive(count: RawFrame.preface.count)
            try await play(number, connection)
        }
        var configuration = EngineConfiguration()
        configuration.connectionsPerOrigin = connections
        let engine = Engine(configuration: configuration)
        var settings = TLSSettings()
        settings.rootPEMs = [authority.rootPEM]
        try await body(server) { [settings] method in
            let request = try PreparedRequest(method, HTTPURL("https://a.test:\(server.port)/"))
            return try await engine.exchange(request, from: EndpointList(server.endpoints), tls: settings).text()
        }
        await engine.shutDown()
        await server.stop()
    }

    private static func response(_ stream: UInt32, _ text: String) -> [UInt8] {
        RawFrame.headers([(":status", "200")], stream: stream).bytes
            + RawFrame(.data, flags: RawFrame.endStream, stream: stream, payload: Array(text.utf8)).bytes
    }

    @Test("no more streams are open at once than the server allows, and further requests wait for their turn")
    func streamLimit() async throws {
        let most = Watermark()
        try await withServer(connections: 1) { _, connection in
            try await connection.send(RawFrame.settings([(3, 2)]).bytes)
            var open: [UInt32] = []
            while let frame = try await connection.receiveFrame(where: { $0.kind == .headers }) {
                open.append(frame.stream)
                if open.count > 2 { most.rise() }
                // The first request has no other beside it. Later ones are held until two are open.
                guard open.count == 2 || frame.stream == 1 else { continue }
                try await connection.send(open.flatMap { Self.response($0, "ok") })
                open = []
            }
        } _: { server, get in
            let first = try await get(.get)
            #expect(first == "ok")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let text = try await get(.get)
                        #expect(text == "ok")
                    }
                }
                try await group.waitForAll()
            }
            #expect(most.height == 0)
            #expect(server.connections.accepted == 1)
        }
    }

    @Test("a limit of one stream is remembered for the next connections, so that no request is refused again and again")
    func rememberedLimit() async throws {
        let gate = Gate()
        let refusals = Watermark()
        try await withServer { _, connection in
            try await connection.send(RawFrame.settings([(3, 1)]).bytes)
            guard let first = try await connection.receiveFrame(where: { $0.kind == .headers }) else { return }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await gate.wait()
                    try await connection.send(Self.response(first.stream, "ok"))
                }
                while let frame = try await connection.receiveFrame(where: { $0.kind == .headers }) {
                    refusals.rise()
                    try await connection.send(RawFrame(.reset, stream: frame.stream, payload: RawFrame.big(7)).bytes)
                }
                try await group.waitForAll()
            }
        } _: { server, get in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let text = try await get(.get)
                        #expect(text == "ok")
                    }
                }
                try await gate.arrivals(atLeast: 20)
                gate.open()
                try await group.waitForAll()
            }
            #expect(refusals.height <= 19, "only the first connection got more than it allows")
            #expect(server.connections.accepted == 20)
        }
    }

    @Test("requests that the server did not process are repeated with any method, after GOAWAY on a new connection")
    func unprocessed() async throws {
        try await withServer { number, connection in
            try await connection.send(RawFrame(.settings).bytes)
            var refusals = 0
            while let frame = try await connection.receiveFrame(where: { $0.kind == .headers }) {
                if number == 1, refusals == 0 {
                    refusals += 1
                    let refused = RawFrame(.reset, stream: frame.stream, payload: RawFrame.big(7))
                    try await connection.send(refused.bytes)
                } else if number == 1 {
                    let last = RawFrame.big(frame.stream - 2)
                    try await connection.send(RawFrame(.goAway, payload: last + RawFrame.big(0)).bytes)
                } else {
                    try await connection.send(Self.response(frame.stream, "at last"))
                }
            }
        } _: { server, get in
            let text = try await get(.post)
            #expect(text == "at last")
            #expect(server.connections.accepted == 2)
        }
    }

    @Test("after GOAWAY the requests it covers finish, and the next request opens a new connection")
    func graceful() async throws {
        try await withServer { number, connection in
            try await connection.send(RawFrame(.settings).bytes)
            while let frame = try await connection.receiveFrame(where: { $0.kind == .headers }) {
                let leave = RawFrame(.goAway, payload: RawFrame.big(frame.stream) + RawFrame.big(0)).bytes
                try await connection.send(leave + Self.response(frame.stream, "from \(number)"))
            }
        } _: { server, get in
            let texts = [try await get(.post), try await get(.post)]
            #expect(texts == ["from 1", "from 2"])
            try await server.connections { $0.open == 0 }
        }
    }

    @Test("a burst of requests succeeds at a server that sends GOAWAY after one request of each connection")
    func oneRequestPerConnection() async throws {
        try await withServer(connections: 1) { _, connection in
            try await connection.send(RawFrame(.settings).bytes)
            guard let first = try await connection.receiveFrame(where: { $0.kind == .headers }) else { return }
            let leave = RawFrame(.goAway, payload: RawFrame.big(first.stream) + RawFrame.big(0)).bytes
            try await connection.send(leave + Self.response(first.stream, "ok"))
            while try await connection.receiveFrame() != nil {}
        } _: { _, get in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let text = try await get(.get)
                        #expect(text == "ok")
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("if the server closes the connection after GOAWAY with an error, the failure of a request names that error")
    func closeAfterGoAwayWithError() async throws {
        try await withServer { _, connection in
            try await connection.send(RawFrame(.settings).bytes)
            guard let request = try await connection.receiveFrame(where: { $0.kind == .headers }) else { return }
            let last = RawFrame.big(request.stream)
            try await connection.send(RawFrame(.goAway, payload: last + RawFrame.big(11)).bytes)
        } _: { _, get in
            let error = await #expect(throws: DirectHTTPError.self) { _ = try await get(.get) }
            #expect(error?.code == .connectionLost)
            #expect(error?.message.contains("ENHANCE_YOUR_CALM") == true, "\(error?.message ?? "")")
        }
    }

    @Test("a response with too many header fields fails its own request, and a download beside it continues")
    func tooManyFields() async throws {
        let download = Gate()
        try await withServer(connections: 1) { _, connection in
            try await connection.send(RawFrame(.settings).bytes)
            while let frame = try await connection.receiveFrame(where: { $0.kind == .headers || $0.kind == .reset }) {
                if frame.kind == .reset {
                    let rest = RawFrame(.data, flags: RawFrame.endStream, stream: 1, payload: Array("whole".utf8))
                    try await connection.send(rest.bytes)
                } else if frame.stream == 1 {
                    let piece = RawFrame(.data, stream: 1, payload: Array("the ".utf8))
                    try await connection.send(RawFrame.headers([(":status", "200")], stream: 1).bytes + piece.bytes)
                    download.open()
                } else if frame.stream == 3 {
                    let fields = (0..<1_100).map { (name: "x-\($0)", value: "y") }
                    let head = RawFrame.headers([(name: ":status", value: "200")] + fields, stream: 3, flags: 5)
                    try await connection.send(head.bytes)
                } else {
                    try await connection.send(Self.response(frame.stream, "ok"))
                }
            }
        } _: { server, get in
            async let first = get(.get)
            try await download.wait()
            let error = await #expect(throws: DirectHTTPError.self) { _ = try await get(.get) }
            #expect(error?.code == .responseTooLarge)
            #expect(error?.hasTooManyFields == true, "the command has an exit code for it")
            let texts = [try await first, try await get(.get)]
            #expect(texts == ["the whole", "ok"])
            #expect(server.connections.accepted == 1)
        }
    }

    @Test("a first burst over HTTP/2 without asking the server shares one connection")
    func firstBurst() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(count: RawFrame.preface.count)
            try await connection.send(RawFrame(.settings).bytes)
            while let frame = try await connection.receiveFrame(where: { $0.kind == .headers }) {
                try await connection.send(Self.response(frame.stream, "ok"))
            }
        }
        var configuration = EngineConfiguration()
        configuration.usesHTTP2PriorKnowledge = true
        let engine = Engine(configuration: configuration)
        let request = try PreparedRequest(.get, HTTPURL("http://a.test:\(server.port)/"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let response = try await engine.exchange(request, from: EndpointList(server.endpoints))
                    let text = try await response.text()
                    #expect(text == "ok")
                }
            }
            try await group.waitForAll()
        }
        #expect(server.connections.accepted == 1)
        await engine.shutDown()
        await server.stop()
    }

    @Test("HTTP_1_1_REQUIRED also counts for a server that was not asked for HTTP/2")
    func requiresHTTP11WithoutTLS() async throws {
        let server = try await RawServer.start { connection in
            guard try await connection.receive(count: RawFrame.preface.count) == RawFrame.preface else {
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold")
                return try await connection.hold()
            }
            try await connection.send(RawFrame(.settings).bytes)
            guard let request = try await connection.receiveFrame(where: { $0.kind == .headers }) else { return }
            try await connection.send(RawFrame(.reset, stream: request.stream, payload: RawFrame.big(13)).bytes)
            while try await connection.receiveFrame() != nil {}
        }
        var configuration = EngineConfiguration()
        configuration.usesHTTP2PriorKnowledge = true
        let engine = Engine(configuration: configuration)
        let request = try PreparedRequest(.get, HTTPURL("http://a.test:\(server.port)/"))
        let response = try await engine.exchange(request, from: EndpointList(server.endpoints))
        #expect(try await response.text() == "old")
        #expect(response.applicationProtocol == "http/1.1")
        await engine.shutDown()
        await server.stop()
    }

    @Test("GOAWAY with HTTP_1_1_REQUIRED makes the client use HTTP/1.1")
    func goAwayRequiresHTTP11() async throws {
        let server = try await RawServer.start { connection in
            guard try await connection.receive(count: RawFrame.preface.count) == RawFrame.preface else {
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold")
                return try await connection.hold()
            }
            try await connection.send(RawFrame(.settings).bytes)
            _ = try await connection.receiveFrame(where: { $0.kind == .headers })
            try await connection.send(RawFrame(.goAway, payload: RawFrame.big(0) + RawFrame.big(13)).bytes)
            while try await connection.receiveFrame() != nil {}
        }
        var configuration = EngineConfiguration()
        configuration.usesHTTP2PriorKnowledge = true
        let engine = Engine(configuration: configuration)
        let request = try PreparedRequest(.get, HTTPURL("http://a.test:\(server.port)/"))
        let response = try await engine.exchange(request, from: EndpointList(server.endpoints))
        #expect(try await response.text() == "old")
        #expect(response.applicationProtocol == "http/1.1")
        #expect(server.connections.accepted == 2)
        await engine.shutDown()
        await server.stop()
    }

    @Test(
        "a request whose connection got GOAWAY before is repeated, after HTTP_1_1_REQUIRED over HTTP/1.1",
        arguments: [(0, "NO_ERROR", false), (13, "HTTP_1_1_REQUIRED", true)] as [(UInt32, String, Bool)]
    )
    func goAwayBeforeTheRequest(code: UInt32, name: String, requiresHTTP11: Bool) throws {
        let channel = EmbeddedChannel()
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        let now = channel.eventLoop.now
        let handler = HTTP2Handler(.test(), now: now, wakes: WakeQueue(channel.embeddedEventLoop)) { _ in }
        try channel.pipeline.syncOperations.addHandler(handler)
        let goAway = RawFrame(.goAway, payload: RawFrame.big(0) + RawFrame.big(code))
        try channel.writeInbound(ByteBuffer(bytes: RawFrame(.settings).bytes + goAway.bytes))
        let request = try PreparedRequest(.get, HTTPURL("http://a.test/"))
        let exchange = Exchange(request: request, limits: ExchangeLimits(bufferedBytes: 64 * 1024))
        handler.start(exchange, now: now)
        let error = exchange.ending?.error
        #expect(error?.requiresHTTP11 == requiresHTTP11 && error?.isUnprocessed == true)
        #expect(error?.message.contains(name) == true, "\(error?.message ?? "")")
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a request that the server accepts only over HTTP/1.1 is repeated over HTTP/1.1", arguments: [true, false])
    func requiresHTTP11(isReplayable: Bool) async throws {
        let authority = try TestAuthority()
        var tls = ServerTLS(try authority.certificate(for: "a.test"))
        tls.applicationProtocols = ["h2", "http/1.1"]
        let server = try await RawServer.start(tls: tls) { connection in
            guard connection.info.applicationProtocol == "h2" else {
                guard try await connection.receive(until: "\r\n\r\nx") != nil else { return }
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold")
                return try await connection.hold()
            }
            _ = try await connection.receive(count: RawFrame.preface.count)
            try await connection.send(RawFrame(.settings).bytes)
            guard let request = try await connection.receiveFrame(where: { $0.kind == .headers }) else { return }
            try await connection.send(RawFrame(.reset, stream: request.stream, payload: RawFrame.big(13)).bytes)
            while try await connection.receiveFrame() != nil {}
        }
        let engine = Engine()
        var trust = TLSSettings()
        trust.rootPEMs = [authority.rootPEM]
        let piece = ByteBuffer(string: "x")
        let body = isReplayable ? RequestBody.bytes(piece) : .once(length: 1, PieceSequence(piece, count: 1))
        let request = try PreparedRequest(.post, HTTPURL("https://a.test:\(server.port)/"), body: body)
        if isReplayable {
            let response = try await engine.exchange(request, from: EndpointList(server.endpoints), tls: trust)
            #expect(try await response.text() == "old")
            #expect(response.applicationProtocol == "http/1.1")
        } else {
            let error = await #expect(throws: DirectHTTPError.self) {
                _ = try await engine.exchange(request, from: EndpointList(server.endpoints), tls: trust)
            }
            #expect(error?.code == .streamReset && error?.message.contains("HTTP_1_1_REQUIRED") == true)
        }
        await engine.shutDown()
        await server.stop()
    }
}
