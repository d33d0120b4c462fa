// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineTesting
import BeelineWebDriver
import CookieJar
import Foundation

/// A site on one address with a certificate for each of its names, which only the test's upstream resolves; a client, a
/// proxy that shares the client's resolver, and a real browser behind the proxy, whose own resolver leads to another
/// server.
struct BrowserLab {
    let authority: TestAuthority
    let site: LoopbackOrigin
    /// The server that poisoned answers lead to. It has the site's certificates; tests fail if it gets a connection.
    let trap: LoopbackOrigin
    let upstream: UpstreamServer
    let jar: CookieJar
    let client: BeelineClient
    let proxy: BeelineProxy
    let browser: Browser
    private let tls: ServerTLS
    private let handler: LoopbackOrigin.Handler
    private let display: Display?

    static let names = ["www.a.test", "api.a.test", "www.b.test"]

    /// - Parameters:
    ///   - kind: which browser to start.
    ///   - isProxied: whether the browser uses the proxy.
    ///   - trustsAuthority: whether the browser trusts the issuer of the site's certificates.
    ///   - protocols: the protocols of the site, as ALPN names them.
    ///   - cookieInterval: the interval at which the browser's cookies are read.
    ///   - handler: answers the requests to the site.
    init(
        _ kind: BrowserKind,
        isProxied: Bool = true,
        trustsAuthority: Bool = true,
        protocols: [String] = ["h2", "http/1.1"],
        cookieInterval: Duration = .milliseconds(500),
        handler: @escaping LoopbackOrigin.Handler = BrowserSite.handler
    ) async throws {
        let authority = try TestAuthority()
        self.authority = authority
        self.handler = handler
        var tls = ServerTLS()
        let certificates = try Self.names.map { try authority.certificate(for: $0) }
        tls.certificates = certificates
        tls.applicationProtocols = protocols
        self.tls = tls
        var limits = LoopbackOrigin.Limits()
        limits.streamWindow = 4 << 20
        site = try await LoopbackOrigin.start(addresses: ["127.0.0.1"], tls: tls, limits: limits, handler: handler)
        trap = try await LoopbackOrigin.start(addresses: ["127.0.0.9"], port: site.port, tls: tls) { _ in
            .text("poisoned")
        }
        upstream = try await UpstreamServer.start()
        for name in Self.names { try upstream.zone.set(name, to: ["127.0.0.1"]) }
        jar = CookieJar()
        var settings = ClientConfiguration()
        settings.upstreams = [.dnspod(at: [upstream.endpoint])]
        settings.resolver.check.allowsLocalAnswers = true
        settings.resolver.families = .v4
        settings.resolver.system = nil
        settings.tls.trustsSystemRoots = false
        settings.tls.rootPEMs = [authority.rootPEM]
        settings.proxies = .none
        client = try BeelineClient(settings, jar: jar)
        var configuration = ProxyConfiguration()
        configuration.policy.tunnelPorts = []
        configuration.policy.allowsLocalAnswers = true
        configuration.blankPagePath = ProxyConfiguration.unguessablePath()
        proxy = try await BeelineProxy.start(configuration, client: client)
        display = kind == .webKit ? try await Display() : nil
        let trusted = trustsAuthority ? certificates : []
        var launch = try Self.configuration(
            kind,
            roots: trustsAuthority ? [authority.rootPEM] : [],
            certificates: trusted,
            display: display
        )
        launch.cookieInterval = cookieInterval
        launch.proxy = isProxied ? proxy.endpoint : nil
        launch.blankPagePath = configuration.blankPagePath
        self.browser = try await Browser.start(launch)
    }

    private static func configuration(
        _ kind: BrowserKind,
        roots: [String],
        certificates: [TestCertificate],
        display: Display?
    ) throws -> BrowserConfiguration {
        var configuration = BrowserConfiguration()
        configuration.kind = kind
        configuration.isHeadless = true
        configuration.rootPEMs = kind == .webKit ? [] : roots
        var environment = ProcessInfo.processInfo.environment
        switch kind {
        case .chromium: configuration.arguments = ["--host-resolver-rules=MAP *.test 127.0.0.9"]
        case .firefox: break
        case .webKit:
            environment["DISPLAY"] = display?.name
            for certificate in certificates {
                guard let name = certificate.names.first, let folder = display?.folder else { continue }
                configuration.pinnedCertificates[name] = try certificate.write(to: folder, stem: name).chain
            }
        }
        configuration.environment = environment
        return configuration
    }

    /// `https://www.a.test:port/path`.
    func url(_ name: String, _ path: String = "/") throws -> HTTPURL {
        try HTTPURL("https://\(name):\(site.port)\(path)")
    }

    /// Moves the site to another address; the old address no longer answers.
    ///
    /// - Returns: the site at its new address, which the caller stops.
    func move(to address: String) async throws -> LoopbackOrigin {
        let moved = try await LoopbackOrigin.start(addresses: [address], port: site.port, tls: tls, handler: handler)
        for name in Self.names { try upstream.zone.set(name, to: [address]) }
        await site.stop()
        return moved
    }

    /// The value of a JavaScript expression in the page.
    func evaluate<Value: Decodable>(_ expression: String, as type: Value.Type = Value.self) async throws -> Value {
        try JSONDecoder().decode(type, from: Data(try await browser.evaluate(expression).utf8))
    }

    func pageText() async throws -> String { try await evaluate("document.body.innerText") }

    func stop() async {
        await browser.end()
        await proxy.stop()
        await client.shutDown()
        await site.stop()
        await trap.stop()
        await upstream.stop()
        await display?.stop()
    }
}
