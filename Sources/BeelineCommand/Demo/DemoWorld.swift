// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting

/// The little internet of the demo, on loopback: two HTTPS sites on one address, one of them on a second address too, an
/// HTTPDNS service that knows where they are, and a "system" resolver that lies.
struct DemoWorld {
    static let shop = "shop.example"
    static let blog = "blog.example"

    let sites: LoopbackOrigin
    let impostor: LoopbackOrigin
    let httpdns: UpstreamServer
    let client: BeelineClient

    init() async throws {
        let authority = try TestAuthority()
        sites = try await LoopbackOrigin.start(
            addresses: ["127.0.0.11", "127.0.0.12"],
            tls: ServerTLS(try authority.certificate(for: Self.shop), try authority.certificate(for: Self.blog))
        ) { DemoWorld.site($0) }
        // Whoever lies about names has no certificate for them: only one that nobody trusts.
        impostor = try await LoopbackOrigin.start(
            addresses: ["127.0.0.66"],
            port: sites.port,
            tls: ServerTLS(try TestAuthority(name: "Impostor").certificate(for: Self.shop))
        ) { _ in .text("give me your password\n") }
        httpdns = try await UpstreamServer.start()
        try httpdns.zone.set(Self.shop, to: ["127.0.0.11"])
        try httpdns.zone.set(Self.blog, to: ["127.0.0.11"])

        var poisoned = HostsTable()
        poisoned.add(impostor.endpoint.address, for: try Host(Self.shop))
        var configuration = ClientConfiguration()
        configuration.upstreams = [.dnspod([httpdns.endpoint])]
        configuration.resolver.system = FixedUpstream(poisoned, name: "system (poisoned)")
        configuration.resolver.check.allowLocalAnswers = true
        configuration.proxies = .none
        configuration.tls.trustsSystemRoots = false
        configuration.tls.rootPEMs = [authority.rootPEM]
        client = try BeelineClient(configuration)
    }

    func url(_ name: String, _ path: String = "/") -> String { "https://\(name):\(sites.port)\(path)" }

    /// A new dial, as after a change of network: nothing known is used.
    func startAfresh() {
        client.resolver.forgetAll()
        client.retireConnections()
    }

    func stop() async {
        await client.shutDown()
        await sites.stop()
        await impostor.stop()
        await httpdns.stop()
    }

    /// A login that takes a form and gives a cookie, and a page that says what it saw.
    private static func site(_ request: ReceivedRequest) -> Reply {
        switch request.path {
        case "/login":
            guard request.form["user"] == "ada", request.form["password"] == "lovelace" else {
                return .text("who are you?", status: .forbidden)
            }
            return .text("welcome").adding(
                .setCookie,
                "session=ada; Domain=\(shop); Path=/; Secure; HttpOnly; SameSite=Lax"
            )
        case "/me":
            return .text(request.cookies["session"] ?? "nobody")
        default:
            return .text("\(request.authority ?? "?") \(request.connection.serverName ?? "?")")
        }
    }
}
