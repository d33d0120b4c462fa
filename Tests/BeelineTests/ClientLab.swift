// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import NIOCore

/// A client, an HTTPDNS service that only it uses, and a site with a certificate for each of its names.
struct ClientLab {
    let authority: TestAuthority
    let site: LoopbackOrigin
    let upstream: UpstreamServer
    let client: BeelineClient

    /// - Parameters:
    ///   - names: the site's names; the service answers them with the first of `addresses`.
    ///   - protocols: the ALPN identifiers that the site supports.
    ///   - jar: the client's cookies.
    ///   - hsts: the hosts that require TLS.
    ///   - clock: the clock for the client's waits between attempts.
    ///   - configure: changes the client's configuration.
    init(
        names: [String] = ["a.test", "b.test"],
        addresses: [String] = ["127.0.0.1", "127.0.0.2"],
        protocols: [String] = ["http/1.1"],
        jar: CookieJar? = CookieJar(),
        hsts: HSTSStore? = HSTSStore(),
        clock: any Clock<Duration> = ContinuousClock(),
        configure: (inout ClientConfiguration) throws -> Void = { _ in },
        handler: @escaping LoopbackOrigin.Handler
    ) async throws {
        let authority = try TestAuthority()
        self.authority = authority
        var tls = ServerTLS()
        tls.certificates = try names.map { try authority.certificate(for: $0) }
        tls.applicationProtocols = protocols
        site = try await LoopbackOrigin.start(addresses: addresses, tls: tls, handler: handler)
        upstream = try await UpstreamServer.start()
        for name in names { try upstream.zone.set(name, to: [addresses[0]]) }
        var configuration = ClientConfiguration()
        configuration.upstreams = [.dnspod(at: [upstream.endpoint])]
        configuration.resolver.check.allowsLocalAnswers = true
        configuration.resolver.families = .v4
        configuration.tls.trustsSystemRoots = false
        configuration.tls.rootPEMs = [authority.rootPEM]
        configuration.proxies = .none
        try configure(&configuration)
        client = try BeelineClient(configuration, jar: jar, hsts: hsts, clock: clock)
    }

    func url(_ name: String, _ path: String = "/") -> String { "https://\(name):\(site.port)\(path)" }

    func stop() async {
        await client.shutDown()
        await site.stop()
        await upstream.stop()
    }
}

/// A client for a plain server that is reached by its address.
func plainClient(_ configure: (inout ClientConfiguration) -> Void = { _ in }) throws -> BeelineClient {
    var configuration = ClientConfiguration()
    configuration.upstreams = []
    configuration.proxies = .none
    configure(&configuration)
    return try BeelineClient(configuration)
}

extension LoopbackOrigin {
    /// `http://127.0.0.1:port/path`.
    func url(_ path: String = "/") -> String { "http://\(endpoint)\(path)" }
}

extension Response {
    func text() async throws -> String { String(buffer: try await collect(upTo: 1 << 20)) }
}
