// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineTesting
import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

@Suite("The gateway: local URLs for players that have no proxy setting", .timeLimit(.minutes(1)))
struct GatewayTests {
    private static func lab(handler: @escaping LoopbackOrigin.Handler = Routes.standard) async throws -> ProxyLab {
        try await ProxyLab(configure: { $0.gatewayHosts = ["a.test", "b.test"] }, handler: handler)
    }

    /// Sends a request to the gateway, as a player does.
    private func get(
        _ lab: ProxyLab,
        _ url: String,
        fields: String = "",
        method: String = "GET",
        body: String = ""
    ) async throws -> (head: String, body: String) {
        let local = try #require(lab.proxy.gateway).localURL(for: try HTTPURL(url))
        let connection = try await lab.connect()
        try await connection.send(
            "\(method) \(local.target) HTTP/1.1\r\nHost: \(lab.proxy.endpoint)\r\nConnection: close\r\n\(fields)\r\n\(body)"
        )
        let head = try await connection.receiveHead()
        let rest = try await connection.receiveAll()
        await connection.close()
        return (head, rest)
    }

    @Test("the gateway sends the origin its own name, TLS, cookies and ranges, and carries bodies both ways")
    func requests() async throws {
        let lab = try await Self.lab()
        let site = "https://a.test:\(lab.site.port)"
        let fields = "Range: bytes=0-3\r\nReferer: http://elsewhere.test/\r\nContent-Length: 5\r\n"
        let (head, body) = try await get(lab, "\(site)/echo?x=1", fields: fields, method: "PUT", body: "hello")
        #expect(head.hasPrefix("HTTP/1.1 200 "), "\(head)")
        #expect(body.contains("hello"))
        let request = try #require(lab.site.requests.first)
        #expect(request.connection.serverName == "a.test" && request.target == "/echo?x=1" && request.method == .put)
        #expect(request.fields[.range] == "bytes=0-3" && request.fields[.referer] == nil)
        #expect(try await get(lab, "\(site)/bytes/3000000").body.utf8.count == 3_000_000)
        #expect(try await get(lab, "\(site)/chunked/2").body.contains("chunk 2\n"))
        _ = try await get(lab, "\(site)/set-cookie?value=s%3D1%3B%20Path%3D%2F")
        // A browser sends the cookies of every program at 127.0.0.1, whatever the port.
        let own = "Cookie: other-program=secret; s=2\r\n"
        #expect(try await get(lab, "\(site)/echo/cookie", fields: own).head.hasPrefix("HTTP/1.1 200 "))
        #expect(lab.site.requests.last?.cookies == ["s": "1"])
        await lab.stop()
    }

    @Test("a Referer names the page for its own origin, only the origin for others, and nothing without TLS")
    func referer() async throws {
        let lab = try await Self.lab()
        let page = "https://a.test:\(lab.site.port)/page?signature=secret"
        let local = try #require(lab.proxy.gateway).localURL(for: try HTTPURL(page))
        let fields = "Referer: http://\(lab.proxy.endpoint)\(local.target)\r\n"
        for (url, site, expected) in [
            ("https://a.test:\(lab.site.port)/echo", lab.site, page),
            ("https://b.test:\(lab.site.port)/echo", lab.site, "https://a.test:\(lab.site.port)/"),
            ("http://a.test:\(lab.plain.port)/echo", lab.plain, nil),
        ] {
            #expect(try await get(lab, url, fields: fields).head.hasPrefix("HTTP/1.1 200 "))
            #expect(site.requests.last?.fields[.referer] == expected)
        }
        await lab.stop()
    }

    @Test("fields of one host that would act on all hosts of the gateway in a browser are dropped")
    func fieldsForTheWholeOrigin() async throws {
        let lab = try await Self.lab { _ in
            let fields = [
                ("Clear-Site-Data", "\"cookies\""), ("Service-Worker-Allowed", "/"),
                ("Strict-Transport-Security", "max-age=1"), ("X-Kept", "1"),
            ]
            return fields.reduce(Reply.text("")) { reply, field in
                HTTPField.Name(field.0).map { reply.adding($0, field.1) } ?? reply
            }
        }
        let (head, _) = try await get(lab, "https://a.test:\(lab.site.port)/")
        let names = head.lowercased().split(separator: "\r\n").compactMap { $0.split(separator: ":").first }
        let dropped: Set<Substring> = ["clear-site-data", "service-worker-allowed", "strict-transport-security"]
        #expect(names.contains("x-kept") && dropped.isDisjoint(with: names), "\(head)")
        await lab.stop()
    }

