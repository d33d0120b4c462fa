// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineTesting
import DirectHTTP
import HTTPTypes
import NIOCore
import Testing

@Suite("WebSockets through the gateway", .timeLimit(.minutes(1)))
struct GatewayWebSocketTests {
    /// Sends the opener a line about its request, as the site sees it, then echoes messages.
    private static func lab() async throws -> ProxyLab {
        let handler: LoopbackOrigin.Handler = { request in
            switch request.path {
            case "/login":
                return .text("in").adding(.setCookie, "sid=7; Path=/; Secure; HttpOnly")
            case "/closed":
                return Reply.status(.forbidden).adding(.setCookie, "why=closed; Path=/")
            default:
                var fields: HTTPFields = [.setCookie: "seen=1; Domain=a.test; Path=/live"]
                fields[.secWebSocketProtocol] = request.fields[.secWebSocketProtocol]
                return .webSocket(for: request, fields: fields) { connection in
                    let line =
                        "\(request.authority ?? "-") \(request.connection.serverName ?? "-") "
                        + "\(request.fields[.origin] ?? "-") \(request.cookies.keys.sorted())"
                    try await connection.send(RawWebSocketFrame(.text, Array(line.utf8)).bytes)
                    while var frame = try await connection.receiveWebSocketFrame() {
                        frame.mask = nil
                        if frame.opcode == .ping { frame.opcode = .pong }
                        try await connection.send(frame.bytes)
                        if frame.opcode == .close { return }
                    }
                }
            }
        }
        return try await ProxyLab(configure: { $0.gatewayHosts = ["a.test"] }, handler: handler)
    }

    /// A player's own client: it resolves no names, uses no proxy and keeps no cookies.
    private static func player() throws -> BeelineClient {
        var settings = ClientConfiguration()
        settings.upstreams = []
        settings.resolver.system = nil
        settings.proxies = .none
        return try BeelineClient(settings, jar: nil)
    }

    @Test("the origin sees its own Host, SNI, Origin and cookies; frames pass unchanged; its cookies are stored")
    func staysItself() async throws {
        let lab = try await Self.lab()
        let player = try Self.player()
        let gateway = try #require(lab.proxy.gateway)
        for (scheme, port) in [("wss", lab.site.port), ("ws", lab.plain.port)] {
            let authority = "a.test:\(port)"
            let http = scheme == "wss" ? "https" : "http"
            let login = try gateway.localURL(for: try HTTPURL("\(http)://\(authority)/login"))
            _ = try await player.get("\(login)").collect(upTo: 100)
            let local = try gateway.localURL(for: try HTTPURL("\(scheme)://\(authority)/live?x=1"))
            #expect("\(local)".hasPrefix("ws://\(lab.proxy.endpoint)/"))
            let socket = try await player.webSocket(local, subprotocols: ["chat"])
            #expect(socket.subprotocol == "chat")
            let place = try gateway.localURL(for: try HTTPURL("\(http)://\(authority)/live")).path
            #expect(socket.response.headerFields[.setCookie] == "seen=1; Path=\(place)")
            let cookies = http == "https" ? ["sid"] : ["seen"]
            let name = http == "https" ? "a.test" : "-"
            let line = "\(authority) \(name) \(http)://\(authority) \(cookies)"
            #expect(try await socket.receive() == .text(line))
            let bytes = ByteBuffer(repeating: 7, count: 300_000)
            try await socket.send(bytes)
            #expect(try await socket.receive() == .binary(bytes))
            _ = try await socket.ping()
            await socket.close(reason: "enough")
            #expect(socket.closure?.reason == "enough")
        }
        let jar = try #require(lab.client.jar)
        let kept = jar.cookies(for: try HTTPURL("https://a.test/live")).map(\.name)
        #expect(Set(kept) == ["sid", "seen"])
        try await lab.site.connections { $0.open <= 1 }
        await player.shutDown()
        await lab.stop()
    }

    @Test("a WebSocket to a host that requires TLS uses it, although its local URL was made for ws")
    func strictTransportSecurity() async throws {
        let lab = try await Self.lab()
        lab.client.hsts?.record("max-age=60", of: try Host("a.test"))
        let player = try Self.player()
        let local = try #require(lab.proxy.gateway).localURL(for: try HTTPURL("ws://a.test:\(lab.site.port)/live"))
        let socket = try await player.webSocket(local)
        #expect(lab.site.requests.first?.connection.serverName == "a.test")
        await socket.close()
        await player.shutDown()
        await lab.stop()
    }

