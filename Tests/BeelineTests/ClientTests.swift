// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Testing

@Suite("Client requests over real sockets", .timeLimit(.minutes(1)))
struct ClientTests {
    @Test("a request connects to the address from HTTPDNS and keeps its own SNI, Host and URL")
    func staysItself() async throws {
        let lab = try await ClientLab { .text("\($0.connection.serverName ?? "") \($0.authority ?? "") \($0.target)") }
        for name in ["a.test", "b.test"] {
            let response = try await lab.client.get(lab.url(name, "/x?y=%20z"))
            #expect(try await response.text() == "\(name) \(name):\(lab.site.port) /x?y=%20z")
            #expect(response.endpoint == lab.site.endpoints[0])
            #expect(response.resolution?.source == .fresh)
            #expect(response.url.description == lab.url(name, "/x?y=%20z"))
        }
        await lab.stop()
    }

    @Test(
        "the first request to a name costs one DNS request, one TCP and one TLS handshake, and the second costs none"
    )
    func roundTrips() async throws {
        let lab = try await ClientLab { _ in .text("ok") }
        _ = try await lab.client.get(lab.url("a.test")).text()
        #expect(lab.upstream.requests.count == 1)
        #expect(lab.upstream.connections.accepted == 1)
        #expect(lab.site.connections.accepted == 1)
        let second = try await lab.client.get(lab.url("a.test"))
        _ = try await second.text()
        #expect(second.hop.isReused)
        #expect(lab.upstream.requests.count == 1)
        #expect(lab.site.connections.accepted == 1)
        await lab.stop()
    }

    @Test("a login by POST keeps its body, and its cookie is sent when the name moves to another address")
    func loginSurvivesMove() async throws {
        let lab = try await ClientLab { request in
            guard request.path == "/login" else { return .text(request.cookies["sid"] ?? "nobody") }
            return .text("in").adding(.setCookie, "sid=\(request.text); Domain=a.test; Path=/; Secure; HttpOnly")
        }
        let login = try await lab.client.post(lab.url("a.test", "/login"), body: .bytes("user-7".utf8))
        #expect(login.hop.cookiesReceived.map(\.outcome) == [.kept])
        _ = try await login.text()
        try lab.upstream.zone.set("a.test", to: ["127.0.0.2"])
        lab.client.resolver.forgetAll()
        lab.client.retireConnections()
        let me = try await lab.client.get(lab.url("a.test", "/me"))
        #expect(me.endpoint == lab.site.endpoints[1])
        #expect(try await me.text() == "user-7")
        #expect(me.hop.cookiesSent == ["sid"])
        #expect(try await lab.client.get(lab.url("b.test", "/me")).text() == "nobody", "same address, other name")
        await lab.stop()
    }

    @Test("with HTTPDNS switched off the system's answer is used, and an impostor at its address is refused")
    func theSwitch() async throws {
        let stranger = try TestAuthority()
        var poison = HostsTable()
        poison.add(IPAddress(v4: 0x7f00_0042), for: try Host("a.test"))
        let lab = try await ClientLab(configure: { [poison] in $0.resolver.system = FixedUpstream(poison) }) { _ in
            .text("true site")
        }
        let impostor = try await LoopbackOrigin.start(
            addresses: ["127.0.0.66"],
            port: lab.site.port,
            tls: ServerTLS(try stranger.certificate(for: "a.test"))
        ) { _ in .text("impostor") }
        #expect(try await lab.client.get(lab.url("a.test")).text() == "true site")
        lab.client.isHTTPDNSEnabled = false
        let error = await #expect(throws: BeelineError.self) { _ = try await lab.client.get(lab.url("a.test")) }
        #expect(error?.code == .certificateRejected)
        #expect(error?.attempts.map(\.endpoint.address.description) == ["127.0.0.66"])
        #expect(impostor.requests.isEmpty)
        lab.client.isHTTPDNSEnabled = true
        #expect(try await lab.client.get(lab.url("a.test")).text() == "true site")
        await impostor.stop()
        await lab.stop()
    }

    @Test("a dead first address is skipped, and the next connection avoids it")
    func deadAddress() async throws {
        let lab = try await ClientLab(addresses: ["127.0.0.1"]) { _ in .text("alive") }
        let hole = try BlackHole(address: "127.0.0.9", port: lab.site.port)
        try lab.upstream.zone.set("a.test", to: ["127.0.0.9", "127.0.0.1"])
        let response = try await lab.client.get(lab.url("a.test"))
        #expect(try await response.text() == "alive")
        lab.client.retireConnections()
        let second = try await lab.client.get(lab.url("a.test"))
        #expect(second.hop.attempts.map(\.endpoint.address.description) == ["127.0.0.1"])
        hole.close()
        await lab.stop()
    }