    @Test("a request with a body leaves nothing behind when its proxy stops")
    func released() async throws {
        weak var client: BeelineClient?
        do {
            let lab = try await Self.lab()
            client = lab.client
            let url = "https://a.test:\(lab.site.port)/echo"
            let (head, _) = try await get(lab, url, fields: "Content-Length: 5\r\n", method: "POST", body: "hello")
            #expect(head.hasPrefix("HTTP/1.1 200 "))
            try await eventually("the end of the connection") { await lab.proxy.counts().connections == 0 }
            await lab.stop()
        }
        try await eventually("the end of the client") { client == nil }
    }

    @Test("a redirect to a listed host leads to the gateway, and a redirect to another host stays as it is")
    func redirects() async throws {
        let lab = try await Self.lab()
        let site = "https://a.test:\(lab.site.port)"
        let other = "https://b.test:\(lab.site.port)/x?y"
        let gateway = try #require(lab.proxy.gateway)
        let mapped = try gateway.localURL(for: HTTPURL(other)).target.replacing("/https/", with: "/redirected/https/")
        for (to, expected) in [
            ("https%3A%2F%2Fb.test%3A\(lab.site.port)%2Fx%3Fy", mapped), ("https%3A%2F%2Fc.test%2F", "https://c.test/"),
            ("https%3A%2F%2Fb.test%3A\(lab.site.port)%2Fx%3Fy%23t%3D10", mapped + "#t=10"),
        ] {
            let (head, _) = try await get(lab, "\(site)/redirect?to=\(to)")
            #expect(head.hasPrefix("HTTP/1.1 302 ") && head.contains("\r\nLocation: \(expected)\r\n"), "\(head)")
        }
        #expect(try gateway.localURL(for: HTTPURL(other + "#t=10")).fragment == "t=10")
        await lab.stop()
    }

