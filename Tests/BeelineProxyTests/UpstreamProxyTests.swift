// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineTesting
import Names
import Testing

@Suite("An upstream proxy", .timeLimit(.minutes(1)))
struct UpstreamProxyTests {
    @Test("an upstream proxy that rejects the password is named in a 502, and the client is not asked for a password")
    func wantsPassword() async throws {
        let other = try await ProxyServer.start(.http, credentials: "me:secret") { _, _ in nil }
        let origin = Origin(scheme: .http, host: Host(other.endpoint.address), port: other.endpoint.port)
        let proxy = Proxy(origin: origin, user: "me", password: "wrong")
        let lab = try await ProxyLab(client: { $0.proxies = ProxySettings(http: proxy, https: proxy) })
        let connection = try await lab.connect()
        for request in ["GET http://a.test/", "CONNECT a.test:443"] {
            try await connection.send("\(request) HTTP/1.1\r\nHost: a\r\n\r\n")
            let (head, body) = try await connection.receiveResponse()
            #expect(head.hasPrefix("HTTP/1.1 502 ") && body.contains("the proxy \(proxy)"), "\(head)\(body)")
        }
        await connection.close()
        await other.stop()
        await lab.stop()
    }

    @Test("an upstream proxy over TLS is verified by the client's roots, for tunnels and for requests")
    func trusted() async throws {
        let authority = try TestAuthority()
        let tls = ServerTLS(try authority.certificate(for: "127.0.0.1"))
        let other = try await ProxyServer.start(.http, tls: tls) { _, port in
            Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
        }
        let origin = Origin(scheme: .https, host: Host(other.endpoint.address), port: other.endpoint.port)
        let proxy = Proxy(origin: origin)
        let lab = try await ProxyLab(client: {
            $0.proxies = ProxySettings(http: proxy, https: proxy)
            $0.tls.rootPEMs = [authority.rootPEM]
        })
        let user = try lab.user()
        #expect(try await user.get("https://a.test:\(lab.site.port)/echo").status == .ok)
        #expect(try await user.get("http://a.test:\(lab.plain.port)/echo").status == .ok)
        #expect(other.requests.map(\.host) == ["a.test", "a.test"])
        await user.shutDown()
        await other.stop()
        await lab.stop()
    }

