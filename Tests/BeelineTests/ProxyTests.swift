// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Testing

@Suite("Requests through proxies, which receive names instead of addresses", .timeLimit(.minutes(1)))
struct ProxyTests {
    @Test(
        "proxy variables of the environment are parsed as curl parses them",
        arguments: [
            (["http_proxy": "http://p.test:8080"], "http://a.test", "http://p.test:8080"),
            (["http_proxy": "p.test"], "http://a.test", "http://p.test:1080"),
            (["HTTP_PROXY": "http://p.test:8080"], "http://a.test", nil),
            (["https_proxy": "http://p.test:8080"], "http://a.test", nil),
            (["HTTPS_PROXY": "http://p.test:8080"], "https://a.test", "http://p.test:8080"),
            (["all_proxy": "http://[::1]:8080"], "https://a.test", "http://[::1]:8080"),
            (["all_proxy": "http://p.test:1", "no_proxy": "a.test"], "https://a.test", nil),
            (["all_proxy": "http://p.test:1", "no_proxy": ".a.test"], "https://www.a.test", nil),
            (["all_proxy": "http://p.test:1", "no_proxy": "a.test"], "https://evila.test", "http://p.test:1"),
            (["all_proxy": "http://p.test:1", "no_proxy": "a.test:8443"], "https://a.test", "http://p.test:1"),
            (["all_proxy": "http://p.test:1", "no_proxy": "10.0.0.0/8, ::1"], "https://10.1.2.3", nil),
            (["all_proxy": "http://p.test:1", "no_proxy": "10.0.0.0/8, ::1"], "https://[::1]", nil),
            (["all_proxy": "http://p.test:1", "no_proxy": "*"], "https://a.test", nil),
            (["all_proxy": "https://p.test"], "https://a.test", "https://p.test"),
            (["all_proxy": "https://p.test:8443"], "http://a.test", "https://p.test:8443"),
            (["all_proxy": "socks5://p.test"], "https://a.test", "socks5h://p.test:1080"),
            (["all_proxy": "socks5h://me:x@[::1]:9050"], "wss://a.test", "socks5h://[::1]:9050"),
            (["https_proxy": "http://p.test:1"], "wss://a.test", "http://p.test:1"),
            (["http_proxy": "http://p.test:1"], "ws://a.test", "http://p.test:1"),
            (["all_proxy": "http://p.test:1", "no_proxy": "a.test:443"], "https://a.test", nil),
            (["all_proxy": "http://p.test:1", "no_proxy": "2001:db8::/32"], "https://[2001:db8::5]", nil),
            (["all_proxy": "http://p.test:1", "no_proxy": "10.0.0.0/8"], "https://11.1.2.3", "http://p.test:1"),
            (["all_proxy": "http://p.test:1", "no_proxy": "10.0.0.0/8:443"], "https://10.1.2.3", nil),
            (["all_proxy": "http://p.test:1", "no_proxy": "10.0.0.0/8:80"], "https://10.1.2.3", "http://p.test:1"),
            (["all_proxy": "http://p.test:1", "no_proxy": "10.1.2.3:443"], "https://10.1.2.3", nil),
            (["all_proxy": "http://p.test:1", "no_proxy": "[::1]"], "https://[::1]", nil),
            (["all_proxy": "http://p.test:1", "no_proxy": "[::1]:80"], "https://[::1]", "http://p.test:1"),
            (["all_proxy": "http://p.test:1", "no_proxy": "[::1]:443"], "https://[::1]", nil),
            (["all_proxy": "http://p.test:1", "no_proxy": "[::1]:443"], "https://[::1:443]", "http://p.test:1"),
            (["all_proxy": "http://p.test:1", "no_proxy": "[2001:db8::1]:84"], "https://[2001:db8::1]:84", nil),
            (["all_proxy": "http://p.test:1", "no_proxy": "[2001:db8::]/32:443"], "https://[2001:db8::5]", nil),
            (["all_proxy": "http://p.test:1", "no_proxy": "a.test"], "https://www.a.test.", nil),
            (["all_proxy": "http://p.test:1", "no_proxy": "a.test."], "https://a.test", nil),
        ] as [([String: String], String, String?)]
    )
    func environment(variables: [String: String], url: String, expected: String?) throws {
        let route = ProxySettings(environment: variables).route(to: try HTTPURL(url).origin)
        switch route {
        case .direct: #expect(expected == nil)
        case .proxy(let proxy): #expect(proxy.description == expected)
        case .unixSocket: Issue.record("no environment names a socket")
        }
    }

