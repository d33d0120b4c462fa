// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import NIOCore

/// A client, an HTTPDNS service that only it knows, and a site with a certificate for each of its names.
struct ClientLab {
    let authority: TestAuthority
    let site: LoopbackOrigin
    let upstream: UpstreamServer
    let client: BeelineClient

    /// - Parameters:
    ///   - names: the site's names; the service knows them at the first of `addresses`.
    ///   - configure: changes what the client is made of.
    init(
        names: [String] = ["a.test", "b.test"],
        addresses: [String] = ["127.0.0.1", "127.0.0.2"],
        configure: (inout ClientConfiguration) throws -> Void = { _ in },
        handler: @escaping LoopbackOrigin.Handler
    ) async throws {
        let authority = try TestAuthority()
        self.authority = authority
        var tls = ServerTLS()
        tls.certificates = try names.map { try authority.certificate(for: $0) }
        site = try await LoopbackOrigin.start(addresses: addresses, tls: tls, handler: handler)
        upstream = try await UpstreamServer.start()
        for name in names { try upstream.zone.set(name, to: [addresses[0]]) }
        var configuration = ClientConfiguration()
        configuration.upstreams = [.dnspod([upstream.endpoint])]
        configuration.resolver.check.allowLocalAnswers = true
        configuration.resolver.families = .v4
        configuration.tls.trustsSystemRoots = false
        configuration.tls.rootPEMs = [authority.rootPEM]
        configuration.proxies = .none
        try configure(&configuration)
        client = try BeelineClient(configuration)
    }

    func url(_ name: String, _ path: String = "/") -> String { "https://\(name):\(site.port)\(path)" }

    func stop() async {
        await client.shutDown()
        await site.stop()
        await upstream.stop()
    }
}

extension Response {
    func text() async throws -> String { String(buffer: try await collect(upTo: 1 << 20)) }
}