    @Test(
        "a server that sends first is heard if its bytes arrive together with the upstream proxy's answer",
        arguments: ["http", "https", "socks5"]
    )
    func serverSpeaksFirst(_ kind: String) async throws {
        let authority = try TestAuthority()
        let tls = try kind == "https" ? ServerTLS(authority.certificate(for: "127.0.0.1")) : nil
        let other = try await RawServer.start(tls: tls) { connection in
            let banner = "SSH-2.0-x\r\n"
            if kind == "socks5" {
                _ = try await connection.receive(count: 3)
                try await connection.send([5, 0])
                _ = try await connection.receive(count: 13)
                let answer: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]
                try await connection.send(answer + Array(banner.utf8))
            } else {
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send("HTTP/1.1 200 OK\r\n\r\n" + banner)
            }
            try await connection.drain()
        }
        let scheme: Scheme = kind == "https" ? .https : .http
        let origin = Origin(scheme: scheme, host: Host(other.endpoint.address), port: other.endpoint.port)
        let proxy = kind == "socks5" ? Proxy(.socks5, origin: origin) : Proxy(origin: origin)
        let lab = try await ProxyLab(client: {
            $0.proxies = ProxySettings(https: proxy)
            $0.tls.rootPEMs = [authority.rootPEM]
        })
        let tunnel = try await lab.tunnel(to: "a.test", port: 22)
        #expect(try await tunnel.receive(until: "\n") == Array("SSH-2.0-x\r\n".utf8))
        await tunnel.close()
        await other.stop()
        await lab.stop()
    }

    @Test("a tunnel through an upstream proxy over TLS that is cut has no orderly end of TLS")
    func cutOverTLS() async throws {
        let authority = try TestAuthority()
        let (ends, tell) = AsyncStream.makeStream(of: Bool.self)
        let tls = ServerTLS(try authority.certificate(for: "127.0.0.1"))
        let other = try await RawServer.start(tls: tls) { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            try await connection.send("HTTP/1.1 200 OK\r\n\r\n")
            do {
                try await connection.drain()
                tell.yield(true)
            } catch {
                tell.yield(false)
                throw error
            }
        }
        let origin = Origin(scheme: .https, host: Host(other.endpoint.address), port: other.endpoint.port)
        let lab = try await ProxyLab(client: {
            $0.proxies = ProxySettings(https: Proxy(origin: origin))
            $0.tls.rootPEMs = [authority.rootPEM]
        })
        let tunnel = try await lab.tunnel(to: "a.test", port: 443)
        await lab.proxy.stop()
        #expect(await ends.first { _ in true } == false)
        await tunnel.close()
        await other.stop()
        await lab.stop()
    }

    @Test("localhost behind an upstream proxy is refused as its addresses are")
    func localhost() async throws {
        let other = try await ProxyServer.start(.http) { _, port in Endpoint(IPAddress(v4: 0x7f00_0001), port: port) }
        let proxy = Proxy(parsing: "http://\(other.endpoint)")
        let lab = try await ProxyLab(
            configure: { $0.policy.allowsLocalAnswers = false },
            client: { $0.proxies = ProxySettings(http: proxy, https: proxy, exceptions: ProxyExceptions(parsing: "")) }
        )
        let hosts = ["127.0.0.1", "[::1]", "localhost", "LocalHost.", "a.localhost"]
        for host in hosts {
            for request in ["GET http://\(host):\(lab.plain.port)/", "CONNECT \(host):\(lab.plain.port)"] {
                let connection = try await lab.connect()
                try await connection.send("\(request) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                #expect(try await connection.receiveHead().hasPrefix("HTTP/1.1 403 "), "\(request)")
                await connection.close()
            }
        }
        #expect(other.requests.isEmpty)
        await (try lab.tunnel(to: "localhost.a.test", port: lab.plain.port)).close()
        await other.stop()
        await lab.stop()
    }

    @Test("the password of a SOCKS upstream proxy is not sent to an origin, which gets requests in the usual form")
    func socksPassword() async throws {
        let other = try await ProxyServer.start(.socks5, credentials: "me:secret") { _, port in
            Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
        }
        let origin = Origin(scheme: .http, host: Host(other.endpoint.address), port: other.endpoint.port)
        let proxy = Proxy(.socks5, origin: origin, user: "me", password: "secret")
        let lab = try await ProxyLab(client: { $0.proxies = ProxySettings(http: proxy) })
        let user = try lab.user()
        #expect(try await user.get("http://a.test:\(lab.plain.port)/echo").status == .ok)
        let request = try #require(lab.plain.requests.last)
        #expect(request.target == "/echo" && request.fields[.proxyAuthorization] == nil)
        await user.shutDown()
        await other.stop()
        await lab.stop()
    }

    @Test(
        "without IPv4, an upstream proxy and a pinned origin with IPv4 addresses are reached through NAT64"
    )
    func byNAT64() async throws {
        let site = try await LoopbackOrigin.start(addresses: ["::1"]) { _ in .text("reached") }
        let other = try await ProxyServer.start(.http, addresses: ["::1"]) { _, _ in site.endpoint }
        let prefix = try #require(IPNetwork("::/96").flatMap { NAT64Prefix($0) })
        let host = try Host("pinned.test")
        let lab = try await ProxyLab(client: {
            // With this prefix, 0.0.0.1 becomes ::1.
            let proxy = Proxy(parsing: "http://0.0.0.1:\(other.endpoint.port)")
            $0.proxies = ProxySettings(http: proxy, https: proxy, exceptions: ProxyExceptions(parsing: "pinned.test"))
            $0.pinned = [ClientConfiguration.Pin(host): [IPAddress(v4: 1)]]
        })
        await lab.client.resolver.networkChanged(to: Network(id: "v6", families: .v6, nat64: [prefix]))
        let user = try lab.user()
        for name in ["a.test", "pinned.test"] {
            #expect(try await user.get("http://\(name):\(site.port)/").status == .ok)
        }
        #expect(other.requests.map(\.host) == ["a.test"])
        await user.shutDown()
        await other.stop()
        await site.stop()
        await lab.stop()
    }
}