    @Test("the player's Authorization follows a redirect within its origin, but not to another origin")
    func authorizationAfterRedirect() async throws {
        let lab = try await Self.lab()
        let connection = try await lab.connect()
        let gateway = try #require(lab.proxy.gateway)
        let (a, b) = ("https://a.test:\(lab.site.port)", "https://bob:two@b.test:\(lab.site.port)")
        // Within a.test, to b.test without and with a user in the URL, and within b.test.
        let chain = "/redirect?to=/redirect?to=https://b.test:\(lab.site.port)/redirect?to=\(b)/redirect?to=/echo"
        var path = try gateway.localURL(for: HTTPURL(a + chain)).target
        for _ in 0..<4 {
            try await connection.send("GET \(path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t\r\n\r\n")
            let head = try await connection.receiveResponse().head
            let location = head.split(separator: "\r\n").first { $0.hasPrefix("Location: ") }
            path = String(try #require(location).dropFirst(10))
        }
        try await connection.send("GET \(path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t\r\n\r\n")
        #expect(try await connection.receiveResponse().head.hasPrefix("HTTP/1.1 200 "))
        let bob = "Basic " + Base64.encode(Array("bob:two".utf8))
        #expect(lab.site.requests.map { $0.fields[.authorization] } == ["Bearer t", "Bearer t", nil, bob, bob])
        await connection.close()
        await lab.stop()
    }

    @Test(
        "links and cookies behind a redirect to another origin, also one that HSTS changes, get no Authorization",
        arguments: ["https", "http"]
    )
    func linksAfterRedirect(_ scheme: String) async throws {
        let lab = try await Self.lab { request in
            let site = "b.test:\(request.connection.local.port)"
            switch request.path {
            case "/moved": return Reply(status: .found, fields: [.location: "\(scheme)://\(site)/live.m3u8"])
            case "/live.m3u8": return .text("1.ts\n/2.ts\nhttps://\(site)/3.ts\n").adding(.setCookie, "s=1; Path=/")
            default: return .text("segment")
            }
        }
        lab.client.hsts?.record("max-age=60", of: try Host("b.test"))
        let connection = try await lab.connect()
        func ask(_ path: some StringProtocol) async throws -> (head: String, body: String) {
            try await connection.send("GET \(path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t\r\n\r\n")
            return try await connection.receiveResponse()
        }
        let start = try HTTPURL("https://a.test:\(lab.site.port)/moved")
        let moved = try await ask(try #require(lab.proxy.gateway).localURL(for: start).target)
        let location = moved.head.split(separator: "\r\n").first { $0.hasPrefix("Location: ") }?.dropFirst(10)
        let list = try await ask(try #require(location))
        let root = try #require(location).dropLast("/live.m3u8".count)
        #expect(list.body == "1.ts\n\(root)/2.ts\n\(root.replacing("/http/", with: "/https/"))/3.ts\n")
        #expect(list.head.contains("\r\nSet-Cookie: s=1; Path=\(root)/\r\n"))
        for link in list.body.split(separator: "\n").dropFirst() { _ = try await ask(link) }
        #expect(lab.site.requests.map { $0.fields[.authorization] } == ["Bearer t", nil, nil, nil])
        await connection.close()
        await lab.stop()
    }

    @Test("the gateway refuses an unknown token and a host that is not listed")
    func strangers() async throws {
        let messages = NIOLockedValueBox<[String]>([])
        let lab = try await ProxyLab(configure: {
            $0.gatewayHosts = ["a.test", "b.test"]
            $0.onEvent = { event in
                if case .refused(_, let refusal) = event { messages.withLockedValue { $0.append(refusal.message) } }
            }
        })
        let gateway = try #require(lab.proxy.gateway)
        for url in ["https://c.test/", "wss://c.test/", "https://a.test.evil/"] {
            #expect(throws: ProxyError.self) { _ = try gateway.localURL(for: try HTTPURL(url)) }
        }
        let token = try #require(gateway.localURL(for: try HTTPURL("https://a.test/")).path.split(separator: "/").first)
        #expect(token.count == 32)
        let connection = try await lab.connect()
        for path in ["/\(String(repeating: "a", count: 32))/https/a.test/", "/\(token)/https/c.test/", "/\(token)"] {
            try await connection.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await connection.receiveResponse().head.hasPrefix("HTTP/1.1 404 "))
        }
        #expect(lab.site.connections.accepted == 0)
        // Programs log the messages.
        let logged = messages.withLockedValue { $0 }
        #expect(logged.count == 3 && !logged.contains { $0.contains(token) })
        await connection.close()
        await lab.stop()
    }

    @Test("a listed name that resolves to a local address is refused as in a tunnel, unless it is pinned")
    func rebinding() async throws {
        let lab = try await ProxyLab(
            names: ["a.test", "b.test", "c.test"],
            configure: {
                $0.gatewayHosts = ["a.test", "b.test", "c.test"]
                $0.policy.allowsLocalAnswers = false
            },
            client: { $0.pinned[.init(try Host("c.test"))] = [IPAddress(v4: 0x7f00_0001)] }
        )
        try lab.upstream.zone.set("b.test", to: ["10.0.0.1"])
        let key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        let upgrade = "Upgrade: websocket\r\n\(key)"
        for (name, address) in [("a.test", "127.0.0.1"), ("b.test", "10.0.0.1")] {
            for fields in ["", "Connection: upgrade\r\n\(upgrade)"] {
                let (head, body) = try await get(lab, "https://\(name):\(lab.site.port)/echo", fields: fields)
                #expect(head.hasPrefix("HTTP/1.1 403 "), "\(head)")
                #expect(body.contains("the name leads to \(address), which is not a public address"), "\(body)")
            }
        }
        #expect(lab.site.connections.accepted == 0)
        let (head, _) = try await get(lab, "https://c.test:\(lab.site.port)/echo")
        #expect(head.hasPrefix("HTTP/1.1 200 "), "\(head)")
        await lab.stop()
    }

    @Test("a playlist's links lead to the gateway, and Content-Length is that of the mapped playlist")
    func playlist() async throws {
        let lab = try await Self.lab { request in
            var reply = Reply.text("#EXTM3U\n#EXTINF:1,\nhttps://b.test:\(request.connection.local.port)/1.ts\n2.ts\n")
            reply.fields[.contentType] = "application/vnd.apple.mpegurl"
            return reply
        }
        let fields = "Accept-Encoding: gzip\r\nRange: bytes=0-\r\n"
        let (head, body) = try await get(lab, "https://a.test:\(lab.site.port)/live", fields: fields)
        #expect(head.contains("\r\nContent-Length: \(body.utf8.count)\r\n"))
        let segment = try HTTPURL("https://b.test:\(lab.site.port)/1.ts")
        let local = try #require(lab.proxy.gateway).localURL(for: segment)
        #expect(body == "#EXTM3U\n#EXTINF:1,\n\(local.target)\n2.ts\n")
        #expect(lab.site.requests.first?.fields[.acceptEncoding] == "identity")
        await lab.stop()
    }

    @Test("an asset list is mapped also after a redirect, and a cloned pathway leads to its host")
    func interstitials() async throws {
        let lab = try await Self.lab { request in
            let site = "https://b.test:\(request.connection.local.port)"
            if request.path == "/moved" {
                return Reply(status: .found, fields: [.location: "\(site)/list"])
            }
            return .text(request.path == "/list" ? "{\"ASSETS\":[{\"URI\":\"\(site)/ad.m3u8\"}]}" : "")
        }
        let gateway = try #require(lab.proxy.gateway)
        let connection = try await lab.connect()
        func ask(_ path: String) async throws -> (head: String, body: String) {
            try await connection.send("GET \(path) HTTP/1.1\r\nHost: \(lab.proxy.endpoint)\r\n\r\n")
            return try await connection.receiveResponse()
        }
        let place = try gateway.localURL(for: HTTPURL("https://a.test:\(lab.site.port)/moved")).target
        let moved = try await ask(place.replacing("/https/", with: "/assets/https/"))
        let list = try #require(moved.head.split(separator: "\r\n").first { $0.hasPrefix("Location: ") }?.dropFirst(10))
        let ad = try gateway.localURL(for: HTTPURL("https://b.test:\(lab.site.port)/ad.m3u8"))
        let mapped = "\(ad)".replacing("/https/", with: "/redirected/https/")
        #expect(try await ask(String(list)).body == "{\"ASSETS\":[{\"URI\":\"\(mapped)\"}]}")
        let steered = try await ask(place.replacing("/moved", with: "/v?_beeline_host=b.test&x"))
        #expect(steered.head.hasPrefix("HTTP/1.1 307 "))
        let other = try gateway.localURL(for: HTTPURL("https://b.test:\(lab.site.port)/v?x")).target
        #expect(steered.head.contains("\r\nLocation: \(other)\r\n"))
        await connection.close()
        await lab.stop()
    }

    @Test("user and password of a URL are sent to the origin as Basic credentials")
    func userInfo() async throws {
        let lab = try await Self.lab()
        _ = try await get(lab, "https://us%40er:pw@a.test:\(lab.site.port)/echo")
        #expect(lab.site.requests.first?.fields[.authorization] == "Basic " + Base64.encode(Array("us@er:pw".utf8)))
        await lab.stop()
    }

    @Test("a range of a playlist is answered with the whole playlist, mapped, if only its type shows that it is one")
    func partOfAPlaylist() async throws {
        let lab = try await Self.lab { request in
            let port = request.connection.local.port
            var reply = Reply.text(
                "https://b.test:\(port)/1.ts\n",
                status: request.fields[.range] == nil ? .ok : .partialContent
            )
            reply.fields[.contentType] = "application/vnd.apple.mpegurl"
            return reply
        }
        let url = "https://a.test:\(lab.site.port)/live?channel=1"
        let (head, body) = try await get(lab, url, fields: "Range: bytes=0-\r\n")
        #expect(head.hasPrefix("HTTP/1.1 200 "), "\(head)")
        let segment = try HTTPURL("https://b.test:\(lab.site.port)/1.ts")
        #expect(body == (try #require(lab.proxy.gateway).localURL(for: segment).target + "\n"))
        // The length of the unmapped playlist would be wrong.
        let (only, _) = try await get(lab, url, method: "HEAD")
        #expect(only.hasPrefix("HTTP/1.1 200 ") && !only.contains("Content-Length"), "\(only)")
        await lab.stop()
    }

    @Test("an idle exchange ends after the time limit, as a tunnel does")
    func idle() async throws {
        let lab = try await ProxyLab(configure: {
            $0.gatewayHosts = ["a.test"]
            $0.limits.idle = .milliseconds(200)
        })
        let silent = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            _ = try await connection.receive(until: "never")
        }
        #expect(try await get(lab, "http://a.test:\(silent.port)/").head.hasPrefix("HTTP/1.1 504 "))
        await silent.stop()
        await lab.stop()
    }

    @Test("the time for the body of a pipelined upload begins with its turn")
    func pipelinedUpload() async throws {
        let limit = Duration.seconds(1)
        let lab = try await ProxyLab(configure: {
            $0.gatewayHosts = ["a.test"]
            $0.limits.body = limit
        })
        let start = NIOLockedValueBox(ContinuousClock.now)
        let server = try await RawServer.start { connection in
            let head = String(decoding: try await connection.receive(until: "\r\n\r\n") ?? [], as: UTF8.self)
            guard head.hasPrefix("GET ") else { return try await connection.hold() }
            try await connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nha")
            // Not a wait for an event: longer than the limit, which the machine's clock measures.
            try await Task.sleep(for: limit + .milliseconds(300))
            // The turn of the upload begins later, with the end of this response.
            start.withLockedValue { $0 = ContinuousClock.now }
            try await connection.send("lf")
        }
        let gateway = try #require(lab.proxy.gateway)
        let target = try gateway.localURL(for: HTTPURL("http://a.test:\(server.port)/")).target
        let connection = try await lab.connect()
        try await connection.send(
            "GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n"
                + "POST \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello"
        )
        #expect(try await connection.receiveResponse().body == "half")
        #expect(try await connection.receiveAll().hasPrefix("HTTP/1.1 408 "))
        // The limits are checked eight times in that time, and the first check refused the upload.
        let time = ContinuousClock.now - start.withLockedValue { $0 }
        #expect(time > limit / 3)
        await connection.close()
        await server.stop()
        await lab.stop()
    }

    @Test("a chunked request body is forwarded as it arrives, in new chunks")
    func chunkedBody() async throws {
        let lab = try await Self.lab()
        let arrived = Gate()
        let server = try await RawServer.start { connection in
            let head = String(decoding: try await connection.receive(until: "\r\n\r\n") ?? [], as: UTF8.self)
            let first = String(decoding: try await connection.receive(until: "first\r\n") ?? [], as: UTF8.self)
            arrived.open()
            let rest = String(decoding: try await connection.receive(until: "0\r\n\r\n") ?? [], as: UTF8.self)
            let answer = "\(head.lowercased().contains("transfer-encoding: chunked")) \(first)\(rest)"
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(answer.utf8.count)\r\n\r\n\(answer)")
        }
        let gateway = try #require(lab.proxy.gateway)
        let target = try gateway.localURL(for: try HTTPURL("http://a.test:\(server.port)/upload")).target
        let fields = "Host: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n"
        let connection = try await lab.connect()
        try await connection.send("POST \(target) HTTP/1.1\r\n\(fields)\r\n")
        #expect(try await connection.receiveHead() == "HTTP/1.1 100 Continue\r\n\r\n")
        try await connection.send("3;x=y\r\nfir\r\n2\r\nst\r\n")
        // The origin has the first chunk before the player has sent the rest.
        try await arrived.wait()
        try await connection.send("6\r\nsecond\r\n0\r\nTrailer: 1\r\n\r\n")
        let (_, body) = try await connection.receiveResponse()
        #expect(body.hasPrefix("true ") && body.contains("second"))
        #expect(!body.contains("x=y") && !body.contains("Trailer"))
        await connection.close()
        await server.stop()
        // Over TLS, and larger than the buffers between the two connections.
        let block = String(repeating: "x", count: 65_536)
        let chunks = String(repeating: "10000\r\n\(block)\r\n", count: 40) + "0\r\n\r\n"
        let (_, echo) = try await get(
            lab,
            "https://a.test:\(lab.site.port)/length",
            fields: "Transfer-Encoding: chunked\r\n",
            method: "POST",
            body: chunks
        )
        #expect(lab.site.requests.last?.bodySize == 40 << 16, "\(echo)")
        let wrong = "5\r\nhello\r\nzz\r\n"
        let refused = try await get(
            lab,
            "https://a.test:\(lab.site.port)/",
            fields: "Transfer-Encoding: chunked\r\n",
            method: "POST",
            body: wrong
        )
        #expect(refused.head.hasPrefix("HTTP/1.1 400 "))
        await lab.stop()
    }

    @Test("an origin that breaks off ends the response early, and an origin that cannot be reached is a 502")
    func faults() async throws {
        let lab = try await Self.lab()
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        }
        #expect(try await get(lab, "http://a.test:\(server.port)/").body == "half")
        let dead = try RefusedEndpoint()
        #expect(try await get(lab, "http://a.test:\(dead.endpoint.port)/").head.hasPrefix("HTTP/1.1 502 "))
        try lab.upstream.zone.set("a.test", to: [])
        #expect(try await get(lab, "http://x.a.test/").head.hasPrefix("HTTP/1.1 502 "))
        dead.close()
        await server.stop()
        await lab.stop()
    }