    @Test("an answer with a local address is refused unless local answers are allowed")
    func bogusAnswer() async throws {
        let lab = try await ClientLab(configure: { $0.resolver.check.allowsLocalAnswers = false }) { _ in .text("no") }
        let error = await #expect(throws: BeelineError.self) { _ = try await lab.client.get(lab.url("a.test")) }
        #expect(error?.code == .unresolved)
        #expect(error?.message.hasPrefix("a.test was not resolved: no upstream gave") == true, "\(error as Any)")
        #expect((error?.underlyingError as? ResolutionError)?.code == .bogusAnswer)
        #expect(lab.site.connections.accepted == 0)
        await lab.stop()
    }

    @Test("an error before and within the body names the origin, once")
    func namesOrigin() async throws {
        let lab = try await ClientLab { request in
            guard request.path == "/body" else { return .raw(ending: .hangUp) }
            return Reply(fields: [.contentLength: "100"], body: ["half"], ending: .hangUp)
        }
        let origin = try HTTPURL(lab.url("a.test")).origin
        let head = await #expect(throws: BeelineError.self) { try await lab.client.get(lab.url("a.test", "/head?k=s")) }
        #expect(head?.code == .connectionLost)
        #expect(head?.message.hasPrefix("\(origin): the ") == true, "\(head as Any)")
        let response = try await lab.client.get(lab.url("a.test", "/body"))
        let body = await #expect(throws: BeelineError.self) { try await response.collect(upTo: 100) }
        #expect(body?.code == .connectionLost)
        #expect(body?.message.hasPrefix("\(origin): the ") == true, "\(body as Any)")
        let refused = await #expect(throws: BeelineError.self) { try await lab.client.get("https://a.test:1/") }
        #expect(refused?.message.hasPrefix("cannot connect to https://a.test:1: ") == true, "\(refused as Any)")
        await lab.client.shutDown()
        let ended = await #expect(throws: BeelineError.self) { try await lab.client.get(lab.url("a.test")) }
        #expect(ended?.message.contains("the client was shut down") == true, "\(ended as Any)")
        await lab.stop()
    }

    @Test("the path of a request cannot change its host")
    func requestParts() async throws {
        let site = try await LoopbackOrigin.start { .text($0.target) }
        let other = try await LoopbackOrigin.start { _ in .text("other") }
        let client = try plainClient()
        func send(_ authority: String, _ path: String) async throws -> Response {
            try await client.send(HTTPRequest(method: .get, scheme: "http", authority: authority, path: path))
        }
        let authority = "\(site.endpoint)"
        let rows = [
            (authority, "@\(other.endpoint)/"), ("127.0.0.1", ":\(other.port)/"), (authority, ".x.test/"),
            (authority, "/a#b"), ("\(authority)/@\(other.endpoint)", "/"), ("user@\(authority)", "/"),
        ]
        for (authority, path) in rows {
            let error = await #expect(throws: BeelineError.self) { _ = try await send(authority, path) }
            #expect(error?.code == .malformedURL, "\(authority) \(path)")
        }
        #expect(site.requests.isEmpty && other.requests.isEmpty)
        #expect(try await send(authority, "/a?b").text() == "/a?b")
        await client.shutDown()
        await site.stop()
        await other.stop()
    }

    @Test("the Host of a request is that of its origin, however its authority is written")
    func requestAuthority() async throws {
        let lab = try await ClientLab(names: ["a.test", "xn--bcher-kva.test"]) { .text($0.authority ?? "") }
        for (written, host) in [("A.Test", "a.test"), ("b\u{FC}cher.test", "xn--bcher-kva.test")] {
            let authority = "\(written):\(lab.site.port)"
            let response = try await lab.client.send(
                HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/")
            )
            #expect(response.url.origin.authority == "\(host):\(lab.site.port)")
            #expect(try await response.text() == response.url.origin.authority)
        }
        await lab.stop()
    }

    @Test("a pinned name sends no DNS query")
    func pinned() async throws {
        let pin = ClientConfiguration.Pin(try Host("b.test"))
        let lab = try await ClientLab(configure: { $0.pinned = [pin: [IPAddress(v4: 0x7f00_0002)]] }) { _ in .text("ok")
        }
        let response = try await lab.client.get(lab.url("b.test"))
        #expect(response.endpoint == lab.site.endpoints[1])
        #expect(lab.upstream.queries.isEmpty)
        await lab.stop()
    }

    @Test("a graceful shutdown lets a running response finish, and refuses new requests")
    func gracefulShutdown() async throws {
        let gate = Gate()
        let lab = try await ClientLab { _ in
            try await gate.wait()
            return .text("late")
        }
        async let answer = lab.client.get(lab.url("a.test")).text()
        try await gate.arrivals(atLeast: 1)
        async let end: Void = lab.client.shutDown(after: .seconds(60))
        // Try until the engine refuses new requests. A request that it still accepts waits at the gate until its limit.
        var code: BeelineError.Code?
        while code != .shutDown {
            var limits = TimeLimits()
            limits.total = .milliseconds(50)
            var options = RequestOptions()
            options.limits = limits
            do { _ = try await lab.client.get(lab.url("a.test", "/more"), options: options) } catch {
                code = error.code
            }
        }
        gate.open()
        #expect(try await answer == "late")
        await end
        await lab.stop()
    }
}
