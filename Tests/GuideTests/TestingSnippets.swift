// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Testing

// The code of BeelineTesting's guide, compiled; see GuideSnippets.swift.

func siteOfATest() async throws {
    let authority = try TestAuthority()
    let origin = try await LoopbackOrigin.start(
        addresses: ["127.0.0.1", "127.0.0.2"],
        tls: ServerTLS(try authority.certificate(for: "a.test"), try authority.certificate(for: "b.test")),
        handler: { request in .text("\(request.method) \(request.path)") }
    )
    let upstream = try await UpstreamServer.start()
    try upstream.zone.set("a.test", to: ["127.0.0.1", "127.0.0.2"])

    var configuration = ClientConfiguration()
    configuration.upstreams = [.dnspod(at: [upstream.endpoint])]
    configuration.resolver.check.allowsLocalAnswers = true
    configuration.tls.rootPEMs = [authority.rootPEM]
    configuration.proxies = .none
    let client = try BeelineClient(configuration)
    _ = try await client.get("https://a.test:\(origin.port)/echo")  // in place of the code under test

    #expect(origin.requests.map(\.connection.serverName) == ["a.test"])
    #expect(upstream.queries.count == 1)
    await client.shutDown()
    await origin.stop()
    await upstream.stop()
}

struct MyUpstream: Upstream {
    let name = "mine"

    init(at endpoint: Endpoint) {}

    func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        throw UpstreamError(.unsupported, "this example asks no service")
    }
}

func checkUpstream() async throws {
    let server = try await UpstreamServer.start()
    try server.zone.set("known.test", to: ["192.0.2.1", "2001:db8::1"])
    server.zone.set("silent.test", fault: .silence)
    let suite = UpstreamConformance(
        known: try Host("known.test"),
        v4: [try IPAddress(parsing: "192.0.2.1")],
        v6: [try IPAddress(parsing: "2001:db8::1")],
        unknown: try Host("unknown.test"),
        silent: try Host("silent.test")
    )
    try await suite.check(MyUpstream(at: server.endpoint))
    await server.stop()
}
