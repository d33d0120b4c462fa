// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import NIOConcurrencyHelpers
import Testing

@Suite("HSTS in the client (RFC 6797)", .timeLimit(.minutes(1)))
struct HSTSClientTests {
    /// Answers `/hsts` with the fields of the query, `/go` with a redirect, and every other path with what it received.
    private static let handler: LoopbackOrigin.Handler = { request in
        if request.path == "/go" { return .redirect(to: request.query["to"] ?? "") }
        var reply = Reply.text(
            "\(request.connection.serverName ?? "-")|\(request.fields[.cookie] ?? "-")|\(request.fields[.authorization] ?? "-")"
        )
        for name in ["first", "second"] {
            if let value = request.query[name] { reply = reply.adding(.strictTransportSecurity, value) }
        }
        return reply
    }

    /// Reaches `a.test` at 127.0.0.1.
    private func pinnedClient() throws -> BeelineClient {
        let host = try Host("a.test")
        return try plainClient {
            $0.pinned[.init(host)] = [IPAddress(v4: 0x7f00_0001)]
            // A plain server does not answer a TLS handshake.
            $0.limits.connect = .seconds(1)
        }
    }

    private func plain(_ url: String) -> String { "http" + url.dropFirst("https".count) }

    @Test("after a response over TLS, the host's http URLs are requested with TLS")
    func recordAndUpgrade() async throws {
        let lab = try await ClientLab(handler: Self.handler)
        let url = lab.url("a.test", "/x?first=max-age=1000")
        #expect(try await lab.client.get(url).hop.isUpgradedToTLS == false)
        let response = try await lab.client.get(plain(url))
        #expect(response.hop.isUpgradedToTLS && "\(response.url)" == url)
        #expect(try await response.text().hasPrefix("a.test|"))
        #expect(lab.client.hsts?.entries.map(\.host) == ["a.test"])
        // Another host is not affected: the server expects TLS.
        let error = await #expect(throws: BeelineError.self) { try await lab.client.get(plain(lab.url("b.test"))) }
        #expect(error?.code != nil)
        await lab.stop()
    }

    @Test("max-age=0 ends the upgrade, and only the first field counts")
    func firstField() async throws {
        let lab = try await ClientLab(handler: Self.handler)
        let hosts = try #require(lab.client.hsts)
        _ = try await lab.client.get(lab.url("a.test", "/?first=max-age=oops&second=max-age=1000"))
        #expect(hosts.entries.isEmpty)
        _ = try await lab.client.get(lab.url("a.test", "/?first=max-age=1000&second=max-age=0"))
        #expect(hosts.entries.count == 1)
        _ = try await lab.client.get(lab.url("a.test", "/?first=max-age=0&second=max-age=1000"))
        #expect(hosts.entries.isEmpty)
        await lab.stop()
    }

    @Test("a redirect to http is upgraded before its origin is compared: cookies and credentials stay")
    func redirect() async throws {
        let lab = try await ClientLab(handler: Self.handler)
        lab.client.hsts?.record("max-age=1000", of: try Host("a.test"))
        _ = lab.client.jar?.store("id=7; Secure; Path=/", from: try HTTPURL(lab.url("a.test")))
        let target = plain(lab.url("a.test", "/end"))
        let response = try await lab.client.get(
            lab.url("a.test", "/go?to=\(target)"),
            fields: [.authorization: "Bearer t"]
        )
        #expect(response.hops.map(\.isUpgradedToTLS) == [false, true])
        #expect(try await response.text() == "a.test|id=7|Bearer t")
        // The upgraded request used the connection of the first one.
        #expect(response.hop.isReused)
        await lab.stop()
    }

    @Test("nothing is sent without TLS: a plain server on the port sees no request")
    func noPacket() async throws {
        let accepted = NIOLockedValueBox(0)
        let site = try await LoopbackOrigin.start { _ in
            accepted.withLockedValue { $0 += 1 }
            return .text("plain")
        }
        let client = try pinnedClient()
        client.hsts?.record("max-age=1000; includeSubDomains", of: try Host("test"))
        let error = await #expect(throws: BeelineError.self) {
            try await client.get("http://a.test:\(site.port)/")
        }
        #expect(error?.message.contains("HSTS") == true)
        #expect(accepted.withLockedValue { $0 } == 0)
        await client.shutDown()
        await site.stop()
    }

    @Test("a field over http is ignored, and so is a field without a verified certificate")
    func unverified() async throws {
        let site = try await LoopbackOrigin.start(handler: Self.handler)
        let client = try pinnedClient()
        _ = try await client.get("http://a.test:\(site.port)/?first=max-age=1000")
        #expect(client.hsts?.entries.isEmpty == true)
        await client.shutDown()
        await site.stop()

        let lab = try await ClientLab(configure: { $0.tls.verifiesCertificate = false }, handler: Self.handler)
        _ = try await lab.client.get(lab.url("a.test", "/?first=max-age=1000"))
        #expect(lab.client.hsts?.entries.isEmpty == true)
        await lab.stop()
    }

    @Test("an address is not recorded, although its certificate was verified")
    func address() async throws {
        let lab = try await ClientLab(names: ["127.0.0.1"], handler: Self.handler)
        _ = try await lab.client.get(lab.url("127.0.0.1", "/?first=max-age=1000"))
        #expect(lab.client.hsts?.entries.isEmpty == true)
        await lab.stop()
    }

    @Test("without a store, nothing is upgraded")
    func off() async throws {
        let lab = try await ClientLab(hsts: nil, handler: Self.handler)
        _ = try await lab.client.get(lab.url("a.test", "/?first=max-age=1000"))
        await #expect(throws: BeelineError.self) { try await lab.client.get(plain(lab.url("a.test"))) }
        await lab.stop()
    }

    @Test("a WebSocket is upgraded too")
    func webSocket() async throws {
        let lab = try await ClientLab(handler: Routes.standard)
        lab.client.hsts?.record("max-age=1000", of: try Host("a.test"))
        let socket = try await lab.client.webSocket("ws://a.test:\(lab.site.port)/ws")
        #expect(lab.site.requests.first?.connection.serverName == "a.test")
        await socket.close()
        await lab.stop()
    }

    @Test("a WebSocket upgraded by HSTS has the Origin of its new URL, or the caller's own")
    func webSocketOrigin() async throws {
        let lab = try await ClientLab(handler: Routes.standard)
        lab.client.hsts?.record("max-age=1000", of: try Host("a.test"))
        let rows: [HTTPFields] = [[:], [.origin: "https://app.test"]]
        for fields in rows {
            let socket = try await lab.client.webSocket("ws://a.test:\(lab.site.port)/ws", fields: fields)
            await socket.close()
        }
        let origins = lab.site.requests.map { $0.fields[.origin] }
        #expect(origins == ["https://a.test:\(lab.site.port)", "https://app.test"])
        await lab.stop()
    }
}
