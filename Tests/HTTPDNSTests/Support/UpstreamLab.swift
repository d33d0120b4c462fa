// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import HTTPDNS
import Names

/// An HTTPDNS service on loopback, over HTTP and over TLS as `dns.test`, with an engine to connect to it.
struct UpstreamLab {
    let zone = Zone()
    let plain: UpstreamServer
    let secure: UpstreamServer
    let engine = Engine()
    let transport: EngineTransport

    init() async throws {
        let authority = try TestAuthority()
        plain = try await UpstreamServer.start(zone: zone)
        secure = try await UpstreamServer.start(zone: zone, tls: ServerTLS(try authority.certificate(for: "dns.test")))
        var tls = TLSSettings()
        tls.trustsSystemRoots = false
        tls.rootPEMs = [authority.rootPEM]
        transport = EngineTransport(engine: engine, tls: tls)
        try zone.set("www.a.test", to: ["192.0.2.1", "192.0.2.2", "2001:db8::1"], ttl: 300)
        zone.set("alias.a.test", .alias(of: "www.a.test", ttl: 30))
        zone.set("broken.a.test", .failure)
        zone.set("empty.a.test", .noAddress)
    }

    func dnspod() -> DNSPodUpstream {
        DNSPodUpstream(at: [plain.endpoint], transport: transport)
    }

    func doh(_ method: DoHUpstream.Method = .get, name: String = "dns.test") throws -> DoHUpstream {
        try DoHUpstream(
            try HTTPURL("https://\(name):\(secure.endpoint.port)/dns-query"),
            at: [secure.endpoint.address],
            method: method,
            transport: transport
        )
    }

    /// Runs `body`, then stops everything and checks that no connection is left.
    static func run(_ body: (UpstreamLab) async throws -> Void) async throws {
        let lab = try await UpstreamLab()
        try await body(lab)
        await lab.engine.shutDown()
        for server in [lab.plain, lab.secure] {
            try await server.connections { $0.open == 0 }
            await server.stop()
        }
    }
}
