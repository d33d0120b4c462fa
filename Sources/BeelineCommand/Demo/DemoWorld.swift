// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting

/// The demo's network on loopback. It has two HTTPS sites on one address, one of them also on a second address, an
/// HTTPDNS service with their addresses, and a poisoned "system" resolver.
struct DemoWorld {
    static let shop = "shop.example"
    static let blog = "blog.example"
    /// The user that the sites answer for a request without a cookie.
    static let noUser = "nobody"

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
        // The impostor's certificate comes from a CA that the client does not trust.
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
        configuration.upstreams = [.dnspod(at: [httpdns.endpoint])]
        configuration.resolver.system = FixedUpstream(poisoned, name: "system (poisoned)")
        configuration.resolver.check.allowsLocalAnswers = true
        configuration.proxies = .none
        configuration.tls.trustsSystemRoots = false
        configuration.tls.rootPEMs = [authority.rootPEM]
        client = try BeelineClient(configuration)
    }

    func url(_ name: String, _ path: String = "/") -> String { "https://\(name):\(sites.port)\(path)" }

    /// Clears the cache and retires all connections, as after a network change, so that the next request dials again.
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

    /// Serves a login form that sets a cookie, and pages that show the request's user or host.
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
            return .text(request.cookies["session"] ?? Self.noUser)
        default:
            return .text("\(request.authority ?? "?") \(request.connection.serverName ?? "?")")
        }
    }
}
