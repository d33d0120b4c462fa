// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

@Suite("Requests through each kind of proxy", .timeLimit(.minutes(1)))
struct ProxyRouteTests {
    /// A proxy of one kind in front of a TLS site and a plain site.
    struct ProxyLab {
        let lab: Lab
        let plain: LoopbackOrigin
        let server: ProxyServer
        var proxy: Proxy

        init(
            _ kind: ProxyServer.Kind,
            isSecure: Bool = false,
            certificateFor proxyName: String = "proxy.test",
            credentials: String? = nil,
            reaches: Bool = true
        ) async throws {
            lab = try await Lab(addresses: ["127.0.0.1"]) { .text("\($0.connection.serverName ?? "-") \($0.target)") }
            plain = try await LoopbackOrigin.start { .text("\($0.authority ?? "-") \($0.target)") }
            let tls = isSecure ? ServerTLS(try lab.authority.certificate(for: proxyName)) : nil
            server = try await ProxyServer.start(kind, tls: tls, credentials: credentials) { _, port in
                reaches ? Endpoint(IPAddress(v4: 0x7f00_0001), port: port) : nil
            }
            let origin = Origin(
                scheme: isSecure ? .https : .http,
                host: try Host("proxy.test"),
                port: server.endpoint.port
            )
            proxy = Proxy(kind == .http ? .http : .socks5, origin: origin, user: "me", password: "secret")
        }

        func get(_ url: String) async throws -> ExchangeResponse {
            try await lab.engine.exchange(
                PreparedRequest(.get, HTTPURL(url)),
                from: EndpointList([server.endpoint]),
                route: .proxy(proxy),
                tls: lab.tls
            )
        }

        func stop() async {
            await lab.stop()
            await plain.stop()
            await server.stop()
        }
    }

    @Test(
        "every kind of proxy receives names, user and password, for https and http",
        arguments: [false, true],
        [
            ProxyServer.Kind.http, .socks5,
        ]
    )
    func carries(isSecure: Bool, kind: ProxyServer.Kind) async throws {
        guard kind == .http || !isSecure else { return }
        let lab = try await ProxyLab(kind, isSecure: isSecure, credentials: "me:secret")
        for _ in 0..<2 {
            let secure = try await lab.get("https://a.test:\(lab.lab.origin.port)/x")
            #expect(try await secure.text() == "a.test /x")
            #expect(secure.connection.endpoint == lab.server.endpoint)
        }
        let clear = try await lab.get("http://b.test:\(lab.plain.port)/y")
        #expect(try await clear.text() == "b.test:\(lab.plain.port) \("/y")")
        #expect(lab.server.requests.map(\.host) == ["a.test", "b.test"], "the name travels, and a tunnel is kept")
        #expect(lab.server.requests.map(\.credentials) == ["me:secret", "me:secret"])
        await lab.stop()
    }

