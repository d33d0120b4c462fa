// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Beeline
import BeelineTesting
import DirectHTTP
import FoundationEssentials
import LibC
import Names
import Testing

@testable import BeelineProxy

/// Each test runs in a process of its own, because it changes the process's limit.
@Suite("The proxy at its limit of file descriptors", .timeLimit(.minutes(5)))
struct DescriptorTests {
    @Test("a proxy that ran out of descriptors serves again when some are free")
    func recovers() async throws {
        await #expect(processExitsWith: .success) {
            let lab = try await ProxyLab()
            await (try lab.tunnel(to: "a.test", port: lab.plain.port)).close()
            let before = Descriptors.limit
            Descriptors.limit = OpenDescriptors.count() + 12
            var connections: [RawConnection] = []
            for _ in 0..<12 {
                if let connection = try? await lab.connect() { connections.append(connection) }
            }
            // The proxy runs out before its clients do: all share one process's limit.
            let counts = await lab.proxy.counts()
            guard counts.connections < 12 else { throw Unexpected(text: "descriptors did not run out: \(counts)") }
            for connection in connections { await connection.close() }
            Descriptors.limit = before
            try await withTimeLimit(.seconds(20), for: { "a tunnel" }) {
                await (try lab.tunnel(to: "a.test", port: lab.plain.port)).close()
            }
            await lab.stop()
        }
    }

    @Test("a proxy derives its connection limit from its descriptors, refuses the next clients, and closes the rest")
    func budget() async throws {
        await #expect(processExitsWith: .success) {
            let before = Descriptors.limit
            // The proxy computes its limits when it starts to listen: (400 - 100) / 2 clients, and 100 / 2 refusals.
            Descriptors.limit = 400
            let lab = try await ProxyLab()
            Descriptors.limit = before
            var served: [RawConnection] = []
            for _ in 0..<150 { served.append(try await lab.connect()) }
            let request = "CONNECT a.test:\(lab.plain.port) HTTP/1.1\r\nHost: a\r\n\r\n"
            var told: [RawConnection] = []
            for _ in 0..<50 { told.append(try await lab.connect()) }
            try await eventually("200 connections") { await lab.proxy.counts().connections >= 200 }
            let flood = try await lab.connect()
            guard (try? await flood.receive()) == nil else { throw Unexpected(text: "a flood was served") }
            for connection in told {
                try await connection.send(request)
                let answer = try await connection.receiveAll()
                guard answer.hasPrefix("HTTP/1.1 503 ") else { throw Unexpected(text: answer) }
            }
            try await served[149].send(request)
            let answer = try await served[149].receiveHead()
            guard answer.hasPrefix("HTTP/1.1 200 ") else { throw Unexpected(text: answer) }
            for connection in served + told + [flood] { await connection.close() }
            await lab.stop()
        }
    }

    @Test("dials to a name with many dead addresses take three descriptors each at most")
    func dials() async throws {
        await #expect(processExitsWith: .success) {
            let lab = try await ProxyLab(
                configure: { $0.limits.connect = .seconds(2) },
                client: { $0.engine.dial.stagger = .milliseconds(50) }
            )
            let first = try BlackHole(address: "127.0.0.11")
            let port = first.endpoint.port
            let holes = try [first] + (12...22).map { try BlackHole(address: "127.0.0.\($0)", port: port) }
            try lab.upstream.zone.set("a.test", to: holes.map { "\($0.endpoint.address)" })
            let before = OpenDescriptors.count()
            var clients: [RawConnection] = []
            for _ in 0..<20 {
                let client = try await lab.connect()
                try await client.send("CONNECT a.test:\(port) HTTP/1.1\r\nHost: a\r\n\r\n")
                clients.append(client)
            }
            // Each client takes two descriptors in this process.
            let most = before + 20 * (2 + DescriptorBudget.maxAttempts)
            var seen = 0
            let ended = clients[19]
            async let answer = ended.receiveHead()
            while await lab.proxy.counts().refused < 20 {
                seen = max(seen, OpenDescriptors.count())
                await Task.yield()
            }
            guard try await answer.hasPrefix("HTTP/1.1 504 ") else { throw Unexpected(text: try await answer) }
            // The resolver and the test take some too.
            guard (most - 10...most + 20).contains(seen) else {
                throw Unexpected(text: "\(seen) of \(before), \(most)")
            }
            for client in clients { await client.close() }
            await lab.stop()
        }
    }

    @Test("descriptors for several attempts come from those that no client needs, and idle connections get the rest")
    func attempts() {
        var budget = DescriptorBudget(connections: 1_000, descriptors: 400)
        #expect(budget.clients == 150 && budget.idle(clients: 140) == 20)
        #expect(budget.beginDial(to: 12, clients: 140) == 3)
        #expect(budget.beginDial(to: 2, clients: 140) == 2)
        #expect(budget.beginDial(to: 1, clients: 140) == 1)
        #expect(budget.clients == 148 && budget.idle(clients: 140) == 17)
        #expect(budget.beginDial(to: 12, clients: 148) == 2)
        #expect(budget.beginDial(to: 12, clients: 148) == 1, "no descriptor is left for a second attempt")
        for attempts in [3, 2, 1, 2, 1] { budget.endDial(attempts: attempts) }
        #expect(budget.clients == 150 && budget.idle(clients: 150) == 0)
        #expect(DescriptorBudget(connections: 10, descriptors: nil).idle(clients: 10) > 1_000_000)
    }

    /// `BEELINE_SOAK=1` opens as many tunnels as the test's server accepts; each takes four descriptors of this
    /// process.
    @Test("the proxy carries as many tunnels as its limit allows, refuses the next, and leaves nothing open at the end")
    func manyAtOnce() async throws {
        await #expect(processExitsWith: .success) {
            let most = ProcessInfo.processInfo.environment["BEELINE_SOAK"] == nil ? 300 : 4_000
            Descriptors.limit = Descriptors.hardLimit
            let count = min(most, (Descriptors.limit - 600) / 4)
            let lab = try await ProxyLab(configure: { $0.limits.connections = count })
            let server = try await RawServer.start { connection in
                while let bytes = try await connection.receive() { try await connection.send(bytes) }
            }
            let port = server.port
            let tunnels = try await withThrowingTaskGroup(of: RawConnection.self) { group in
                for _ in 0..<count { group.addTask { try await lab.tunnel(to: "a.test", port: port) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for _ in 0..<20 {
                let one = try await lab.connect()
                try await one.send("CONNECT a.test:\(port) HTTP/1.1\r\nHost: a\r\n\r\n")
                let answer = try await one.receiveAll()
                guard answer.hasPrefix("HTTP/1.1 503 "), answer.contains("reached its limit of connections") else {
                    throw Unexpected(text: answer)
                }
                await one.close()
            }
            for tunnel in [tunnels[0], tunnels[count / 2], tunnels[count - 1]] {
                try await tunnel.send("through")
                guard try await tunnel.receive(count: 7) == Array("through".utf8) else {
                    throw Unexpected(text: "a tunnel among \(count) does not carry")
                }
            }
            for tunnel in tunnels { await tunnel.close() }
            try await server.connections(within: .seconds(60)) { $0.open == 0 }
            await (try lab.tunnel(to: "a.test", port: port)).close()
            await server.stop()
            await lab.stop()
        }
    }
}

/// The limit of open descriptors of this process.
private enum Descriptors {
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    static var limit: Int {
        get { Int(clamping: both.rlim_cur) }
        set {
            var limit = both
            limit.rlim_cur = rlim_t(newValue)
            setrlimit(resource, &limit)
        }
    }

    static var hardLimit: Int { Int(clamping: both.rlim_max) }

    private static var both: rlimit {
        var limit = rlimit()
        getrlimit(resource, &limit)
        return limit
    }
}
#endif