    /// An upstream that answers each name with 127.0.0.1 and one HTTPS record with this list.
    private struct RecordDouble: RecordUpstream {
        let name = "records"
        let list: [UInt8]

        func answer(_ question: Question) async throws(UpstreamError) -> Answer {
            Answer(v4: .addresses([IPAddress(v4: 0x7f00_0001)], ttl: .seconds(60)))
        }

        func services(_ question: ServiceQuestion) async throws(UpstreamError) -> ServiceReply {
            let record = HTTPSRecord(text: "1 a.test. ech=\(Base64.encode(list))")
            return ServiceReply(record.map { [$0] } ?? [], owner: question.name, ttl: .seconds(60))
        }
    }

    @Test("the gateway encrypts the server name of a WebSocket where a record has a configuration")
    func encryptedClientHello() async throws {
        let keys = try ServerECH(publicName: "b.test")
        let lab = try await ProxyLab(
            configure: { $0.gatewayHosts = ["a.test"] },
            client: {
                $0.upstreams = []
                $0.resolver.upstreams = [RecordDouble(list: keys.configurations)]
                $0.resolver.limits.resolutionDelay = .seconds(5)
                $0.tls.ech = .required
            }
        )
        var tls = ServerTLS(try lab.authority.certificate(for: ["a.test", "b.test"]))
        tls.ech = keys
        let site = try await LoopbackOrigin.start(tls: tls) { Routes.webSocketEcho($0) }
        let player = try Self.player()
        let local = try #require(lab.proxy.gateway).localURL(for: try HTTPURL("wss://a.test:\(site.port)/"))
        let socket = try await player.webSocket(local)
        #expect(site.requests.first?.connection.serverName == "b.test", "the name that observers see")
        await socket.close()
        await player.shutDown()
        await site.stop()
        await lab.stop()
    }

    @Test("a response that opens no WebSocket keeps its status, and an unreachable origin is a 502")
    func refusals() async throws {
        let lab = try await Self.lab()
        let player = try Self.player()
        let gateway = try #require(lab.proxy.gateway)
        for (url, status) in [
            ("wss://us:pw@a.test:\(lab.site.port)/closed", 403), ("wss://nobody.a.test:\(lab.site.port)/", 502),
        ] {
            let local = try gateway.localURL(for: try HTTPURL(url))
            let error = await #expect(throws: BeelineError.self) { _ = try await player.webSocket(local) }
            #expect((error?.underlyingError as? DirectHTTPError)?.response?.status.code == status)
        }
        let jar = try #require(lab.client.jar)
        #expect(jar.cookies(for: try HTTPURL("https://a.test:\(lab.site.port)/")).map(\.name) == ["why"])
        #expect(lab.site.requests.first?.fields[.authorization] == "Basic dXM6cHc=", "of the URL")
        await player.shutDown()
        await lab.stop()
    }

    @Test("the gateway opens no WebSocket to an origin whose certificate is not trusted")
    func certificate() async throws {
        let lab = try await Self.lab()
        let other = try TestAuthority()
        let site = try await LoopbackOrigin.start(tls: ServerTLS(try other.certificate(for: "a.test"))) {
            Routes.webSocketEcho($0)
        }
        let player = try Self.player()
        let local = try #require(lab.proxy.gateway).localURL(for: try HTTPURL("wss://a.test:\(site.port)/"))
        let error = await #expect(throws: BeelineError.self) { _ = try await player.webSocket(local) }
        #expect((error?.underlyingError as? DirectHTTPError)?.response?.status.code == 502)
        #expect(site.requests.isEmpty)
        await player.shutDown()
        await site.stop()
        await lab.stop()
    }

    @Test("a player that disconnects ends the connection to the origin, and the other way round")
    func ends() async throws {
        let lab = try await Self.lab()
        let player = try Self.player()
        let local = try #require(lab.proxy.gateway).localURL(for: try HTTPURL("wss://a.test:\(lab.site.port)/"))
        var socket: WebSocket? = try await player.webSocket(local)
        _ = try await socket?.receive()
        socket = nil
        try await lab.site.connections { $0.accepted == 1 && $0.open == 0 }
        let left = try await player.webSocket(local)
        _ = try await left.receive()
        await lab.site.stop()
        await #expect(throws: DirectHTTPError.self) { _ = try await left.receive() }
        await player.shutDown()
        await lab.stop()
    }
}
