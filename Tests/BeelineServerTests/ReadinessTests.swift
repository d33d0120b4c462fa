// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

@testable import BeelineServer

@Suite("Readiness", .timeLimit(.minutes(1)))
struct ReadinessTests {
    private static func service(_ upstreams: [any Upstream]) throws -> ServerService {
        var settings = ResolverConfiguration(upstreams: upstreams, system: nil)
        settings.network.monitor = nil
        return ServerService(ServerConfiguration(), resolver: Resolver(settings), zones: try ZoneFiles([]))
    }

    private static func status(_ service: ServerService, _ path: String) -> Int? {
        let request = ServerRequest(.get, target: path, client: IPAddress(v4: 1))
        guard case .reply(let reply) = service.handle(request, now: .now()) else { return nil }
        return reply.status
    }

    @Test("a server is ready from its start until it will stop, and alive until it refuses connections")
    func states() throws {
        let service = try Self.service([ScriptedUpstream("a") { _ in .silence }])
        #expect(service.readiness == .starting && Self.status(service, "/ready") == 503)
        service.started()
        #expect(service.readiness == .ready && Self.status(service, "/ready") == 200)
        #expect(service.retire())
        #expect(service.readiness == .draining && Self.status(service, "/ready") == 503)
        #expect(Self.status(service, "/health") == 200)
        #expect(!service.retire())
        service.drain()
        #expect(Self.status(service, "/health") == 503)
    }

    @Test("a server without upstreams and zones is not ready")
    func nothingToAnswerFrom() throws {
        let service = try Self.service([])
        service.started()
        #expect(service.readiness == .noUpstream)
    }

    @Test(
        "a server whose upstreams are down is not ready, also with a table, and becomes ready again without clients",
        arguments: [false, true]
    )
    func upstreamsDown(_ hasTable: Bool) async throws {
        let isUp = NIOLockedValueBox(false)
        let upstream = ScriptedUpstream("away") { question in
            guard isUp.withLockedValue({ $0 }) else { return .fail(UpstreamError(.unreachable, "is away")) }
            return .answer(Answer(v4: .addresses([IPAddress(v4: 0xc000_0201)], ttl: .seconds(60)), v6: nil))
        }
        let table = hasTable ? FixedUpstream(HostsTable(parsing: "192.0.2.9 t.test")) : nil
        let lab = try await ServerLab(carrier: upstream, table: table) { $0.zones = [] }
        #expect(try await lab.get("/ready").status == 200)
        for number in 0..<4 { _ = try await lab.get("/resolve?name=n\(number).test") }
        let reply = try await lab.get("/ready")
        #expect(reply.status == 503 && reply.body == Array("no upstream answers\n".utf8))
        #expect(lab.server.readiness == .noUpstream)
        isUp.withLockedValue { $0 = true }
        try await eventually("readiness", every: .milliseconds(20)) { try await lab.get("/ready").status == 200 }
        await lab.stop()
    }

    @Test("zones alone make a server ready")
    func zones() async throws {
        let upstream = ScriptedUpstream("away") { _ in .fail(UpstreamError(.unreachable, "is away")) }
        let lab = try await ServerLab(carrier: upstream)
        for number in 0..<4 { _ = try await lab.get("/resolve?name=n\(number).test") }
        #expect(try await lab.get("/ready").status == 200)
        await lab.stop()
    }

    @Test("during the drain delay new connections are accepted, and /ready says that the server stops")
    func drainDelay() async throws {
        let lab = try await ServerLab {
            $0.tls = nil
            $0.drainDelay = .seconds(2)
        }
        async let stopping: Void = lab.server.stop()
        try await eventually("draining", within: .seconds(10)) {
            try await lab.get("/ready", scheme: .http).body == Array("draining\n".utf8)
        }
        let connection = try await RawConnection.connect(to: lab.endpoint)
        try await connection.send("GET /resolve?name=www.corp.test HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        let head = try await connection.receive(until: "\r\n")
        #expect(head.map { String(decoding: $0, as: UTF8.self) } == "HTTP/1.1 200 OK\r\n")
        await stopping
        #expect(try await connection.drain() > 0)
        await #expect(throws: (any Error).self) { try await RawConnection.connect(to: lab.endpoint) }
        await lab.stop()
    }
}
