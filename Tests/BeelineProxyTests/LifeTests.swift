// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineTesting
import NIOCore
import Names
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("A proxy from its start to its stop", .serialized, .timeLimit(.minutes(15)))
struct LifeTests {
    @Test("after a suspension the proxy listens again on the same port, and open tunnels stay")
    func rebind() async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start { connection in
            while let bytes = try await connection.receive() { try await connection.send(bytes) }
        }
        let tunnel = try await lab.tunnel(to: "a.test", port: server.port)
        // Between the two listeners, the kernel may give another test the port.
        var isSame = false
        for _ in 0..<5 where !isSame {
            let before = lab.proxy.endpoint
            isSame = try await lab.proxy.rebind() == before
        }
        #expect(isSame)
        try await tunnel.send("still here")
        #expect(try await tunnel.receive(count: 10) == Array("still here".utf8))
        await (try lab.tunnel(to: "a.test", port: server.port)).close()
        await tunnel.close()
        await server.stop()
        await lab.stop()
    }

    @Test("concurrent rebinds, also during a stop, leave no listener behind")
    func rebindAtOnce() async throws {
        let lab = try await ProxyLab(configure: { $0.gatewayHosts = ["a.test"] })
        let place = try #require(lab.proxy.gateway).localURL(for: HTTPURL("http://a.test:\(lab.plain.port)/echo"))
            .target
        async let one = lab.proxy.rebind()
        async let other = lab.proxy.rebind()
        async let third = lab.proxy.rebind()
        let endpoints = try await [one, other, third]
        #expect(endpoints.contains(lab.proxy.endpoint))
        await (try lab.connect()).close()
        async let late = try? lab.proxy.rebind()
        await lab.proxy.stop()
        for endpoint in endpoints + [await late].compactMap({ $0 }) {
            // Another test may have the port by now, but its proxy does not know the token.
            guard let connection = try? await RawConnection.connect(to: endpoint) else { continue }
            try? await connection.send("GET \(place) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect((try? await connection.receiveHead())?.hasPrefix("HTTP/1.1 200 ") != true)
            await connection.close()
        }
        await lab.stop()
    }

    @Test("a proxy that stops lets tunnels finish, accepts no new ones, and closes the rest after its grace period")
    func drain() async throws {
        let lab = try await ProxyLab()
        let server = try await RawServer.start { connection in
            while let bytes = try await connection.receive() { try await connection.send(bytes) }
        }
        let tunnel = try await lab.tunnel(to: "a.test", port: server.port)
        let resting = try await lab.connect()
        let late = try await lab.connect()
        // The response shows that the proxy has read the start of the second request.
        let place = "a.test:\(server.port) HTTP/1.1\r\n"
        try await late.send("GET /proxy.pac HTTP/1.1\r\nHost: a\r\n\r\nCONNECT \(place)")
        _ = try await late.receiveResponse()
        // The kernel resets a connection that was not accepted when its listener closes.
        try await eventually("three connections") { await lab.proxy.counts().connections >= 3 }
        async let stopped: Void = lab.proxy.stop(within: .seconds(20))
        #expect(try await resting.receive() == nil, "a client that says nothing does not delay the end")
        try await late.send("Host: a\r\n\r\n")
        #expect(try await late.receiveHead().hasPrefix("HTTP/1.1 503 "), "no new tunnel delays the end")
        await late.close()
        try await tunnel.send("last words")
        #expect(try await tunnel.receive(count: 10) == Array("last words".utf8))
        await #expect(throws: (any Error).self) { _ = try await lab.connect() }
        await tunnel.close()
        await stopped
        await server.stop()
        await lab.stop()

        let other = try await ProxyLab()
        let holder = try await RawServer.start { try await $0.hold() }
        let held = try await other.tunnel(to: "a.test", port: holder.port)
        await other.proxy.stop(within: .milliseconds(100))
        #expect((try? await held.receive()) == nil)
        await #expect(throws: ProxyError.self) { try await other.proxy.rebind() }
        await holder.stop()
        await other.stop()
    }

    @Test("a proxy that stops before its time limit leaves nothing behind", .timeLimit(.minutes(1)))
    func earlyStop() async throws {
        weak var client: BeelineClient?
        do {
            let lab = try await ProxyLab()
            client = lab.client
            let holder = try await RawServer.start { try await $0.hold() }
            let tunnel = try await lab.tunnel(to: "a.test", port: holder.port)
            let resting = try await lab.connect()
            try await eventually("two connections") { await lab.proxy.counts().connections >= 2 }
            async let stopped: Void = lab.proxy.stop(within: .seconds(3_600))
            #expect(try await resting.receive() == nil)
            await tunnel.close()
            await stopped
            await resting.close()
            await holder.stop()
            await lab.stop()
        }
        try await eventually("the end of the client") { client == nil }
    }

    @Test("a proxy that stops within a very negative time closes its tunnels at once")
    func negativeTime() async throws {
        let lab = try await ProxyLab()
        let holder = try await RawServer.start { try await $0.hold() }
        let held = try await lab.tunnel(to: "a.test", port: holder.port)
        // Its nanoseconds exceed 64 bits.
        await lab.proxy.stop(within: .seconds(-1_000_000_000_000))
        #expect((try? await held.receive()) == nil)
        await holder.stop()
        await lab.stop()
    }

    @Test("the PAC file names the proxy by the address that its reader used")
    func pac() async throws {
        let lab = try await ProxyLab()
        let connection = try await lab.connect()
        try await connection.send("GET /proxy.pac HTTP/1.1\r\nHost: \(lab.proxy.endpoint)\r\n\r\n")
        let (head, body) = try await connection.receiveResponse()
        #expect(head.contains("Content-Type: application/x-ns-proxy-autoconfig\r\n"))
        #expect(body.contains("return \"PROXY \(lab.proxy.endpoint)\";"))
        try await connection.send("GET /proxy.pac HTTP/1.1\r\nHost: a\";b\r\n\r\n")
        #expect(try await !connection.receiveResponse().body.contains("FindProxyForURL"))
        await connection.close()
        await lab.stop()
    }

    @Test("tunnels open with expired answers while no upstream answers")
    func stale() async throws {
        let lab = try await ProxyLab(client: {
            $0.resolver.cache.ttlRange = .milliseconds(1)...(.milliseconds(1))
            // The first lookup must end in this time, too.
            $0.resolver.limits.total = .seconds(3)
        })
        await (try lab.tunnel(to: "a.test", port: lab.plain.port)).close()
        await lab.upstream.stop()
        await (try lab.tunnel(to: "a.test", port: lab.plain.port)).close()
        await lab.stop()
    }

    /// Tunnels that end in every possible way, at every phase; `BEELINE_SOAK=100000` for a long run.
    @Test("tunnels that are aborted and half-closed at random phases leave nothing behind")
    func soak() async throws {
        let rounds = ProcessInfo.processInfo.environment["BEELINE_SOAK"].flatMap { Int($0) } ?? 300
        let lab = try await ProxyLab()
        let server = try await Self.echo()
        let endpoint = Endpoint(IPAddress(v4: 0x7f00_0001), port: server.port)
        // The first tenth warms up caches and allocators.
        await Self.abuse(lab, port: server.port, rounds: rounds / 10, seed: 1)
        let before = ProcessUsage.now
        try await expectNoLeak(to: [endpoint, lab.proxy.endpoint]) {
            await Self.abuse(lab, port: server.port, rounds: rounds - rounds / 10, seed: 9)
        }
        let after = ProcessUsage.now
        if let least = before.residentBytes, let resident = after.residentBytes, rounds >= 10_000 {
            // 400 bytes leaked by each of 90,000 tunnels would be 36 MB.
            #expect(resident - least < 16 << 20, "\(least >> 20) MB before, \(resident >> 20) MB after")
            print("\(rounds) tunnels: \(least >> 10) kB before, \(resident >> 10) kB after; \(before), \(after)")
        }
        try await eventually("the end of the connections") { await lab.proxy.counts().connections == 0 }
        #expect(await lab.proxy.counts().openTunnels == 0)
        try await server.connections { $0.open == 0 }
        await server.stop()
        await lab.stop()
    }

    /// A test's time limit cancels its clients at any point. Descriptors that they leave open add up until the process
    /// has none left, and libdispatch aborts a process in that state.
    @Test("clients that are cancelled at random phases leave no descriptor open")
    func cancelled() async throws {
        let lab = try await ProxyLab()
        let server = try await Self.echo()
        let endpoint = Endpoint(IPAddress(v4: 0x7f00_0001), port: server.port)
        try await expectNoLeak(to: [endpoint, lab.proxy.endpoint]) {
            for round in 0..<3 {
                let tunnels = await lab.proxy.counts().tunnels
                let crowd = Task { await Self.abuse(lab, port: server.port, rounds: 100_000, seed: UInt64(round)) }
                try await eventually("forty tunnels") { await lab.proxy.counts().tunnels >= tunnels + 40 }
                crowd.cancel()
                await crowd.value
            }
        }
        await server.stop()
        await lab.stop()
    }

    private static func echo() async throws -> RawServer {
        try await RawServer.start(allowsHalfClosure: true) { connection in
            while let bytes = try await connection.receive() { try await connection.send(bytes) }
            try await connection.finishSending()
        }
    }

    private static func abuse(_ lab: ProxyLab, port: UInt16, rounds: Int, seed: UInt64) async {
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var random = SeededRandom(seed: seed + UInt64(worker))
                    for _ in 0..<(rounds / 8) where !Task.isCancelled {
                        await Self.abuse(lab, port: port, random: &random)
                    }
                }
            }
        }
    }

    private static func abuse(_ lab: ProxyLab, port: UInt16, random: inout SeededRandom) async {
        guard let connection = try? await lab.connect() else { return }
        try? await abuse(connection, port: port, random: &random)
        // A cancelled client has not closed its connection.
        await connection.close()
    }

    private static func abuse(
        _ connection: RawConnection,
        port: UInt16,
        random: inout SeededRandom
    ) async throws {
        let phase = Int.random(in: 0..<8, using: &random)
        if phase == 0 { return await connection.reset() }
        let request = "CONNECT a.test:\(port) HTTP/1.1\r\nHost: a\r\n\r\n"
        if phase == 1 {
            try await connection.send(String(request.prefix(Int.random(in: 1..<request.count, using: &random))))
            return
        }
        try await connection.send(request)
        if phase == 2 { return await connection.reset() }
        if phase == 3 { return }
        _ = try await connection.receive(until: "\r\n\r\n")
        if phase == 4 { return await connection.reset() }
        try await connection.send([UInt8](repeating: 1, count: Int.random(in: 1..<100_000, using: &random)))
        if phase == 5 { return await connection.reset() }
        if phase == 6 { return }
        try await connection.finishSending()
        try await connection.drain()
    }
}
