// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

@testable import DirectHTTP

@Suite("WebSockets over real sockets and TLS", .timeLimit(.minutes(1)))
struct WebSocketTests {
    private func open(
        _ lab: Lab,
        _ path: String = "/",
        subprotocols: [String] = [],
        route: Route = .direct,
        settings: WebSocketSettings = WebSocketSettings(),
        at endpoints: [Endpoint]? = nil
    ) async throws -> WebSocket {
        let url = try HTTPURL("wss://a.test:\(lab.origin.port)\(path)")
        return try await lab.engine.webSocket(
            WebSocketRequest(url, fields: [.origin: "https://a.test"], subprotocols: subprotocols),
            from: EndpointList(endpoints ?? lab.origin.endpoints),
            route: route,
            tls: lab.tls,
            settings: settings
        )
    }

    @Test("text and binary messages of every size are echoed, and the close handshake ends the messages")
    func echo() async throws {
        let lab = try await Lab { Routes.webSocketEcho($0) }
        var settings = WebSocketSettings()
        settings.frameBytes = 50_000
        let socket = try await open(lab, settings: settings)
        #expect(!socket.isCompressed, "the server takes no extension")
        for count in [0, 1, 125, 126, 65_535, 65_536, 200_000] {
            let bytes = ByteBuffer(bytes: (0..<count).map { UInt8(truncatingIfNeeded: $0) })
            try await socket.send(bytes)
            #expect(try await socket.receive() == .binary(bytes))
        }
        try await socket.send("κόσμε")
        #expect(try await socket.receive() == .text("κόσμε"))
        #expect(try await socket.ping() > .zero)
        await socket.close(.goingAway, reason: "done")
        #expect(try await socket.receive() == nil)
        #expect(socket.closure == WebSocketClosure(code: .goingAway, reason: "done"))
        let error = await #expect(throws: DirectHTTPError.self) { try await socket.send("late") }
        #expect(error?.code == .webSocketClosed)
        let request = try #require(lab.origin.requests.first)
        #expect(request.connection.serverName == "a.test")
        #expect(request.authority == "a.test:\(lab.origin.port)")
        #expect(request.fields[.origin] == "https://a.test")
        #expect(request.fields[.secWebSocketVersion] == "13")
        try await lab.origin.connections { $0.open == 0 }
        #expect(lab.engine.openConnections == 0)
        await lab.stop()
    }

