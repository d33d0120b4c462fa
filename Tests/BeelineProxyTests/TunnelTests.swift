// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineTesting
import NIOConcurrencyHelpers
import NIOCore
import Testing

@Suite("Tunnels carry names to the proxy and bytes unchanged", .timeLimit(.minutes(1)))
struct TunnelTests {
    @Test("two names on one address each get their own certificate through the proxy")
    func names() async throws {
        let lab = try await ProxyLab(handler: {
            .text("\($0.connection.serverName ?? "-") \($0.authority ?? "-")")
        })
        let user = try lab.user()
        for name in ["a.test", "b.test", "a.test"] {
            let response = try await user.get("https://\(name):\(lab.site.port)/")
            let text = String(buffer: try await response.collect(upTo: 1 << 16))
            #expect(text == "\(name) \(name):\(lab.site.port)")
        }
        #expect(lab.upstream.queries.map(\.name) == ["a.test", "b.test"])
        #expect(await lab.proxy.counts().tunnels == 2, "the client kept its tunnels")
        await user.shutDown()
        await lab.stop()
    }

    @Test("an address that refuses a connection is skipped, and listed last afterwards")
    func deadAddress() async throws {
        let lab = try await ProxyLab(names: ["a.test"])
        let dead = try RefusedEndpoint(address: "127.0.0.9", port: lab.plain.port)
        try lab.upstream.zone.set("a.test", to: ["127.0.0.9", "127.0.0.1"])
        let tunnel = try await lab.tunnel(to: "a.test", port: lab.plain.port)
        await tunnel.close()
        let resolution = try await lab.client.resolver.resolve(Host("a.test"), port: lab.plain.port)
        #expect(resolution.addresses.map(\.description) == ["127.0.0.1", "127.0.0.9"])
        dead.close()
        await lab.stop()
    }

    @Test("a site that moved is reached at once, although its old address is still cached")
    func movedSite() async throws {
        let lab = try await ProxyLab(names: ["a.test"])
        let old = try RefusedEndpoint(address: "127.0.0.9", port: lab.plain.port)
        try lab.upstream.zone.set("a.test", to: ["127.0.0.9"])
        _ = try await lab.client.resolver.resolve(Host("a.test"), port: lab.plain.port)
        try lab.upstream.zone.set("a.test", to: ["127.0.0.1"])
        let tunnel = try await lab.tunnel(to: "a.test", port: lab.plain.port)
        await tunnel.close()
        old.close()
        await lab.stop()
    }

    @Test("if a site whose cached address fails is not found again in time, the error says why the address failed")
    func silentSecondQuestion() async throws {
        let queries = NIOLockedValueBox(0)
        let gate = Gate()
        let upstream = try await LoopbackOrigin.start { _ in
            let number = queries.withLockedValue { queries in
                queries += 1
                return queries
            }
            if number > 1 { try await gate.wait() }
            return .text("127.0.0.9,60")
        }
        let lab = try await ProxyLab(
            configure: { $0.limits.connect = .milliseconds(1_500) },
            client: { $0.upstreams = [.dnspod(at: [upstream.endpoint])] }
        )
        let old = try RefusedEndpoint(address: "127.0.0.9", port: lab.plain.port)
        _ = try await lab.client.resolver.resolve(Host("a.test"), port: lab.plain.port)
        let connection = try await lab.connect()
        try await connection.send("CONNECT a.test:\(lab.plain.port) HTTP/1.1\r\nHost: a\r\n\r\n")
        let (head, body) = try await connection.receiveResponse()
        #expect(head.hasPrefix("HTTP/1.1 502 ") && body.contains("refused"), "\(head)\(body)")
        #expect(queries.withLockedValue { $0 } == 2)
        await connection.close()
        gate.open()
        old.close()
        await lab.stop()
        await upstream.stop()
    }

    @Test("the zone of an IPv6 address decides the interface, for tunnels and for requests")
    func zone() async throws {
        let lab = try await ProxyLab()
        for request in ["CONNECT [fe80::1%25no-such]:443", "GET http://[fe80::1%25no-such]/"] {
            let connection = try await lab.connect()
            try await connection.send("\(request) HTTP/1.1\r\nHost: a\r\n\r\n")
            let (head, body) = try await connection.receiveResponse()
            #expect(head.hasPrefix("HTTP/1.1 502 ") && body.contains("no interface with that name"), "\(head)\(body)")
            await connection.close()
        }
        await lab.stop()
    }

