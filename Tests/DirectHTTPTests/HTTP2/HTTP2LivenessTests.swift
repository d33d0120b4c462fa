// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Names
import Testing

@testable import DirectHTTP
@testable import HTTPWire

@Suite("Silent HTTP/2 connections", .timeLimit(.minutes(1)))
struct HTTP2LivenessTests {
    @Test("a silent connection is sent one PING, any frame counts as its answer, and none in time means it is dead")
    func verdicts() {
        let waiting = NIOLockedValueBox(0)
        let start = NIODeadline.uptimeNanoseconds(1)
        var liveness = PeerLiveness(pingAfter: .seconds(15), pingTimeout: .seconds(5), now: start)
        // What the last look found: 10 bytes were written, and some of them wait.
        var progress = SendProgress { [waiting] _ in waiting.withLockedValue { $0 } }
        progress.wrote(10)
        func check(_ seconds: Int64, waiting count: Int = 0) -> PeerLiveness.Verdict {
            waiting.withLockedValue { $0 = count }
            progress.update(from: EmbeddedChannel(), now: start + .seconds(seconds))
            return liveness.check(now: start + .seconds(seconds), progress: progress)
        }
        #expect(check(14, waiting: 10) == .alive)
        #expect(check(15, waiting: 10) == .ping)
        #expect(check(19, waiting: 10) == .alive)
        liveness.recordReceived(now: start + .seconds(19))
        #expect(check(20, waiting: 10) == .alive)
        #expect(liveness.due == start + .seconds(34))
        #expect(check(40, waiting: 9) == .ping)
        #expect(check(45, waiting: 5) == .alive, "the PING waits behind bytes that leave")
        #expect(check(50) == .alive, "it left just now")
        progress.wrote(17)
        #expect(check(55) == .dead, "it had the time for its answer")
        liveness.recordReceived(now: start + .seconds(60))
        #expect(check(75) == .ping)
        progress.wrote(17)
        #expect(check(80) == .dead, "that the PING itself left is no sign of life")
        var never = PeerLiveness(pingAfter: nil, pingTimeout: .seconds(5), now: start)
        #expect(never.due == nil && never.check(now: start + .hours(9), progress: progress) == .alive)
    }

