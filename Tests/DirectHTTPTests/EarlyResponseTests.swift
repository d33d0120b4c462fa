// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPTypes
import NIOCore
import Names
import Testing

@testable import BeelineTesting

@Suite("Servers that answer 200 before they have read the request's body", .timeLimit(.minutes(1)))
struct EarlyResponseTests {
    /// Called after each response, before the server reads on.
    typealias Step = @Sendable (_ connection: RawConnection, _ stream: UInt32) async throws -> Void

    /// A server that answers each request as soon as it has the head, and an engine for it.
    private struct EarlyLab {
        /// The sizes of the bodies that arrived whole; -1 for each stream that the client reset.
        let bodies: Watched<[Int]>
        let server: RawServer
        let engine: Engine
        private let scheme: String
        private let tls: TLSSettings

        /// - Parameter smallWindows: whether an HTTP/2 server has the default windows and opens them for each DATA frame.
        init(
            http2: Bool,
            isSecured: Bool = false,
            smallWindows: Bool = false,
            then step: @escaping Step = { _, _ in }
        ) async throws {
            let bodies = Watched<[Int]>([])
            self.bodies = bodies
            let authority = try TestAuthority()
            var serverTLS = ServerTLS(try authority.certificate(for: "a.test"))
            serverTLS.applicationProtocols = [http2 ? "h2" : "http/1.1"]
            scheme = isSecured ? "https" : "http"
            var tls = TLSSettings()
            tls.rootPEMs = [authority.rootPEM]
            self.tls = tls
            server = try await RawServer.start(tls: isSecured ? serverTLS : nil) { connection in
                if http2 {
                    try await EarlyLab.serveHTTP2(
                        connection,
                        smallWindows: smallWindows,
                        noting: bodies,
                        then: step
                    )
                } else {
                    try await EarlyLab.serveHTTP1(connection, noting: bodies, then: step)
                }
            }
            var configuration = EngineConfiguration()
            configuration.usesHTTP2PriorKnowledge = http2
            engine = Engine(configuration: configuration)
        }

        private static func serveHTTP1(
            _ connection: RawConnection,
            noting bodies: Watched<[Int]>,
            then step: Step
        ) async throws {
            while var request = try await connection.receiveHead() {
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                try await step(connection, 0)
                try await connection.receiveBody(of: &request, limit: 0)
                let size = request.bodySize
                bodies.update { $0.append(size) }
            }
        }

        private static func serveHTTP2(
            _ connection: RawConnection,
            smallWindows: Bool,
            noting bodies: Watched<[Int]>,
            then step: Step
        ) async throws {
            _ = try await connection.receive(count: RawFrame.preface.count)
            if smallWindows {
                try await connection.send(RawFrame(.settings).bytes)
            } else {
                // Windows of 1 GiB.
                let window = RawFrame(.windowUpdate, payload: RawFrame.big(1 << 30))
                try await connection.send(RawFrame.settings([(4, 1 << 30)]).bytes + window.bytes)
            }
            var size = 0
            while let frame = try await connection.receiveFrame() {
                if frame.kind == .headers {
                    let head = RawFrame.headers([(":status", "200")], stream: frame.stream)
                    let body = RawFrame(
                        .data,
                        flags: RawFrame.endStream,
                        stream: frame.stream,
                        payload: Array("ok".utf8)
                    )
                    try await connection.send(head.bytes + body.bytes)
                    try await step(connection, frame.stream)
                    size = 0
                }
                if frame.kind == .data { size += frame.payload.count }
                let isWhole = frame.kind == .data && frame.flags & RawFrame.endStream != 0
                if smallWindows, frame.kind == .data, !isWhole {
                    let credit = RawFrame.big(UInt32(frame.payload.count))
                    let ofStream = RawFrame(.windowUpdate, stream: frame.stream, payload: credit)
                    try await connection.send(RawFrame(.windowUpdate, payload: credit).bytes + ofStream.bytes)
                }
                let last = frame.kind == .reset ? -1 : size
                if isWhole || frame.kind == .reset { bodies.update { $0.append(last) } }
            }
        }

        func put(_ body: RequestBody, limits: TimeLimits = TimeLimits()) async throws -> ExchangeResponse {
            let request = try PreparedRequest(.put, HTTPURL("\(scheme)://a.test:\(server.port)/"), body: body)
            return try await engine.exchange(request, from: EndpointList(server.endpoints), tls: tls, limits: limits)
        }

        func stop() async {
            await engine.shutDown()
            await server.stop()
        }
    }

    private static let endless = RequestBody.stream(length: nil) {
        PieceSequence(ByteBuffer(repeating: 1, count: 100_000), count: .max)
    }