    /// A reason for which the resolver has no address, and the status of the gateway for it.
    enum ResolverError: CaseIterable {
        case tooManyLookups, timeLimit, bogusAnswer, shutDown

        var status: Int {
            switch self {
            case .tooManyLookups, .shutDown: 503
            case .timeLimit: 504
            case .bogusAnswer: 403
            }
        }
    }

    @Test(
        "the gateway answers an error of the resolver with the status of the proxy",
        arguments: ResolverError.allCases
    )
    func resolverErrors(_ reason: ResolverError) async throws {
        let silent = try await RawServer.start { try await $0.hold() }
        let lab = try await ProxyLab(
            configure: { $0.gatewayHosts = ["a.test"] },
            client: {
                $0.resolver.system = nil
                switch reason {
                case .tooManyLookups: $0.resolver.limits.maxLookups = 0
                case .timeLimit:
                    $0.upstreams = [.dnspod(at: [silent.endpoint])]
                    $0.resolver.limits.total = .milliseconds(50)
                case .bogusAnswer: $0.resolver.check.allowsLocalAnswers = false
                case .shutDown: break
                }
            }
        )
        if reason == .shutDown { await lab.client.resolver.shutDown() }
        let (head, body) = try await get(lab, "http://a.test:\(lab.plain.port)/echo")
        #expect(head.hasPrefix("HTTP/1.1 \(reason.status) "), "\(head)\(body)")
        #expect(lab.plain.connections.accepted == 0)
        await lab.stop()
        await silent.stop()
    }