    @Test("a silent address does not delay the connection to the others")
    func blackHole() async throws {
        let lab = try await ProxyLab(names: ["a.test"])
        let hole = try BlackHole(address: "127.0.0.10", port: lab.plain.port)
        try lab.upstream.zone.set("a.test", to: ["127.0.0.10", "127.0.0.1"])
        let tunnel = try await lab.tunnel(to: "a.test", port: lab.plain.port)
        try await tunnel.send("GET /status/204 HTTP/1.1\r\nHost: a.test\r\n\r\n")
        #expect(try await tunnel.receiveHead().hasPrefix("HTTP/1.1 204"))
        await tunnel.close()
        hole.close()
        await lab.stop()
    }

    @Test("a half-closed client half-closes the server, which can still answer")
    func halfCloseOfClient() async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start(allowsHalfClosure: true) { connection in
            let count = try await connection.drain()
            try await connection.send("got \(count)")
            try await connection.finishSending()
        }
        let tunnel = try await lab.tunnel(to: "a.test", port: server.port)
        try await tunnel.send(String(repeating: "x", count: 300_000))
        try await tunnel.finishSending()
        #expect(try await tunnel.receiveAll() == "got 300000")
        await tunnel.close()
        try await server.connections { $0.open == 0 }
        await server.stop()
        await lab.stop()
    }

    @Test("a half-closed server half-closes the client, which can still send")
    func halfCloseOfServer() async throws {
        let lab = try await ProxyLab()
        let (received, tell) = AsyncStream.makeStream(of: Int.self)
        let server = try await RawServer.start(allowsHalfClosure: true) { connection in
            try await connection.send("bye")
            try await connection.finishSending()
            tell.yield(try await connection.drain())
        }
        let tunnel = try await lab.tunnel(to: "a.test", port: server.port)
        #expect(try await tunnel.receive(count: 3) == Array("bye".utf8))
        #expect(try await tunnel.receive() == nil)
        try await tunnel.send(String(repeating: "x", count: 100_000))
        await tunnel.close()
        try await server.connections { $0.open == 0 }
        // The server's connection closes before its handler continues.
        #expect(await received.first { _ in true } == 100_000)
        await server.stop()
        await lab.stop()
    }

    @Test("if the server sends first, its first bytes arrive without the delay of the handshake's ACK")
    func serverSpeaksFirst() async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start { connection in
            try await connection.send("SSH-2.0-x\r\n")
            _ = try await connection.drain()
        }
        // The kernel's delayed ACK takes 200 ms each time. On a busy machine a single round may take as long.
        var fastest = Duration.seconds(60)
        for _ in 0..<6 {
            let tunnel = try await lab.tunnel(to: "a.test", port: server.port)
            let start = ContinuousClock.now
            #expect(try await tunnel.receive(until: "\r\n") == Array("SSH-2.0-x\r\n".utf8))
            fastest = min(fastest, ContinuousClock.now - start)
            await tunnel.close()
        }
        #expect(fastest < .milliseconds(150))
        await server.stop()
        await lab.stop()
    }

    @Test("bytes that a client sends before its tunnel is open are not lost")
    func aheadOfTheAnswer() async throws {
        let lab = try await ProxyLab()
        let connection = try await lab.connect()
        try await connection.send(
            "CONNECT a.test:\(lab.plain.port) HTTP/1.1\r\nHost: a.test\r\n\r\nGET /status/204 HTTP/1.1\r\nHost: a.test\r\n\r\n"
        )
        #expect(try await connection.receiveHead().hasPrefix("HTTP/1.1 200"))
        #expect(try await connection.receiveHead().hasPrefix("HTTP/1.1 204"))
        await connection.close()
        await lab.stop()
    }

    /// The count after it has risen, and then not for a second.
    private static func settled(_ count: NIOLockedValueBox<Int>) async throws -> Int {
        var (last, since) = (0, ContinuousClock.now)
        try await eventually("the end of the sending") {
            let now = count.withLockedValue { $0 }
            if now != last { (last, since) = (now, .now) }
            return last > 0 && ContinuousClock.now - since > .seconds(1)
        }
        return last
    }

    @Test("a client that does not read stops the server from sending, and memory stays bounded")
    func slowClient() async throws {
        let lab = try await ProxyLab()
        let sent = NIOLockedValueBox(0)
        let block = [UInt8](repeating: 7, count: 1 << 16)
        let server = try await RawServer.start { connection in
            for _ in 0..<1536 {
                try await connection.send(block)
                sent.withLockedValue { $0 += block.count }
            }
        }
        let tunnel = try await lab.tunnel(to: "a.test", port: server.port)
        // Nothing is read until the server stops sending.
        #expect(try await Self.settled(sent) < 64 << 20, "only the kernel's buffers fill")
        var total = 0
        while total < 96 << 20, let bytes = try await tunnel.receive() { total += bytes.count }
        #expect(total == 96 << 20, "and nothing is lost")
        await tunnel.close()
        await server.stop()
        await lab.stop()
    }

    @Test("a server that does not read stops the client from sending, and memory stays bounded")
    func slowServer() async throws {
        let lab = try await ProxyLab()
        let (counted, tell) = AsyncStream.makeStream(of: Int.self)
        let reading = Gate()
        let server = try await RawServer.start(allowsHalfClosure: true) { connection in
            try await reading.wait()
            tell.yield(try await connection.drain())
        }
        let tunnel = try await lab.tunnel(to: "a.test", port: server.port)
        let sent = NIOLockedValueBox(0)
        let sending = Task {
            let block = [UInt8](repeating: 7, count: 1 << 16)
            for _ in 0..<1536 {
                try await tunnel.send(block)
                sent.withLockedValue { $0 += block.count }
            }
            try await tunnel.finishSending()
        }
        #expect(try await Self.settled(sent) < 64 << 20, "only the kernel's buffers fill")
        reading.open()
        #expect(await counted.first { _ in true } == 96 << 20, "and nothing is lost")
        try await sending.value
        await tunnel.close()
        await server.stop()
        await lab.stop()
    }

    @Test("a reset by the server closes the client's connection")
    func reset() async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start { connection in
            _ = try await connection.receive()
            await connection.reset()
        }
        let tunnel = try await lab.tunnel(to: "a.test", port: server.port)
        try await tunnel.send("x")
        #expect((try? await tunnel.receive()) == nil)
        try await server.connections { $0.open == 0 }
        await server.stop()
        await lab.stop()
    }

    @Test("SOCKS5 accepts names and IPv4 addresses, with and without a password")
    func socks() async throws {
        let credentials = ProxyCredentials(user: "me", password: "secret")
        for wanted in [nil, credentials] {
            let lab = try await ProxyLab(configure: { $0.credentials = wanted })
            let port = [UInt8(lab.plain.port >> 8), UInt8(lab.plain.port & 255)]
            let targets: [[UInt8]] = [[3, 6] + Array("a.test".utf8), [1, 127, 0, 0, 1]]
            for target in targets {
                let connection = try await lab.connect()
                if wanted == nil {
                    try await connection.send([5, 1, 0])
                    #expect(try await connection.receive(count: 2) == [5, 0])
                } else {
                    try await connection.send([5, 2, 0, 2])
                    #expect(try await connection.receive(count: 2) == [5, 2])
                    try await connection.send([1, 2] + Array("me".utf8) + [6] + Array("secret".utf8))
                    #expect(try await connection.receive(count: 2) == [1, 0])
                }
                try await connection.send([5, 1, 0] + target + port)
                #expect(try await connection.receive(count: 10) == [5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
                try await connection.send("GET /status/204 HTTP/1.1\r\nHost: a.test\r\n\r\n")
                #expect(try await connection.receiveHead().hasPrefix("HTTP/1.1 204"))
                await connection.close()
            }
            await lab.stop()
        }
    }

    @Test("SOCKS5 accepts IPv6 addresses, also as names with or without brackets")
    func socksV6() async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start(addresses: ["::1"]) { try await $0.send("six") }
        let port = [UInt8(server.port >> 8), UInt8(server.port & 255)]
        let targets: [[UInt8]] = [
            [4] + [UInt8](repeating: 0, count: 15) + [1], [3, 3] + Array("::1".utf8), [3, 5] + Array("[::1]".utf8),
        ]
        for target in targets {
            let connection = try await lab.connect()
            try await connection.send([5, 1, 0])
            _ = try await connection.receive(count: 2)
            try await connection.send([5, 1, 0] + target + port)
            #expect(try await connection.receive(count: 10).prefix(2) == [5, 0], "\(target)")
            #expect(try await connection.receiveAll() == "six")
            await connection.close()
        }
        await server.stop()
        await lab.stop()
    }

    @Test("an upstream proxy receives the name, and no DNS query is sent")
    func upstreamProxy() async throws {
        let other = try await ProxyServer.start(.http, credentials: "me:secret") { _, port in
            Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
        }
        let origin = Origin(scheme: .http, host: Host(other.endpoint.address), port: other.endpoint.port)
        let proxy = Proxy(origin: origin, user: "me", password: "secret")
        let lab = try await ProxyLab(
            client: { $0.proxies = ProxySettings(http: proxy, https: proxy) },
            handler: { .text("\($0.connection.serverName ?? "-") \($0.target)") }
        )
        let user = try lab.user()
        let secure = try await user.get("https://a.test:\(lab.site.port)/x")
        #expect(String(buffer: try await secure.collect(upTo: 1 << 16)) == "a.test /x")
        let plain = try await user.get("http://a.test:\(lab.plain.port)/y")
        #expect(String(buffer: try await plain.collect(upTo: 1 << 16)) == "- /y")
        #expect(other.requests.map(\.host) == ["a.test", "a.test"])
        #expect(lab.upstream.queries.isEmpty)
        await user.shutDown()
        await lab.stop()
        await other.stop()
    }

    @Test("tunnels and requests are refused if the upstream proxy cannot be used")
    func unusableUpstreamProxy() async throws {
        let lab = try await ProxyLab(
            client: { $0.proxies = ProxySettings(environment: ["all_proxy": "socks4://127.0.0.1:1"]) },
            handler: { _ in .text("") }
        )
        let user = try lab.user()
        await #expect(throws: BeelineError.self) { try await user.get("https://a.test:\(lab.site.port)/") }
        #expect(try await user.get("http://a.test:\(lab.plain.port)/").status.code == 502)
        #expect(lab.site.requests.isEmpty && lab.plain.requests.isEmpty && lab.upstream.queries.isEmpty)
        await user.shutDown()
        await lab.stop()
    }

    @Test("switching HTTPDNS off sends names to the system's resolver, and switching it on uses the upstreams again")
    func theSwitch() async throws {
        let lab = try await ProxyLab(client: { $0.resolver.system = nil })
        await (try lab.tunnel(to: "a.test", port: lab.plain.port)).close()
        lab.proxy.isHTTPDNSEnabled = false
        await #expect(throws: Unexpected.self) { _ = try await lab.tunnel(to: "a.test", port: lab.plain.port) }
        lab.proxy.isHTTPDNSEnabled = true
        await (try lab.tunnel(to: "a.test", port: lab.plain.port)).close()
        #expect(lab.upstream.queries.count == 1)
        await lab.stop()
    }

    @Test("a half-closed tunnel and a tunnel that lasts too long end at their limits")
    func longLimits() async throws {
        for isHalfOpen in [true, false] {
            let lab = try await ProxyLab(configure: {
                $0.limits.halfClosed = isHalfOpen ? .milliseconds(200) : nil
                $0.limits.total = isHalfOpen ? nil : .milliseconds(300)
            })
            let server = try await RawServer.start(allowsHalfClosure: true) { connection in
                guard !isHalfOpen else { return try await connection.hold() }
                while true {
                    try await connection.send("tick")
                    // Not a wait for an event: the pace of a connection that is never idle.
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            let tunnel = try await lab.tunnel(to: "a.test", port: server.port)
            if isHalfOpen { try await tunnel.finishSending() }
            _ = try? await tunnel.drain()
            await tunnel.close()
            try await eventually("the end of the tunnel") { await lab.proxy.counts().openTunnels == 0 }
            // A half-closed server that sends nothing does not notice the other end.
            if !isHalfOpen { try await server.connections { $0.accepted == 1 && $0.open == 0 } }
            await server.stop()
            await lab.stop()
        }
    }

    @Test("idle tunnels, unfinished heads and idle connections end at their limits")
    func limits() async throws {
        let lab = try await ProxyLab(configure: {
            $0.limits.idle = .milliseconds(200)
            $0.limits.head = .milliseconds(200)
            $0.limits.keepIdle = .milliseconds(200)
        })
        let server = try await RawServer.start { try await $0.hold() }
        let idle = try await lab.tunnel(to: "a.test", port: server.port)
        #expect((try? await idle.receive()) ?? nil == nil)
        let unfinished = try await lab.connect()
        try await unfinished.send("GET http://a.te")
        #expect(try await unfinished.receiveAll().hasPrefix("HTTP/1.1 408 "))
        let silent = try await lab.connect()
        #expect(try await silent.receiveAll() == "")
        let kept = try await lab.connect()
        try await kept.send("GET http://a.test:\(lab.plain.port)/status/204 HTTP/1.1\r\nHost: a.test\r\n\r\n")
        #expect(try await kept.receiveAll().hasPrefix("HTTP/1.1 204"))
        try await server.connections { $0.open == 0 }
        await server.stop()
        await lab.stop()
    }
}
