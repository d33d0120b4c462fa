// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Names
import Testing

@testable import BeelineTesting

/// Keeps what a client is given, and whether an error ended it.
private final class SlowClient: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    let got = NIOLockedValueBox((bytes: ByteBuffer(), isReset: false))

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        got.withLockedValue { got in _ = got.bytes.writeImmutableBuffer(bytes) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        got.withLockedValue { $0.isReset = true }
        context.close(promise: nil)
    }
}

@Suite("How connections to origins end, and which clients may use them", .timeLimit(.minutes(1)))
struct OriginTests {
    /// Sends the request of an HTTP/1.0 client to the proxy or to the gateway.
    private static func ask(_ lab: ProxyLab, _ port: UInt16, isGateway: Bool) async throws -> RawConnection {
        let url = try HTTPURL("http://a.test:\(port)/")
        let gateway = try #require(lab.proxy.gateway)
        let target = isGateway ? try gateway.localURL(for: url).target : url.description
        let connection = try await lab.connect()
        try await connection.send("GET \(target) HTTP/1.0\r\nHost: a\r\n\r\n")
        return connection
    }

    private static func lab(_ change: (inout ProxyLimits) -> Void = { _ in }) async throws -> ProxyLab {
        try await ProxyLab(configure: {
            $0.gatewayHosts = ["a.test"]
            change(&$0.limits)
        })
    }

