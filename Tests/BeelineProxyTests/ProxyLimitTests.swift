// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineTesting
import NIOCore
import Names
import Testing

@Suite("Limits and timeouts of the proxy's clients", .timeLimit(.minutes(1)))
struct ProxyLimitTests {
    /// The kinds of requests that the one port accepts.
    enum Door: CaseIterable, Sendable {
        case forward, gateway, connect, socks
    }

    private static let short = Duration.milliseconds(50)

    /// A proxy whose time limits are longer than a test, except for those that the test changes.
    private static func lab(_ change: (inout ProxyLimits) -> Void) async throws -> ProxyLab {
        try await ProxyLab(configure: {
            $0.gatewayHosts = ["a.test"]
            change(&$0.limits)
        })
    }

    /// The request target for the root of a plain origin.
    private static func target(_ door: Door, lab: ProxyLab, port: UInt16) throws -> String {
        let url = try HTTPURL("http://a.test:\(port)/")
        guard door == .gateway else { return url.description }
        return try #require(lab.proxy.gateway).localURL(for: url).target
    }

    private static func becomesEmpty(_ proxy: BeelineProxy) async throws {
        try await eventually("the proxy to close its client") { await proxy.counts().connections == 0 }
    }

    @Test(
        "a client that sends no complete request in time is closed",
        arguments: [
            "", "\r", "GET http://a.test/ HT", "GET /proxy.pac HTTP/1.1\r\nHost:", "CONNECT a.test:443 HTTP/1.1\r\n",
            "\u{5}", "\u{5}\u{1}", "\u{5}\u{1}\u{0}\u{5}\u{1}\u{0}\u{3}\u{6}a.te",
        ]
    )
    func head(_ start: String) async throws {
        let lab = try await Self.lab { $0.head = Self.short }
        let connection = try await lab.connect()
        if !start.isEmpty { try await connection.send(start) }
        let answer = try await connection.receiveAll()
        let isHead = !start.hasPrefix("\u{5}") && start.count > 1
        #expect(answer.hasPrefix("HTTP/1.1 408 ") == isHead, "\(answer)")
        await connection.close()
        await lab.stop()
    }

    @Test("a client that sends no further request in time is closed")
    func betweenRequests() async throws {
        let lab = try await Self.lab { $0.keepIdle = Self.short }
        for target in ["/proxy.pac", "http://a.test:\(lab.plain.port)/echo"] {
            let connection = try await lab.connect()
            try await connection.send("GET \(target) HTTP/1.1\r\nHost: \(lab.proxy.endpoint)\r\n\r\n")
            #expect(try await connection.receiveAll().hasPrefix("HTTP/1.1 200 "))
            await connection.close()
        }
        await lab.stop()
    }

    @Test("a client that stops in the middle of a body receives a 408", arguments: [Door.forward, .gateway])
    func body(_ door: Door) async throws {
        let lab = try await Self.lab { $0.body = Self.short }
        let server = try await RawServer.start { try await $0.hold() }
        let target = try Self.target(door, lab: lab, port: server.port)
        for framing in ["Content-Length: 9\r\n\r\n1234", "Transfer-Encoding: chunked\r\n\r\n4\r\n12"] {
            let connection = try await lab.connect()
            try await connection.send("POST \(target) HTTP/1.1\r\nHost: a.test\r\n\(framing)")
            #expect(try await connection.receiveAll().hasPrefix("HTTP/1.1 408 "))
            await connection.close()
        }
        await server.stop()
        await lab.stop()
    }

    @Test("a client whose body waits for a slow origin is not timed out", arguments: [Door.forward, .gateway])
    func slowOrigin(_ door: Door) async throws {
        let lab = try await Self.lab { $0.body = .milliseconds(600) }
        let reading = Gate()
        let length = 24 << 20
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await reading.wait()
            _ = try await connection.receive(count: length)
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let target = try Self.target(door, lab: lab, port: server.port)
        let connection = try await lab.connect()
        let sending = Task {
            try await connection.send("POST \(target) HTTP/1.1\r\nHost: a.test\r\nContent-Length: \(length)\r\n\r\n")
            try await connection.send([UInt8](repeating: 7, count: length))
        }
        // Not a wait for an event: longer than the limit, while the rest of the body waits in the buffers.
        try await Task.sleep(for: .milliseconds(1_500))
        reading.open()
        #expect(try await connection.receiveHead().hasPrefix("HTTP/1.1 200 "))
        try await sending.value
        await connection.close()
        await server.stop()
        await lab.stop()
    }

    @Test("a client that does not read its response is closed with its origin", arguments: [Door.forward, .gateway])
    func reply(_ door: Door) async throws {
        let lab = try await Self.lab { $0.reply = Self.short }
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
            try await connection.sendEndlessly("x")
        }
        let connection = try await lab.connect()
        try await connection.send(
            "GET \(Self.target(door, lab: lab, port: server.port)) HTTP/1.1\r\nHost: a.test\r\n\r\n"
        )
        try await server.connections { $0.accepted == 1 }
        try await Self.becomesEmpty(lab.proxy)
        try await server.connections { $0.open == 0 }
        await connection.close()
        await server.stop()
        await lab.stop()
    }

    @Test("an idle tunnel is closed at both ends", arguments: [Door.connect, .socks])
    func tunnel(_ door: Door) async throws {
        let lab = try await Self.lab { $0.idle = Self.short }
        let server = try await RawServer.start { try await $0.hold() }
        let connection = try await lab.connect()
        let port = server.port
        if door == .socks {
            let name: [UInt8] = [5, 1, 0, 5, 1, 0, 3, 6] + Array("a.test".utf8)
            try await connection.send(name + [UInt8(port >> 8), UInt8(port & 0xff)])
        } else {
            try await connection.send("CONNECT a.test:\(port) HTTP/1.1\r\nHost: a.test\r\n\r\n")
        }
        while (try? await connection.receive()) ?? nil != nil {}
        try await Self.becomesEmpty(lab.proxy)
        try await server.connections { $0.open == 0 }
        await server.stop()
        await lab.stop()
    }

    @Test("a client gets no connections beyond its limit until it closes one")
    func connectionsPerClient() async throws {
        let lab = try await Self.lab { $0.connectionsPerClient = 2 }
        func isServed(_ connection: RawConnection) async -> Bool {
            try? await connection.send("GET /proxy.pac HTTP/1.1\r\nHost: \(lab.proxy.endpoint)\r\n\r\n")
            return (try? await connection.receiveHead())?.hasPrefix("HTTP/1.1 200 ") == true
        }
        var connections: [RawConnection] = []
        for number in 0..<3 {
            let connection = try await lab.connect()
            #expect(await isServed(connection) == (number < 2))
            connections.append(connection)
        }
        #expect(await lab.proxy.counts().refused == 1)
        await connections[0].close()
        try await eventually("the end of a connection") { await lab.proxy.counts().connections <= 1 }
        connections.append(try await lab.connect())
        #expect(await isServed(connections[3]))
        for connection in connections { await connection.close() }
        await lab.stop()
    }
}