    @Test("behind an upstream proxy, the gateway refuses a local address and an upstream proxy that is this proxy")
    func policyBehindAProxy() async throws {
        let other = try await ProxyServer.start(.http) { _, port in Endpoint(IPAddress(v4: 0x7f00_0001), port: port) }
        // The port of the proxy, which its client must know before the proxy starts.
        let place = try RefusedEndpoint()
        place.close()
        for (upstream, url, reason) in [
            (other.endpoint, "http://127.0.0.1/", "127.0.0.1 is an address of this machine"),
            (place.endpoint, "http://a.test/", "is this proxy"),
        ] {
            let proxy = Proxy(origin: Origin(scheme: .http, host: Host(upstream.address), port: upstream.port))
            let lab = try await ProxyLab(
                configure: {
                    $0.listen = place.endpoint
                    $0.gatewayHosts = ["a.test", "127.0.0.1"]
                    $0.policy.allowsLocalAnswers = false
                },
                client: { $0.proxies = ProxySettings(http: proxy, https: proxy) }
            )
            let (head, body) = try await get(lab, url)
            #expect(head.hasPrefix("HTTP/1.1 403 ") && body.contains(reason), "\(head)\(body)")
            await lab.stop()
        }
        #expect(other.requests.isEmpty)
        await other.stop()
    }
}