    @Test(
        "a reset that cuts a body without a length also resets the client's connection",
        arguments: [false, true]
    )
    func cutBody(isGateway: Bool) async throws {
        let lab = try await Self.lab()
        let hasHalf = Gate()
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send("HTTP/1.0 200 OK\r\n\r\nhalf")
            try await hasHalf.wait()
            await connection.reset()
        }
        let connection = try await Self.ask(lab, server.port, isGateway: isGateway)
        _ = try await connection.receive(until: "half")
        hasHalf.open()
        await #expect(throws: (any Error).self) { _ = try await connection.receiveAll() }
        await connection.close()
        await server.stop()
        await lab.stop()
    }

    @Test(
        "a body without a length that the proxy gives up does not look complete to the client",
        arguments: [false, true]
    )
    func givenUpBody(isGateway: Bool) async throws {
        let lab = try await Self.lab { $0.idle = .milliseconds(100) }
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send("HTTP/1.0 200 OK\r\n\r\nhalf")
            try await connection.hold()
        }
        let connection = try await Self.ask(lab, server.port, isGateway: isGateway)
        await #expect(throws: (any Error).self) { _ = try await connection.receiveAll() }
        await connection.close()
        await server.stop()
        await lab.stop()
    }

    @Test("a proxy that stops resets both ends of the tunnels that do not end")
    func stopped() async throws {
        let lab = try await Self.lab()
        let (ends, tell) = AsyncStream.makeStream(of: Bool.self)
        let server = try await RawServer.start { connection in
            try await connection.send("half")
            do {
                try await connection.drain()
                tell.yield(true)
            } catch {
                tell.yield(false)
                throw error
            }
        }
        let tunnel = try await lab.tunnel(to: "a.test", port: server.port)
        #expect(try await tunnel.receive(count: 4) == Array("half".utf8))
        await lab.proxy.stop()
        await #expect(throws: (any Error).self) { _ = try await tunnel.receiveAll() }
        #expect(await ends.first { _ in true } == false)
        await tunnel.close()
        await server.stop()
        await lab.stop()
    }

    @Test("a connection from before a change of the network serves no further request, even if it was in use")
    func networkChange() async throws {
        let lab = try await ProxyLab()
        let (hasArrived, isAnswered) = (Gate(), Gate())
        let server = try await RawServer.start { connection in
            while let bytes = try await connection.receive(until: "\r\n\r\n") {
                if String(decoding: bytes, as: UTF8.self).contains("/slow") {
                    hasArrived.open()
                    try await isAnswered.wait()
                }
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let client = try await lab.connect()
        for (path, connections) in [("fast", 1), ("fast", 1), ("fast", 2), ("slow", 2), ("fast", 3)] {
            if connections == 2, path == "fast" {
                await lab.client.resolver.networkChanged(to: Network(id: "second", families: .v4))
            }
            try await client.send("GET http://a.test:\(server.port)/\(path) HTTP/1.1\r\nHost: a\r\n\r\n")
            if path == "slow" {
                try await hasArrived.wait()
                await lab.client.resolver.networkChanged(to: Network(id: "third", families: .v4))
                isAnswered.open()
            }
            #expect(try await client.receiveResponse().body == "ok")
            #expect(server.connections.accepted == connections)
        }
        await client.close()
        await server.stop()
        await lab.stop()
    }

    /// A connection that has little room, and that reads nothing yet.
    private static func connect(_ slow: SlowClient, to lab: ProxyLab) async throws -> any Channel {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelOption(.socketOption(.so_rcvbuf), value: 4_096)
            .channelInitializer { channel in channel.pipeline.addHandler(slow) }
            .connect(host: "127.0.0.1", port: Int(lab.proxy.endpoint.port)).get()
    }

    @Test("a client that stops reading a body without a length is reset, so that its part does not look complete")
    func stalledClient() async throws {
        let lab = try await Self.lab { $0.reply = .milliseconds(300) }
        let count = 256 * 1024
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send("HTTP/1.1 200 OK\r\n\r\n")
            try await connection.send([UInt8](repeating: 1, count: count))
        }
        let slow = SlowClient()
        let client = try await Self.connect(slow, to: lab)
        let head = "GET http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a.test\r\n\r\n"
        try await client.writeAndFlush(ByteBuffer(string: head))
        try await server.connections { $0.accepted == 1 }
        try await eventually("the reset") { await lab.proxy.counts().connections == 0 }
        // The client may have noticed the reset already.
        try? await client.setOption(.autoRead, value: true).get()
        client.read()
        try await client.closeFuture.get()
        let (bytes, isReset) = slow.got.withLockedValue { $0 }
        #expect(bytes.readableBytes < count && isReset)
        await server.stop()
        await lab.stop()
    }

    @Test("a slow client gets all that a server sent through a tunnel before its reset, and then the reset")
    func deliveryBeforeReset() async throws {
        let lab = try await ProxyLab()
        let count = 128 * 1024
        let isCut = Gate()
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(count: 2)
            try await connection.send([UInt8](repeating: 1, count: count))
            let channel = connection.channel
            try await eventually("the acknowledgement") {
                try await channel.eventLoop.submit { channel.unacknowledgedBytes == 0 }.get()
            }
            await connection.reset()
            isCut.open()
        }
        let slow = SlowClient()
        let client = try await Self.connect(slow, to: lab)
        let head = "CONNECT a.test:\(server.port) HTTP/1.1\r\nHost: a.test:\(server.port)\r\n\r\ngo"
        try await client.writeAndFlush(ByteBuffer(string: head))
        try await isCut.wait()
        try await client.setOption(.autoRead, value: true).get()
        client.read()
        try await client.closeFuture.get()
        let (bytes, isReset) = slow.got.withLockedValue { $0 }
        #expect(bytes.readableBytes == count + "HTTP/1.1 200 Connection established\r\n\r\n".utf8.count)
        #expect(isReset)
        await server.stop()
        await lab.stop()
    }

    @Test("a reset of either end of a tunnel is one at the other end")
    func tunnelReset() async throws {
        let lab = try await Self.lab()
        let (ends, tell) = AsyncStream.makeStream(of: Bool.self)
        let server = try await RawServer.start { connection in
            try await connection.send("hi")
            let word = try await connection.receive(count: 5)
            if word == Array("reset".utf8) { return await connection.reset() }
            do {
                _ = try await connection.drain()
                tell.yield(true)
            } catch {
                tell.yield(false)
                throw error
            }
        }
        let first = try await lab.tunnel(to: "a.test", port: server.port)
        try await first.send("reset")
        await #expect(throws: (any Error).self) { _ = try await first.receiveAll() }
        await first.close()
        for isReset in [false, true] {
            let tunnel = try await lab.tunnel(to: "a.test", port: server.port)
            _ = try await tunnel.receive(count: 2)
            try await tunnel.send("words")
            if isReset { await tunnel.reset() } else { await tunnel.close() }
            #expect(await ends.first { _ in true } == !isReset)
        }
        await server.stop()
        await lab.stop()
    }

    /// A server that authenticates connections: two requests with a challenge between them, or one with a ticket.
    private static func authenticating() async throws -> RawServer {
        try await RawServer.start { connection in
            var isChallenged = false
            var user: String?
            while let bytes = try await connection.receive(until: "\r\n\r\n") {
                let head = String(decoding: bytes, as: UTF8.self)
                if head.contains("Authorization: Negotiate ticket") {
                    user = "kerberos"
                } else if head.contains("Authorization: NTLM type3"), isChallenged {
                    user = "ntlm"
                }
                isChallenged = head.contains("Authorization: NTLM type1")
                if let user {
                    try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(user.utf8.count)\r\n\r\n\(user)")
                } else {
                    let offers =
                        isChallenged ? "NTLM type2" : "Basic realm=\"a, b\", Negotiate\r\nWWW-Authenticate: NTLM"
                    try await connection.send(
                        "HTTP/1.1 401 No\r\nWWW-Authenticate: \(offers)\r\nContent-Length: 0\r\n\r\n"
                    )
                }
            }
        }
    }

    @Test("an NTLM or Negotiate login stays on one origin connection, which serves no other client")
    func connectionLogin() async throws {
        let lab = try await Self.lab()
        let server = try await Self.authenticating()
        func get(_ connection: RawConnection, _ authorization: String? = nil) async throws -> String {
            let field = authorization.map { "Authorization: \($0)\r\n" } ?? ""
            try await connection.send("GET http://a.test:\(server.port)/ HTTP/1.1\r\nHost: a\r\n\(field)\r\n")
            let (head, body) = try await connection.receiveResponse()
            return body.isEmpty ? String(head.split(separator: " ")[1]) : body
        }
        let one = try await lab.connect()
        let other = try await lab.connect()
        #expect(try await get(one) == "401")
        #expect(try await get(one, "NTLM type1") == "401")
        // Meanwhile another client sends a request, and this client sends one to another origin.
        #expect(try await get(other) == "401")
        try await one.send("GET http://a.test:\(lab.plain.port)/echo HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = try await one.receiveResponse()
        #expect(try await get(one, "NTLM type3") == "ntlm")
        #expect(try await get(one) == "ntlm")
        #expect(try await get(other) == "401")
        // One request is enough, and its response does not name the scheme.
        let third = try await lab.connect()
        #expect(try await get(third, "Negotiate ticket") == "kerberos")
        #expect(try await get(third) == "kerberos")
        #expect(try await get(other) == "401")
        // The origin connection closes with its client.
        for connection in [one, third, other] { await connection.close() }
        try await server.connections { $0.open == 0 }
        await server.stop()
        await lab.stop()
    }

    @Test("the gateway forwards no NTLM or Negotiate login, because all players share its connections")
    func connectionLoginAtTheGateway() async throws {
        let lab = try await Self.lab()
        let place = try #require(lab.proxy.gateway).localURL(for: HTTPURL("http://a.test:\(lab.plain.port)/echo"))
            .target
        for (value, passed) in [("NTLM type1", false), ("negotiate x", false), ("Basic eA==", true)] {
            let connection = try await lab.connect()
            try await connection.send("GET \(place) HTTP/1.1\r\nHost: a\r\nAuthorization: \(value)\r\n\r\n")
            _ = try await connection.receiveResponse()
            #expect((lab.plain.requests.last?.fields[.authorization] == value) == passed, "\(value)")
            await connection.close()
        }
        await lab.stop()
    }

    @Test("a compressed playlist is mapped, and one with an unsupported coding is refused", arguments: ["gzip", "br"])
    func compressedPlaylist(_ coding: String) async throws {
        let lab = try await ProxyLab(
            configure: { $0.gatewayHosts = ["a.test"] },
            handler: { _ in
                var reply = Reply.text("#EXTM3U\n/1.ts\n")
                if coding == "gzip" { reply = reply.compressed(.gzip) }
                reply.fields[.contentEncoding] = coding
                return reply
            }
        )
        let url = try HTTPURL("http://a.test:\(lab.plain.port)/live.m3u8")
        let place = try #require(lab.proxy.gateway).localURL(for: url).target
        let connection = try await lab.connect()
        try await connection.send("GET \(place) HTTP/1.1\r\nHost: a\r\n\r\n")
        let (head, body) = try await connection.receiveResponse()
        if coding == "gzip" {
            #expect(body == "#EXTM3U\n\(place.replacing("live.m3u8", with: "1.ts"))\n")
            #expect(head.hasPrefix("HTTP/1.1 200 ") && !head.contains("Content-Encoding"))
        } else {
            #expect(head.hasPrefix("HTTP/1.1 502 "), "\(head)")
        }
        await connection.close()
        await lab.stop()
    }

    @Test("the gateway forwards a field that is not UTF-8 unchanged")
    func octets() async throws {
        let lab = try await Self.lab()
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send(
                Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ".utf8) + [0xc4, 0xda] + Array("\r\n\r\n".utf8)
            )
        }
        let connection = try await Self.ask(lab, server.port, isGateway: true)
        let head = try await connection.receive(until: "\r\n\r\n") ?? []
        #expect(head.contains(0xc4) && head.contains(0xda))
        await connection.close()
        await server.stop()
        await lab.stop()
    }
}