    @Test("a proxy over TLS must have a certificate for its own name, even if the request checks none")
    func proxyCertificate() async throws {
        var lab = try await ProxyLab(.http, isSecure: true, certificateFor: "other.test")
        var insecure = lab.lab.tls
        insecure.verifiesCertificate = false
        for tls in [lab.lab.tls, insecure] {
            let error = await #expect(throws: DirectHTTPError.self) {
                _ = try await lab.lab.engine.exchange(
                    PreparedRequest(.get, HTTPURL("https://a.test:\(lab.lab.origin.port)/")),
                    from: EndpointList([lab.server.endpoint]),
                    route: .proxy(lab.proxy),
                    tls: tls
                )
            }
            #expect(error?.code == .certificateRejected)
            #expect(error?.message.contains("the proxy https://proxy.test") == true)
        }
        #expect(lab.server.requests.isEmpty, "an impostor receives no name")
        lab.proxy.tls = insecure
        #expect(try await lab.get("https://a.test:\(lab.lab.origin.port)/").text() == "a.test /")
        await lab.stop()
    }

    @Test(
        "a proxy over TLS is not offered HTTP/2, even if its settings allow it",
        arguments: ["http", "https"]
    )
    func offersNoHTTP2(_ scheme: String) async throws {
        let authority = try TestAuthority()
        var serverTLS = ServerTLS(try authority.certificate(for: "proxy.test"))
        serverTLS.applicationProtocols = ["h2", "http/1.1"]
        let chosen = NIOLockedValueBox<[String?]>([])
        let server = try await RawServer.start(tls: serverTLS) { connection in
            chosen.withLockedValue { $0.append(connection.info.applicationProtocol) }
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        }
        var tls = TLSSettings()
        tls.trustsSystemRoots = false
        tls.rootPEMs = [authority.rootPEM]
        let origin = Origin(scheme: .https, host: try Host("proxy.test"), port: server.port)
        let engine = Engine()
        let request = try PreparedRequest(.get, HTTPURL("\(scheme)://a.test/"))
        do {
            let response = try await engine.exchange(
                request,
                from: EndpointList([server.endpoint]),
                route: .proxy(Proxy(origin: origin, tls: tls)),
                tls: tls
            )
            #expect(scheme == "http" && response.head.status == .forbidden)
        } catch {
            #expect(scheme == "https" && error.code == .proxyRefused)
        }
        #expect(chosen.withLockedValue { $0 } == ["http/1.1"])
        await engine.shutDown()
        await server.stop()
    }

    @Test(
        "an endless response to CONNECT is an error, also without a time limit",
        arguments: [
            ("", "HTTP/1.1 102 Processing\r\n\r\n", .malformedResponse),
            (
                "HTTP/1.1 407 Who\r\nProxy-Authenticate: Digest realm=r, nonce=n\r\nContent-Length: 999999999\r\n\r\n",
                "x", .proxyRefused
            ),
        ] as [(String, String, DirectHTTPError.Code)]
    )
    func endlessAnswer(_ head: String, _ rest: String, _ code: DirectHTTPError.Code) async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send(head)
            try await connection.sendEndlessly(rest)
        }
        let error = try await Self.errorWithoutTimeLimit(through: server)
        #expect(error?.code == code)
        let isTooMuch = error?.message.contains("too many") == true
        #expect(isTooMuch == (code == .malformedResponse), "\(error?.message ?? "")")
        if code == .proxyRefused { #expect(server.connections.accepted == 2, "a challenge is answered once") }
        await server.stop()
    }

    /// The error of a request through a proxy that has credentials, without a time limit for the connection.
    private static func errorWithoutTimeLimit(through server: RawServer) async throws -> DirectHTTPError? {
        let origin = Origin(scheme: .http, host: try Host("proxy.test"), port: server.port)
        let engine = Engine()
        var limits = TimeLimits()
        limits.connect = nil
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await engine.exchange(
                PreparedRequest(.get, HTTPURL("https://a.test/")),
                from: EndpointList([server.endpoint]),
                route: .proxy(Proxy(origin: origin, user: "me", password: "secret")),
                limits: limits
            )
        }
        await engine.shutDown()
        return error
    }

    @Test("an answer to the second CONNECT that arrives with the challenge is read at once, also without a time limit")
    func earlyAnswer() async throws {
        let challenge = "HTTP/1.1 407 Who\r\nProxy-Authenticate: Digest realm=r, nonce=n\r\nContent-Length: 2\r\n\r\nno"
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send(challenge + "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            try await connection.hold()
        }
        let error = try await Self.errorWithoutTimeLimit(through: server)
        #expect(error?.code == .proxyRefused && error?.response?.status == .forbidden)
        await server.stop()
    }

    @Test("the origin's certificate is verified through each proxy, by name or by address")
    func originCertificate() async throws {
        for kind in [ProxyServer.Kind.http, .socks5] {
            let lab = try await ProxyLab(kind)
            let error = await #expect(throws: DirectHTTPError.self) {
                _ = try await lab.get("https://c.test:\(lab.lab.origin.port)/")
            }
            #expect(error?.code == .certificateRejected)
            // The proxy's address is 127.0.0.1. A certificate for it must not be accepted for the origin's address.
            let impostor = try await LoopbackOrigin.start(
                tls: ServerTLS(try lab.lab.authority.certificate(for: "127.0.0.1"))
            ) { _ in .text("impostor") }
            let other = await #expect(throws: DirectHTTPError.self) {
                _ = try await lab.get("https://192.0.2.1:\(impostor.port)/")
            }
            #expect(other?.code == .certificateRejected)
            #expect(impostor.requests.isEmpty)
            let right = try await LoopbackOrigin.start(
                tls: ServerTLS(try lab.lab.authority.certificate(for: "192.0.2.1"))
            ) { _ in .text("right") }
            #expect(try await lab.get("https://192.0.2.1:\(right.port)/").text() == "right")
            await impostor.stop()
            await right.stop()
            await lab.stop()
        }
    }

    @Test(
        "a connection to a proxy that refused a request with a small body is not used again",
        arguments: [true, false]
    )
    func unreadBody(isForwarded: Bool) async throws {
        // The server refuses without reading the body, and takes the body for the next request.
        let server = try await RawServer.start { connection in
            while let head = try await connection.receive(until: "\r\n\r\n") {
                let status = head.starts(with: "POST".utf8) ? 403 : 200
                try await connection.send("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let engine = Engine()
        let origin = Origin(scheme: .http, host: try Host("proxy.test"), port: server.port)
        for isPost in [false, true, false] {
            let body = isPost ? RequestBody.bytes("GET http://a.test/smuggled HTTP/1.1\r\nX: ".utf8) : .none
            let response = try await engine.exchange(
                PreparedRequest(isPost ? .post : .get, HTTPURL("http://a.test:\(server.port)/"), body: body),
                from: EndpointList([server.endpoint]),
                route: isForwarded ? .proxy(Proxy(origin: origin)) : .direct
            )
            #expect(response.head.status == (isPost ? .forbidden : .ok))
            _ = try await response.text()
        }
        // Without a proxy, all requests on the connection are this client's own.
        #expect(server.connections.accepted == (isForwarded ? 2 : 1))
        await engine.shutDown()
        await server.stop()
    }

    @Test("an error names the proxy that cannot be reached, whose endpoints it lists")
    func unreachable() async throws {
        let engine = Engine()
        let dead = EndpointList([Endpoint(IPAddress(v4: 0x7f00_0001), port: 1)])
        let proxy = Proxy(origin: Origin(scheme: .http, host: try Host("proxy.test"), port: 3128))
        for (url, place) in [
            ("https://a.test/", "https://a.test through the proxy http://proxy.test:3128"),
            ("http://a.test/", "the proxy http://proxy.test:3128"),
        ] {
            let error = await #expect(throws: DirectHTTPError.self) {
                _ = try await engine.exchange(PreparedRequest(.get, HTTPURL(url)), from: dead, route: .proxy(proxy))
            }
            let words = "cannot connect to \(place): 127.0.0.1:1 refused"
            #expect(error?.message.hasPrefix(words) == true, "\(error?.message ?? "")")
        }
        await engine.shutDown()
    }

    @Test("the error of a proxy that resets the connection has only the system's words", arguments: [false, true])
    func resets(isSOCKS: Bool) async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.receive()
            await connection.reset()
        }
        let engine = Engine()
        let origin = Origin(scheme: .http, host: try Host("proxy.test"), port: server.port)
        let error = await #expect(throws: DirectHTTPError.self) {
            _ = try await engine.exchange(
                PreparedRequest(.get, HTTPURL("https://a.test/")),
                from: EndpointList([server.endpoint]),
                route: .proxy(Proxy(isSOCKS ? .socks5 : .http, origin: origin))
            )
        }
        #expect(error?.message.hasSuffix("failed: Connection reset by peer") == true, "\(error?.message ?? "")")
        await engine.shutDown()
        await server.stop()
    }

    @Test("a refusal by a proxy is an error with its cause", arguments: [ProxyServer.Kind.http, .socks5])
    func refuses(kind: ProxyServer.Kind) async throws {
        let blocked = try await ProxyLab(kind, reaches: false)
        var error = await #expect(throws: DirectHTTPError.self) { _ = try await blocked.get("https://a.test/") }
        #expect(error?.code == .proxyRefused)
        #expect(error?.message.contains("proxy.test") == true)
        await blocked.stop()
        let strict = try await ProxyLab(kind, credentials: "me:other")
        error = await #expect(throws: DirectHTTPError.self) { _ = try await strict.get("https://a.test/") }
        #expect(error?.code == .proxyRefused)
        #expect(error?.message.contains("password") == true)
        await strict.stop()
    }
}