    @Test("a slow upload is not silence of the server, so no PING is sent while our bytes wait for the socket")
    func slowUpload() throws {
        let channel = EmbeddedChannel()
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        let handler = HTTP2Handler(
            .test(pingAfter: .seconds(15)),
            now: channel.eventLoop.now,
            wakes: WakeQueue(channel.embeddedEventLoop)
        ) { _ in }
        try channel.pipeline.syncOperations.addHandler(handler)
        let body = RequestBody.stream(length: nil) { PieceSequence(ByteBuffer(), count: 0) }
        let request = try PreparedRequest(.post, HTTPURL("http://a.test/"), body: body)
        let exchange = Exchange(request: request, limits: ExchangeLimits(bufferedBytes: 64 * 1024))
        handler.start(exchange, now: channel.eventLoop.now)
        // The socket accepts bytes now and then, and the server sends nothing.
        for _ in 0..<10 {
            channel.isWritable = false
            channel.pipeline.fireChannelWritabilityChanged()
            channel.embeddedEventLoop.advanceTime(by: .seconds(14))
            channel.isWritable = true
            channel.pipeline.fireChannelWritabilityChanged()
            channel.embeddedEventLoop.advanceTime(by: .seconds(14))
            #expect(!exchange.isOver)
        }
        // The idle limit covers a socket that accepts nothing.
        channel.isWritable = false
        channel.embeddedEventLoop.advanceTime(by: .seconds(120))
        #expect(!exchange.isOver)
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        channel.embeddedEventLoop.advanceTime(by: .seconds(15))
        channel.embeddedEventLoop.advanceTime(by: .seconds(5))
        #expect(exchange.ending?.error?.code == .connectionLost, "the PING was sent and not answered")
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a window update is activity of an upload, and not of a request without a body", arguments: [true, false])
    func windowUpdates(isUpload: Bool) throws {
        let channel = EmbeddedChannel()
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        let handler = HTTP2Handler(
            .test(),
            now: channel.eventLoop.now,
            wakes: WakeQueue(channel.embeddedEventLoop)
        ) { _ in }
        try channel.pipeline.syncOperations.addHandler(handler)
        try channel.writeInbound(ByteBuffer(bytes: RawFrame(.settings).bytes))
        // The connection's window stays closed after the first part of the body.
        let body: RequestBody = isUpload ? .bytes([UInt8](repeating: 1, count: 100_000)) : .none
        let request = try PreparedRequest(.post, HTTPURL("http://a.test/"), body: body)
        let limits = ExchangeLimits(bufferedBytes: 64 * 1024, idle: .seconds(10))
        let exchange = Exchange(request: request, limits: limits)
        handler.start(exchange, now: channel.eventLoop.now)
        for _ in 0..<3 where !exchange.isOver {
            channel.embeddedEventLoop.advanceTime(by: .seconds(6))
            let update = RawFrame(.windowUpdate, stream: 1, payload: RawFrame.big(1))
            try channel.writeInbound(ByteBuffer(bytes: update.bytes))
        }
        #expect(exchange.isOver == !isUpload)
        #expect(exchange.ending?.error?.code == (isUpload ? nil : DirectHTTPError.Code.idleTimeout))
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a silently lost connection is detected, closed and replaced for a request that is safe to repeat")
    func replaced() async throws {
        let lab = try await SilentLab()
        #expect(try await lab.get() == "first")
        #expect(try await lab.get() == "second", "the first connection no longer answers, not even a PING")
        #expect(lab.server.connections.accepted == 2)
        await lab.stop()
    }

    @Test("a request that is not safe to repeat fails on a lost connection, in time")
    func notReplaced() async throws {
        let lab = try await SilentLab()
        #expect(try await lab.get() == "first")
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await lab.get(.post) }
        #expect(error?.code == .connectionLost)
        #expect(error?.message.contains("PING") == true)
        await lab.stop()
    }

    @Test("a slow response is not an error while the server answers PING")
    func slowButAlive() async throws {
        let authority = try TestAuthority()
        var tls = ServerTLS(try authority.certificate(for: "a.test"))
        tls.applicationProtocols = ["h2"]
        let server = try await RawServer.start(tls: tls) { connection in
            _ = try await connection.receive(count: RawFrame.preface.count)
            try await connection.send(RawFrame(.settings).bytes)
            var stream: UInt32 = 0
            var pings = 0
            while let frame = try await connection.receiveFrame() {
                if frame.kind == .headers { stream = frame.stream }
                guard frame.kind == .ping else { continue }
                try await connection.send(RawFrame(.ping, flags: 1, payload: frame.payload).bytes)
                pings += 1
                guard pings == 3 else { continue }
                try await connection.send(RawFrame.headers([(":status", "204")], stream: stream, flags: 5).bytes)
            }
        }
        let lab = SilentLab(authority: authority, server: server)
        #expect(try await lab.get() == "")
        #expect(server.connections.accepted == 1)
        await lab.stop()
    }
}

/// An engine that pings early, and a server whose first connection answers one request and then nothing.
private struct SilentLab {
    let authority: TestAuthority
    let server: RawServer
    let engine: Engine

    init(authority: TestAuthority, server: RawServer) {
        self.authority = authority
        self.server = server
        var configuration = EngineConfiguration()
        configuration.pingAfter = .milliseconds(50)
        configuration.pingTimeout = .seconds(2)
        engine = Engine(configuration: configuration)
    }

    init() async throws {
        let authority = try TestAuthority()
        var tls = ServerTLS(try authority.certificate(for: "a.test"))
        tls.applicationProtocols = ["h2"]
        let count = Watermark()
        let server = try await RawServer.start(tls: tls) { connection in
            count.rise()
            let text = count.height == 1 ? "first" : "second"
            _ = try await connection.receive(count: RawFrame.preface.count)
            try await connection.send(RawFrame(.settings).bytes)
            guard let request = try await connection.receiveFrame(where: { $0.kind == .headers }) else { return }
            let head = RawFrame.headers([(":status", "200")], stream: request.stream)
            let body = RawFrame(.data, flags: RawFrame.endStream, stream: request.stream, payload: Array(text.utf8))
            try await connection.send(head.bytes + body.bytes)
            while try await connection.receiveFrame() != nil {}
        }
        self.init(authority: authority, server: server)
    }

    func get(_ method: HTTPRequest.Method = .get) async throws -> String {
        var tls = TLSSettings()
        tls.rootPEMs = [authority.rootPEM]
        let request = try PreparedRequest(method, HTTPURL("https://a.test:\(server.port)/"))
        return try await engine.exchange(request, from: EndpointList(server.endpoints), tls: tls).text()
    }

    func stop() async {
        await engine.shutDown()
        await server.stop()
    }
}