    @Test("a server that answers at once gets the whole body, and its connection is kept", arguments: [false, true])
    func wholeBody(http2: Bool) async throws {
        let lab = try await EarlyLab(http2: http2)
        let size = 20_000_000
        let file = try TemporaryFile(bytes: [UInt8](repeating: 7, count: size))
        let piece = ByteBuffer(repeating: 7, count: 1_000_000)
        let bodies: [RequestBody] = [
            .bytes(ByteBuffer(repeating: 7, count: size)), .file(file.path),
            .stream(length: nil) { PieceSequence(piece, count: 20) },
        ]
        for body in bodies { #expect(try await lab.put(body).text() == "ok") }
        #expect(try await lab.bodies.wait { $0.count == 3 } == [size, size, size])
        #expect(lab.server.connections.accepted == 1)
        await lab.stop()
    }

    @Test(
        "a server that answers at once over TLS or with small windows gets the whole body",
        arguments: [(false, true, false), (true, true, false), (true, false, true), (true, true, true)]
    )
    func wholeBodySlowly(http2: Bool, isSecured: Bool, smallWindows: Bool) async throws {
        let lab = try await EarlyLab(http2: http2, isSecured: isSecured, smallWindows: smallWindows)
        let size = 2_000_000
        let body = RequestBody.bytes(ByteBuffer(repeating: 7, count: size))
        for _ in 0..<2 { #expect(try await lab.put(body).text() == "ok") }
        #expect(try await lab.bodies.wait { $0.count == 2 } == [size, size])
        #expect(lab.server.connections.accepted == 1)
        await lab.stop()
    }

    @Test(
        "a discarded response does not cut off an upload that takes longer than discarding may",
        arguments: [false, true]
    )
    func discarded(http2: Bool) async throws {
        let lab = try await EarlyLab(http2: http2)
        let (pieces, source) = AsyncStream.makeStream(of: ByteBuffer.self)
        source.yield(ByteBuffer(string: "begin"))
        let response = try await lab.put(.once(length: nil, pieces))
        async let end: Void = response.body.discard()
        // Not a wait for an event: more than the second that the rest of a response may take.
        try await Task.sleep(for: .milliseconds(1_300))
        source.yield(ByteBuffer(string: "end"))
        source.finish()
        await end
        #expect(try await lab.bodies.wait { !$0.isEmpty } == [8])
        await lab.stop()
    }

    @Test("a server that ends the upload after its response has given a valid response", arguments: [false, true])
    func endedUpload(http2: Bool) async throws {
        let isRead = Gate()
        let lab = try await EarlyLab(http2: http2) { connection, stream in
            try await isRead.wait()
            guard stream > 0 else { return await connection.reset() }
            // NO_ERROR (RFC 9113 §8.1).
            try await connection.send(RawFrame(.reset, stream: stream, payload: RawFrame.big(0)).bytes)
        }
        var pieces = try await lab.put(Self.endless).body.makeAsyncIterator()
        #expect(try await pieces.next() == ByteBuffer(string: "ok"))
        isRead.open()
        #expect(try await pieces.next() == nil)
        await lab.stop()
    }

    @Test("a response that is dropped ends the upload", arguments: [false, true])
    func dropped(http2: Bool) async throws {
        let lab = try await EarlyLab(http2: http2)
        #expect(try await lab.put(Self.endless).head.status == .ok)
        if http2 {
            _ = try await lab.bodies.wait { $0 == [-1] }
        } else {
            try await lab.server.connections { $0.open == 0 }
        }
        await lab.stop()
    }

    @Test(
        "an upload that the server does not read after its response ends with the idle limit",
        arguments: [false, true]
    )
    func stuck(http2: Bool) async throws {
        let lab = try await EarlyLab(http2: http2) { connection, _ in try await connection.hold() }
        var limits = TimeLimits()
        limits.idle = .milliseconds(300)
        let response = try await lab.put(Self.endless, limits: limits)
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await response.text() }
        #expect(error?.code == .idleTimeout)
        await lab.stop()
    }

    @Test("a body that ends only after its response ends with the idle limit", arguments: [false, true])
    func waitingSource(http2: Bool) async throws {
        let lab = try await EarlyLab(http2: http2)
        let (pieces, source) = AsyncStream.makeStream(of: ByteBuffer.self)
        source.yield(ByteBuffer(string: "piece"))
        var limits = TimeLimits()
        limits.idle = .milliseconds(300)
        let response = try await lab.put(.once(length: nil, pieces), limits: limits)
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await response.text() }
        source.finish()
        #expect(error?.code == .idleTimeout)
        #expect(error?.message.contains("the source of the request's body") == true)
        await lab.stop()
    }

    @Test("a body that fails after the response is an error", arguments: [false, true])
    func failedSource(http2: Bool) async throws {
        let lab = try await EarlyLab(http2: http2)
        let (pieces, source) = AsyncThrowingStream<ByteBuffer, any Error>.makeStream()
        source.yield(ByteBuffer(string: "piece"))
        let response = try await lab.put(.once(length: nil, pieces))
        source.finish(throwing: PieceSequence.Broken())
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await response.text() }
        #expect(error?.code == .bodySourceFailed)
        await lab.stop()
    }

    @Test(
        "an engine that shuts down in the middle of an upload reports an error, also over TLS",
        arguments: [false, true],
        [false, true]
    )
    func shutDown(http2: Bool, isSecured: Bool) async throws {
        let lab = try await EarlyLab(http2: http2, isSecured: isSecured) { connection, _ in
            try await connection.hold()
        }
        var pieces = try await lab.put(Self.endless).body.makeAsyncIterator()
        #expect(try await pieces.next() == ByteBuffer(string: "ok"))
        await lab.engine.shutDown()
        do {
            let rest = try await pieces.next()
            Issue.record("the body ended with \(String(describing: rest))")
        } catch {
            #expect(error.code == .connectionLost)
            #expect(!error.message.contains("server"), "the server did not end the upload: \(error.message)")
        }
        await lab.stop()
    }
}
