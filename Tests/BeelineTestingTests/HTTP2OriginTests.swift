// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import Testing

/// Checks the origin's HTTP/2 frame by frame.
@Suite(.timeLimit(.minutes(1))) struct HTTP2OriginTests {
    let authority: TestAuthority

    init() throws {
        authority = try TestAuthority()
    }

    @Test func aRequestIsAnsweredOnItsStream() async throws {
        let (origin, client) = try await connect { request in
            .text("\(request.version) \(request.method) \(request.target) \(request.authority ?? "") \(request.text)")
        }
        #expect(client.info.applicationProtocol == "h2")
        try await send("POST", "/a", on: client, stream: 1, body: "body")
        try await send("GET", "/b", on: client, stream: 3)
        var bodies: [UInt32: String] = [:]
        while bodies.count < 2,
            let frame = try await client.receiveFrame(where: { $0.kind == .data && !$0.payload.isEmpty })
        {
            bodies[frame.stream] = String(decoding: frame.payload, as: UTF8.self)
        }
        #expect(bodies == [1: "HTTP/2 POST /a a.test body", 3: "HTTP/2 GET /b a.test "])
        #expect(origin.requests.map(\.connection.number) == [1, 1])
        #expect(origin.requests.map(\.connection.serverName) == ["a.test", "a.test"])
        await client.close()
        await origin.stop()
    }

    @Test func trailersEndAStream() async throws {
        let (origin, client) = try await connect { _ in .chunks("x", trailers: [.eTag: "t"]) }
        try await send("GET", "/", on: client, stream: 1)
        let last = try await client.receiveFrame { $0.stream == 1 && $0.flags & RawFrame.endStream != 0 }
        #expect(last?.kind == .headers)
        await client.close()
        await origin.stop()
    }

    @Test(arguments: [
        ("a reset ends the stream only", Reply(body: ["x"], ending: .reset), RawFrame.Kind.reset, UInt32(1)),
        ("what HTTP/2 cannot send does so too", .raw("not HTTP"), .reset, 1),
        ("close announces the end", Reply(body: ["x"], ending: .close), .goAway, 0),
    ])
    func anEnding(_: String, reply: Reply, kind: RawFrame.Kind, stream: UInt32) async throws {
        let (origin, client) = try await connect { _ in reply }
        try await send("GET", "/", on: client, stream: 1)
        let frame = try #require(try await client.receiveFrame { $0.kind == kind })
        #expect(frame.stream == stream)
        if kind == .reset {
            try await send("GET", "/", on: client, stream: 3)
            #expect(try await client.receiveFrame { $0.stream == 3 } != nil)
        }
        await client.close()
        await origin.stop()
    }

    @Test func aHangUpEndsTheConnection() async throws {
        let (origin, client) = try await connect { _ in Reply(body: ["x"], ending: .hangUp) }
        try await send("GET", "/", on: client, stream: 1)
        #expect(try await client.receiveFrame { _ in false } == nil)
        try await origin.connections { $0.open == 0 }
        await client.close()
        await origin.stop()
    }

    @Test func headHasNoBodyAndInterimResponsesComeFirst() async throws {
        let hint = HTTPResponse(status: .earlyHints)
        let (origin, client) = try await connect { _ in Reply(body: ["body"], framing: .length, interim: [hint]) }
        try await send("HEAD", "/", on: client, stream: 1)
        let interim = try await client.receiveFrame { $0.kind == .headers }
        let final = try await client.receiveFrame { $0.stream == 1 }
        #expect(interim?.flags == RawFrame.endHeaders)
        #expect(final?.kind == .headers && final?.flags == RawFrame.endHeaders | RawFrame.endStream)
        await client.close()
        await origin.stop()
    }

    @Test func theStreamLimitIsAnnounced() async throws {
        var limits = LoopbackOrigin.Limits()
        limits.concurrentStreams = 7
        let (origin, client) = try await connect(limits) { _ in .text("") }
        let settings = try #require(try await client.receiveFrame { $0.kind == .settings })
        let values = stride(from: 0, to: settings.payload.count, by: 6).map { Array(settings.payload[$0..<$0 + 6]) }
        #expect(values.contains([0, 3, 0, 0, 0, 7]))
        await client.close()
        await origin.stop()
    }

    private func connect(
        _ limits: LoopbackOrigin.Limits = LoopbackOrigin.Limits(),
        _ handler: @escaping LoopbackOrigin.Handler
    ) async throws -> (LoopbackOrigin, RawConnection) {
        var tls = ServerTLS(try authority.certificate(for: "a.test"))
        tls.applicationProtocols = ["h2", "http/1.1"]
        let origin = try await LoopbackOrigin.start(tls: tls, limits: limits, handler: handler)
        var clientTLS = RawConnection.ClientTLS("a.test", trusting: authority)
        clientTLS.applicationProtocols = ["h2"]
        let client = try await RawConnection.connect(to: origin.endpoint, tls: clientTLS)
        try await client.send(RawFrame.preface + RawFrame(.settings).bytes)
        return (origin, client)
    }

    private func send(
        _ method: String,
        _ path: String,
        on client: RawConnection,
        stream: UInt32,
        body: String = ""
    ) async throws {
        let fields = [(":method", method), (":scheme", "https"), (":path", path), (":authority", "a.test")]
        var head = RawFrame.headers(fields, stream: stream)
        guard !body.isEmpty else {
            head.flags |= RawFrame.endStream
            return try await client.send(head.bytes)
        }
        let data = RawFrame(.data, flags: RawFrame.endStream, stream: stream, payload: Array(body.utf8))
        try await client.send(head.bytes + data.bytes)
    }
}