    @Test("a proxy's own name is resolved to the configured address families only")
    func families() async throws {
        let proxy = try await ProxyServer.start(.http) { _, port in Endpoint(IPAddress(v4: 0x7f00_0001), port: port) }
        let system = ScriptedUpstream(
            "system",
            always: { _ in
                .answer(
                    Answer(
                        v4: .addresses([IPAddress(v4: 0x7f00_0001)], ttl: .seconds(60)),
                        v6: .addresses([IPAddress(v6: 0, 1)], ttl: .seconds(60))
                    )
                )
            }
        )
        let site = try await LoopbackOrigin.start(handler: Routes.standard)
        var configuration = ClientConfiguration()
        configuration.upstreams = []
        configuration.resolver.system = system
        configuration.resolver.families = .v4
        configuration.proxies = ProxySettings(environment: ["http_proxy": "http://proxy.test:\(proxy.endpoint.port)"])
        let client = try BeelineClient(configuration)
        let response = try await client.get(site.url("/echo"))
        #expect(response.hop.attempts.map(\.endpoint) == [proxy.endpoint])
        #expect(system.questions.map(\.families) == [.v4])
        await client.shutDown()
        await site.stop()
        await proxy.stop()
    }

    @Test("an error for a refused CONNECT contains the response and the proxy")
    func refusal() async throws {
        let proxy = try await LoopbackOrigin.start { _ in .text("no", status: .serviceUnavailable) }
        let client = try plainClient { $0.proxies.https = Proxy(parsing: "http://\(proxy.endpoint)") }
        let error = await #expect(throws: BeelineError.self) { _ = try await client.get("https://a.test/") }
        #expect(error?.code == .proxyRefused)
        #expect(error?.proxy?.description == "http://\(proxy.endpoint)")
        #expect((error?.underlyingError as? DirectHTTPError)?.response?.status == .serviceUnavailable)
        await client.shutDown()
        await proxy.stop()
    }

