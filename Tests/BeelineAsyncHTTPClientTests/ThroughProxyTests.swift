// SPDX-License-Identifier: Apache-2.0

#if AsyncHTTPClient
import AsyncHTTPClient
import Beeline
import BeelineProxy
import BeelineTesting
import NIOCore
import NIOHTTP1
import NIOSSL
import Testing

/// An unmodified AsyncHTTPClient, and a name that only the proxy's upstream knows.
@Suite("AsyncHTTPClient through the proxy", .timeLimit(.minutes(1)))
struct ThroughProxyTests {
    @Test("methods, bodies, redirects, HTTP/2 and credentials work, in the clear and over TLS")
    func whole() async throws {
        let authority = try TestAuthority()
        var tls = ServerTLS(try authority.certificate(for: "a.test"))
        tls.applicationProtocols = ["h2", "http/1.1"]
        let handler: LoopbackOrigin.Handler = { request in
            switch request.path {
            case "/old": Reply(status: .temporaryRedirect, fields: [.location: "/new"])
            case "/large": Reply(body: [.zeros(3_000_000)])
            default: .text("\(request.method) \(request.bodySize) \(request.version) \(request.authority ?? "-")")
            }
        }
        let site = try await LoopbackOrigin.start(tls: tls, handler: handler)
        let plain = try await LoopbackOrigin.start(handler: handler)
        let upstream = try await UpstreamServer.start()
        try upstream.zone.set("a.test", to: ["127.0.0.1"])
        var settings = ClientConfiguration()
        settings.upstreams = [.dnspod(at: [upstream.endpoint])]
        settings.resolver.check.allowsLocalAnswers = true
        settings.resolver.families = .v4
        settings.proxies = .none
        var configuration = ProxyConfiguration()
        configuration.credentials = .token()
        configuration.policy.allowsLocalAnswers = true
        configuration.policy.tunnelPorts = []
        let resolving = try BeelineClient(settings)
        let proxy = try await BeelineProxy.start(configuration, client: resolving)
        let credentials = try #require(configuration.credentials)

        var trusting = TLSConfiguration.makeClientConfiguration()
        trusting.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.rootPEM.utf8)))
        var client = HTTPClient.Configuration(tlsConfiguration: trusting)
        client.proxy = .server(
            host: "\(proxy.endpoint.address)",
            port: Int(proxy.endpoint.port),
            authorization: .basic(username: credentials.user, password: credentials.password)
        )
        let user = HTTPClient(eventLoopGroupProvider: .singleton, configuration: client)
        for (base, version) in [("https://a.test:\(site.port)", "HTTP/2"), ("http://a.test:\(plain.port)", "HTTP/1.1")]
        {
            let authority = base.split(separator: "/").last ?? ""
            var request = HTTPClientRequest(url: "\(base)/old")
            request.method = .POST
            request.body = .bytes(ByteBuffer(repeating: 7, count: 300_000))
            let posted = try await user.execute(request, timeout: .seconds(20))
            #expect(
                String(buffer: try await posted.body.collect(upTo: 1_024)) == "POST 300000 \(version) \(authority)"
            )
            let large = try await user.execute(HTTPClientRequest(url: "\(base)/large"), timeout: .seconds(20))
            #expect(try await large.body.collect(upTo: 4_000_000).readableBytes == 3_000_000)
        }
        #expect(site.requests.first?.connection.serverName == "a.test")
        let counts = await proxy.counts()
        #expect(counts.tunnels >= 2, "it asks for a tunnel to an http origin, too: \(counts)")
        try await user.shutdown()
        await proxy.stop()
        await resolving.shutDown()
        await site.stop()
        await plain.stop()
        await upstream.stop()
    }
}
#endif