    @Test("a message above the limit is no fault of the server, and the error names the setting")
    func largeMessage() async throws {
        let lab = try await Lab { Routes.webSocketEcho($0) }
        var settings = WebSocketSettings()
        settings.maxMessageBytes = 200
        let socket = try await open(lab, settings: settings)
        try await socket.send(ByteBuffer(repeating: 1, count: 201))
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await socket.receive() }
        #expect(error?.code == .responseTooLarge)
        let words = "the server sent a message of more than 200 bytes: raise maxMessageBytes if it should"
        #expect(error?.message == words)
        await lab.stop()
    }

    @Test("each kind of proxy receives the names of ws and wss URLs", arguments: [ProxyServer.Kind.http, .socks5])
    func proxies(kind: ProxyServer.Kind) async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"]) { Routes.webSocketEcho($0) }
        let plain = try await LoopbackOrigin.start { Routes.webSocketEcho($0) }
        let proxy = try await ProxyServer.start(kind) { _, port in Endpoint(IPAddress(v4: 0x7f00_0001), port: port) }
        let origin = Origin(scheme: .http, host: try Host("proxy.test"), port: proxy.endpoint.port)
        let route = Route.proxy(Proxy(kind == .http ? .http : .socks5, origin: origin))
        let secure = try await open(lab, route: route, at: [proxy.endpoint])
        let clear = try await lab.engine.webSocket(
            WebSocketRequest(HTTPURL("ws://b.test:\(plain.port)/")),
            from: EndpointList([proxy.endpoint]),
            route: route
        )
        for socket in [secure, clear] {
            try await socket.send("through")
            #expect(try await socket.receive() == .text("through"))
            await socket.close()
        }
        #expect(proxy.requests.map(\.host) == ["a.test", "b.test"])
        #expect(proxy.requests.allSatisfy { $0.method != .forward })
        await lab.stop()
        await plain.stop()
        await proxy.stop()
    }

    @Test("subprotocol and permessage-deflate are negotiated, and compressed messages pass in both directions")
    func agreement() async throws {
        let lab = try await Lab { request in
            let fields: HTTPFields = [
                .secWebSocketProtocol: "chat",
                .secWebSocketExtensions: "permessage-deflate; server_no_context_takeover",
            ]
            return .webSocket(for: request, fields: fields) { connection in
                while var frame = try await connection.receiveWebSocketFrame() {
                    // Echo the client's compressed bytes: both directions have the same format.
                    frame.mask = nil
                    try await connection.send(frame.bytes)
                    if frame.opcode == .close { return }
                }
            }
        }
        let socket = try await open(lab, subprotocols: ["superchat", "chat"])
        #expect(socket.subprotocol == "chat")
        #expect(socket.isCompressed)
        let text = String(repeating: "hello ", count: 10_000)
        try await socket.send(text)
        #expect(try await socket.receive() == .text(text))
        try await socket.send("short")
        #expect(try await socket.receive() == .text("short"))
        let request = try #require(lab.origin.requests.first)
        #expect(request.fields[.secWebSocketProtocol] == "superchat, chat")
        await socket.close()
        await lab.stop()
    }

    @Test("every fault of a WebSocket server ends with its code and leaves no socket", arguments: Fault.webSocket)
    func faults(fault: Fault) async throws {
        let authority = try TestAuthority()
        let server = try await FaultServer.start([fault], authority: authority)
        let engine = Engine()
        var settings = WebSocketSettings()
        settings.maxMessageBytes = 1 << 20
        settings.closeTimeout = .milliseconds(100)
        var code: DirectHTTPError.Code?
        var message: WebSocketMessage?
        do {
            let socket = try await engine.webSocket(
                WebSocketRequest(HTTPURL("ws://\(FaultServer.name):\(server.endpoints[0].port)/")),
                from: EndpointList(server.endpoints),
                settings: settings
            )
            message = try await socket.receive()
            await socket.close()
        } catch let error as DirectHTTPError {
            code = error.code
        }
        let expected: DirectHTTPError.Code? =
            switch fault.outcome {
            case .success: nil
            case .status: .upgradeRefused
            case .limit: .responseTooLarge
            case .closed: .connectionLost
            default: .malformedResponse
            }
        // For a WebSocket, the fault's status 200 refuses the upgrade.
        #expect(code == (fault.id == "ws-http" ? .upgradeRefused : expected), "\(fault.does)")
        if fault.outcome == .success { #expect(message == .text("ok")) }
        await engine.shutDown()
        #expect(engine.openConnections == 0)
        #expect(OpenDescriptors.sockets(connectedTo: server.endpoints) == 0)
        await server.stop()
    }

    @Test("a refused upgrade is an error that contains the response's head")
    func refusal() async throws {
        let lab = try await Lab { _ in Reply.status(.unauthorized).adding(.setCookie, "a=b") }
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await open(lab) }
        #expect(error?.code == .upgradeRefused)
        #expect(error?.response?.status == .unauthorized)
        #expect(error?.response?.headerFields[.setCookie] == "a=b")
        await lab.stop()
    }

    @Test("a slow reader stops the socket, and PINGs are still answered")
    func backPressure() async throws {
        let sent = Watermark()
        let lab = try await Lab(addresses: ["127.0.0.1"]) { request in
            .webSocket(for: request) { connection in
                let frame = RawWebSocketFrame(.binary, [UInt8](repeating: 1, count: 1 << 20)).bytes
                for _ in 0..<64 {
                    try await connection.send(frame)
                    sent.rise()
                }
                try await connection.send(RawWebSocketFrame.close(1000).bytes)
                try await connection.drain()
            }
        }
        let socket = try await open(lab)
        _ = try await socket.receive()
        try await eventually("a full inbox") { socket.inbox.isFull }
        try await sent.settle()
        #expect(sent.height < 32)
        var count = 1
        for try await _ in socket.messages { count += 1 }
        #expect(count == 64)
        await lab.stop()
    }

    @Test("a server that never answers the close frame is disconnected after the time limit")
    func closeTimeout() async throws {
        let lab = try await Lab { request in .webSocket(for: request) { try await $0.drain() } }
        var settings = WebSocketSettings()
        settings.closeTimeout = .milliseconds(50)
        let socket = try await open(lab, settings: settings)
        await socket.close()
        #expect(socket.closure == nil)
        #expect(try await socket.receive() == nil)
        try await lab.origin.connections { $0.open == 0 }
        await lab.stop()
    }

    @Test("a silent server gets a PING, and is disconnected if it does not answer")
    func silence() async throws {
        let lab = try await Lab { request in .webSocket(for: request) { try await $0.drain() } }
        var settings = WebSocketSettings()
        settings.pingInterval = .milliseconds(50)
        let socket = try await open(lab, settings: settings)
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await socket.receive() }
        #expect(error?.code == .idleTimeout)
        await lab.stop()
    }

    @Test("a cancelled wait loses no message, and a shutdown closes every socket")
    func endings() async throws {
        let lab = try await Lab { Routes.webSocketEcho($0) }
        let socket = try await open(lab)
        let waiting = Task { try await socket.receive() }
        try await eventually("the wait") { socket.inbox.isAwaited }
        waiting.cancel()
        let cancelled = await #expect(throws: DirectHTTPError.self) { _ = try await waiting.value }
        #expect(cancelled?.code == .cancelled)
        try await socket.send("still here")
        #expect(try await socket.receive() == .text("still here"))
        // A socket without references is closed.
        _ = try await open(lab)
        try await lab.origin.connections { $0.accepted == 2 && $0.open == 1 }
        await lab.engine.shutDown()
        let error = await #expect(throws: DirectHTTPError.self) { _ = try await socket.receive() }
        #expect(error?.code == .shutDown && error?.message.contains("its client was shut down") == true)
        try await lab.origin.connections { $0.open == 0 }
        let late = await #expect(throws: DirectHTTPError.self) { _ = try await open(lab) }
        #expect(late?.code == .shutDown)
        await lab.stop()
    }

    @Test("a PONG answers all PINGs up to its own, because a server may answer only the last of several")
    func oneForSeveralPings() async throws {
        let lab = try await Lab(addresses: ["127.0.0.1"]) { request in
            .webSocket(for: request) { connection in
                guard try await connection.receiveWebSocketFrame() != nil,
                    let second = try await connection.receiveWebSocketFrame()
                else { return }
                try await connection.send(RawWebSocketFrame(.pong, second.payload).bytes)
                _ = try await connection.receiveWebSocketFrame()
            }
        }
        let socket = try await open(lab)
        async let first = socket.ping()
        async let second = socket.ping()
        let times = try await [first, second]
        #expect(times.allSatisfy { $0 > .zero })
        await socket.close()
        await lab.stop()
    }

    @Test("a WebSocket that the client closes ends with TLS's closing alert")
    func closingAlert() async throws {
        // Whether each connection ended with the alert.
        let ends = NIOLockedValueBox<[Bool]>([])
        let lab = try await Lab { request in
            .webSocket(for: request) { connection in
                let isOrderly = (try? await connection.drain()) != nil
                ends.withLockedValue { $0.append(isOrderly) }
            }
        }
        // A socket without references is closed.
        _ = try await open(lab)
        try await eventually("the end of the connection") { !ends.withLockedValue { $0.isEmpty } }
        #expect(ends.withLockedValue { $0 } == [true])
        await lab.stop()
    }

    @Test("a handshake without an answer ends with the connect limit or with its task")
    func handshakeTimes() async throws {
        let gate = Gate()
        let server = try await RawServer.start { connection in
            _ = try await connection.receiveRequest()
            try await gate.wait()
        }
        let engine = Engine()
        let request = try WebSocketRequest(HTTPURL("ws://a.test:\(server.port)/"))
        var limits = TimeLimits()
        limits.connect = .milliseconds(300)
        let late = await #expect(throws: DirectHTTPError.self) {
            _ = try await engine.webSocket(request, from: EndpointList(server.endpoints), limits: limits)
        }
        #expect(late?.code == .connectTimeout)
        let task = Task { try await engine.webSocket(request, from: EndpointList(server.endpoints)) }
        try await gate.arrivals(atLeast: 2)
        task.cancel()
        let cancelled = await #expect(throws: DirectHTTPError.self) { _ = try await task.value }
        #expect(cancelled?.code == .cancelled)
        try await server.connections { $0.open == 0 }
        gate.open()
        await engine.shutDown()
        await server.stop()
    }

    @Test("invalid subprotocols and fields reserved for the handshake are refused before anything is sent")
    func requests() throws {
        let url = try HTTPURL("wss://a.test/")
        for name in ["Sec-WebSocket-Key", "sec-websocket-protocol", "Upgrade", "Connection"] {
            let field = try #require(HTTPField.Name(name))
            let error = #expect(throws: DirectHTTPError.self) { try WebSocketRequest(url, fields: [field: "x"]) }
            #expect(error?.code == .invalidRequest)
        }
        for subprotocols in [["a", "a"], ["a b"], [""], ["a\r\nb"]] {
            let error = #expect(throws: DirectHTTPError.self) { try WebSocketRequest(url, subprotocols: subprotocols) }
            #expect(error?.code == .invalidRequest)
        }
    }
}