    @Test("a link-local address with a zone is dialled through that interface, and the zone is not sent")
    func zone() async throws {
        #if os(Linux)
        let loopback = "lo"
        #else
        let loopback = "lo0"
        #endif
        let url = try HTTPURL("http://[fe80::b:ee%25\(loopback)]:9/")
        let client = try plainClient { $0.limits.connect = .milliseconds(500) }
        let error = await #expect(throws: BeelineError.self) { _ = try await client.get(url.description) }
        #expect(error?.attempts.map(\.endpoint.scope) == [try #require(url.host.scope)])
        let unknown = await #expect(throws: BeelineError.self) {
            _ = try await client.get("http://[fe80::1%25no-such]/")
        }
        #expect(unknown?.code == .connectFailed && unknown?.message.contains("no-such") == true)
        await client.shutDown()
    }

    @Test(
        "a request fails if its proxy cannot be used, and the error names the variable",
        arguments: [
            (["http_proxy": "socks4://127.0.0.1:1"], "http_proxy"),
            (["http_proxy": "gopher://127.0.0.1:1", "all_proxy": "http://127.0.0.1:1"], "http_proxy"),
            (["ALL_PROXY": "socks://127.0.0.1:1"], "ALL_PROXY"),
            (["all_proxy": "http://127.0.0.1:99999"], "all_proxy"),
            (["http_proxy": " 127.0.0.1:1"], "http_proxy"),
        ] as [([String: String], String)]
    )
    func unusable(variables: [String: String], name: String) async throws {
        let site = try await LoopbackOrigin.start(handler: Routes.standard)
        var configuration = ClientConfiguration()
        configuration.proxies = ProxySettings(environment: variables)
        #expect(!configuration.proxies.namesNoProxy, "the system's settings do not take its place")
        let client = try BeelineClient(configuration)
        let url = "http://127.0.0.1:\(site.port)/echo"
        let error = await #expect(throws: BeelineError.self) { try await client.get(url) }
        #expect(error?.code == .proxyUnresolved && error?.message.contains(name) == true)
        #expect(site.requests.isEmpty)
        await client.shutDown()
        // If no_proxy or the program excludes the origin, the variable does not count.
        configuration.proxies = ProxySettings(environment: variables.merging(["no_proxy": "127.0.0.1"]) { $1 })
        let direct = try BeelineClient(configuration)
        #expect(try await direct.get(url).status == .ok)
        await direct.shutDown()
        await site.stop()
    }

    @Test("the proxy settings of Apple's systems are parsed by their keys")
    func systemSettings() throws {
        let settings = ProxySettings(systemSettings: [
            "HTTPEnable": 1, "HTTPProxy": "p.test", "HTTPPort": 8080, "HTTPSEnable": 0, "HTTPSProxy": "off.test",
            "SOCKSEnable": 1, "SOCKSProxy": "127.0.0.1", "SOCKSPort": 9050, "ExcludeSimpleHostnames": 1,
            "ExceptionsList": ["*.local", "169.254/16", "192.0.2.7"],
        ])
        let rows: [(String, String?)] = [
            ("http://a.test", "http://p.test:8080"), ("https://a.test", "socks5h://127.0.0.1:9050"),
            ("http://printer.local", nil), ("http://169.254.3.4", nil), ("http://169.253.3.4", "http://p.test:8080"),
            ("https://192.0.2.7", nil), ("https://intranet", nil),
        ]
        for (url, expected) in rows {
            var proxy: Proxy?
            if case .proxy(let found) = settings.route(to: try HTTPURL(url).origin) { proxy = found }
            #expect(proxy?.description == expected, "\(url)")
        }
        #expect(ProxySettings(systemSettings: [:]) == .none)
        #expect(ProxySettings(systemSettings: ["HTTPEnable": "yes", "HTTPProxy": 7]) == .none)
    }

    /// A proxy that resolves every name to this machine, and a lab whose client uses it.
    private func start(
        _ credentials: String? = nil,
        user: String? = nil,
        kind: ProxyServer.Kind = .http
    ) async throws -> (lab: ClientLab, proxy: ProxyServer) {
        let proxy = try await ProxyServer.start(kind, credentials: credentials) { _, port in
            Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
        }
        let origin = Origin(scheme: .http, host: Host(proxy.endpoint.address), port: proxy.endpoint.port)
        let settings = Proxy(
            kind == .http ? .http : .socks5,
            origin: origin,
            user: user,
            password: user.map { _ in "secret" }
        )
        let lab = try await ClientLab(configure: { $0.proxies = ProxySettings(http: settings, https: settings) }) {
            .text("\($0.connection.serverName ?? "-") \($0.authority ?? "-") \($0.target)")
        }
        return (lab, proxy)
    }

    @Test(
        "https requests go through a tunnel by name, with the origin's SNI and certificate",
        arguments: [ProxyServer.Kind.http, .socks5]
    )
    func tunnel(kind: ProxyServer.Kind) async throws {
        let (lab, proxy) = try await start("me:secret", user: "me", kind: kind)
        for _ in 0..<2 {
            let response = try await lab.client.get(lab.url("a.test", "/x"))
            #expect(try await response.text() == "a.test a.test:\(lab.site.port) /x")
            #expect(response.hop.proxy?.user == "me")
            #expect(response.resolution == nil)
        }
        #expect(proxy.requests.map(\.host) == ["a.test"], "one tunnel carries both requests")
        #expect(proxy.requests.map(\.credentials) == ["me:secret"])
        #expect(lab.upstream.queries.isEmpty)
        await lab.stop()
        await proxy.stop()
    }

    @Test("http requests are sent to the proxy with their absolute URL")
    func forward() async throws {
        let (lab, proxy) = try await start()
        let plain = try await LoopbackOrigin.start { .text("\($0.authority ?? "-") \($0.target)") }
        let response = try await lab.client.get("http://a.test:\(plain.port)/x?y")
        #expect(try await response.text() == "a.test:\(plain.port) /x?y")
        #expect(proxy.requests.map(\.host) == ["a.test"])
        #expect(lab.upstream.queries.isEmpty)
        await plain.stop()
        await lab.stop()
        await proxy.stop()
    }

    @Test(
        "the cookies of a 407 of a proxy that forwards are kept and sent, and do not count as the response's",
        arguments: [true, false]
    )
    func cookiesOfAChallenge(keepsCookies: Bool) async throws {
        let site = try await LoopbackOrigin.start {
            .text($0.fields[.cookie] ?? "-").adding(.setCookie, "a=c; Path=/")
        }
        let server = try await ProxyServer.start(
            .http,
            instead: { request in
                guard request.credentials != "me:secret" else { return nil }
                return .text("who?", status: .proxyAuthenticationRequired)
                    .adding(.proxyAuthenticate, "Basic realm=\"r\"").adding(.setCookie, "a=b; Path=/")
            },
            route: { _, _ in site.endpoint }
        )
        var proxy = try #require(Proxy(parsing: "http://me:secret@\(server.endpoint)"))
        proxy.waitsForChallenge = true
        var configuration = ClientConfiguration()
        configuration.upstreams = []
        configuration.proxies = ProxySettings(http: proxy)
        let jar = CookieJar()
        let client = try BeelineClient(configuration, jar: jar)
        var options = RequestOptions()
        options.keepsCookies = keepsCookies
        let response = try await client.get("http://a.test/", fields: [.cookie: "own=1"], options: options)
        let expected = keepsCookies ? "a=b; own=1" : "own=1"
        #expect(try await response.text() == expected)
        #expect(response.hop.request.headerFields[.cookie] == expected && response.hops.count == 1)
        #expect(response.hop.cookiesSent == (keepsCookies ? ["a", "own"] : ["own"]))
        #expect(response.hop.cookiesReceived.map(\.outcome) == (keepsCookies ? [.kept, .replaced] : []))
        let outcome: CookieOutcome? = keepsCookies ? .replaced : nil
        #expect(response.cookies.map(\.outcome) == [outcome])
        #expect(server.requests.map(\.credentials) == [nil, "me:secret"])
        #expect(jar.allCookies().map(\.domain) == (keepsCookies ? ["a.test"] : []))
        await client.shutDown()
        await server.stop()
        await site.stop()
    }

    @Test("the request of an error after a 407 of a proxy shows the cookies that were sent last")
    func cookiesOfAnError() async throws {
        let server = try await RawServer.start { connection in
            let head = try await connection.receive(until: "\r\n\r\n")
            // The second request gets no response.
            guard !String(decoding: head ?? [], as: UTF8.self).contains("Proxy-Authorization") else { return }
            try await connection.send(
                "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"r\"\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 0\r\n\r\n"
            )
        }
        var proxy = try #require(Proxy(parsing: "http://me:secret@127.0.0.1:\(server.port)"))
        proxy.waitsForChallenge = true
        var configuration = ClientConfiguration()
        configuration.upstreams = []
        configuration.proxies = ProxySettings(http: proxy)
        let client = try BeelineClient(configuration, jar: CookieJar())
        let error = await #expect(throws: BeelineError.self) {
            try await client.post("http://a.test/", body: .bytes("x".utf8))
        }
        #expect(error?.sentRequest?.head.headerFields[.cookie] == "a=b", "\(String(describing: error))")
        await client.shutDown()
        await server.stop()
    }

    @Test("a request and a WebSocket use the Unix socket of their origin instead of a proxy")
    func unixSocket() async throws {
        let daemon = try await UnixSocketServer.start()
        let client = try plainClient { configuration in
            let proxy = Proxy(parsing: "http://127.0.0.1:1")
            configuration.proxies = ProxySettings(http: proxy, https: proxy)
            if let host = try? Host("daemon.test") { configuration.unixSockets = [.init(host): daemon.path] }
        }
        let response = try await client.get("http://daemon.test/x")
        #expect(try await response.text() == "GET /x HTTP/1.1 Host: daemon.test")
        #expect(response.hop.proxy == nil && response.resolution == nil)
        let refused = await #expect(throws: BeelineError.self) { _ = try await client.webSocket("ws://daemon.test/") }
        #expect(refused?.code == .upgradeRefused)
        await client.shutDown()
        try await daemon.stop()
    }

    @Test("a proxy that requires a password is an error that names the status and the remedy")
    func refused() async throws {
        let (lab, proxy) = try await start("me:secret", user: nil)
        let error = await #expect(throws: BeelineError.self) { _ = try await lab.client.get(lab.url("a.test")) }
        #expect(error?.code == .proxyRefused)
        #expect(error?.message.contains("407") == true && error?.message.contains("password") == true)
        #expect(lab.site.connections.accepted == 0)
        await lab.stop()
        await proxy.stop()
    }
}
