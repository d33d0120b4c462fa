// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import NIOConcurrencyHelpers
import Testing

@Suite("Connections to another host or port", .timeLimit(.minutes(1)))
struct ConnectRuleTests {
    @Test(
        "a rule changes where the connection leads, and nothing of the request",
        arguments: [("a.test", nil), (nil, 81), (nil, nil), ("a.test", 81)] as [(String?, UInt16?)]
    )
    func rule(host: String?, port: UInt16?) async throws {
        let site = try await LoopbackOrigin.start { .text($0.authority ?? "-") }
        let rule = ConnectRule(
            host: try host.map { try Host($0) },
            port: port,
            targetHost: try Host("127.0.0.1"),
            targetPort: site.port
        )
        let client = try plainClient {
            $0.connectTo = [ConnectRule(host: rule.host, port: 1, targetPort: 2), rule]
        }
        #expect(try await client.get("http://a.test:81/").text() == "a.test:81")
        await client.shutDown()
        await site.stop()
    }

    @Test("a rule's target has its own pins, and a pin of a port is for every host without another")
    func pins() async throws {
        let site = try await LoopbackOrigin.start { .text($0.authority ?? "-") }
        let client = try plainClient {
            $0.pinnedPorts = [site.port: [site.endpoint.address]]
            $0.connectTo = [ConnectRule(port: 81, targetPort: site.port)]
        }
        #expect(try await client.get("http://b.test:\(site.port)/").text() == "b.test:\(site.port)")
        #expect(try await client.get("http://c.test:81/").text() == "c.test:81")
        await client.shutDown()
        await site.stop()
    }

    @Test("a Unix domain socket for all origins comes before a proxy and a pin")
    func socket() throws {
        var configuration = ClientConfiguration()
        configuration.unixSocket = "/run/x"
        configuration.proxies = ProxySettings(http: Proxy(parsing: "http://proxy.test:3128"))
        let origin = Origin(scheme: .http, host: try Host("a.test"))
        #expect(configuration.routing(to: origin) == .unixSocket("/run/x"))
    }

    @Test("a connection comes from a free local port of the range")
    func localPorts() async throws {
        let site = try await LoopbackOrigin.start { _ in .text("") }
        let client = try plainClient { $0.engine.dial.localPorts = 41_000...41_999 }
        for _ in 0..<2 {
            let response = try await client.get(site.url())
            #expect((41_000...41_999).contains(response.hop.localEndpoint?.port ?? 0))
            await response.body.discard()
            client.closeIdle()
        }
        await client.shutDown()
        await site.stop()
    }

    @Test("the error of a local port that is in use names it")
    func busyLocalPort() async throws {
        let site = try await LoopbackOrigin.start { _ in .text("") }
        // The site listens on it.
        let client = try plainClient { $0.engine.dial.localPorts = site.port...site.port }
        let error = await #expect(throws: BeelineError.self) { _ = try await client.get(site.url()) }
        #expect(error?.message.contains("from the local port \(site.port): ") == true, "\(error?.message ?? "")")
        await client.shutDown()
        await site.stop()
    }

    @Test(
        "through a proxy, a rule asks for a tunnel to its target, with the fields of tunnels, and its head is reported"
    )
    func proxy() async throws {
        let site = try await LoopbackOrigin.start { .text($0.target) }
        let server = try await ProxyServer.start(.http) { _, port in
            Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
        }
        let client = try plainClient {
            var proxy = Proxy(origin: Origin(scheme: .http, host: .loopback, port: server.endpoint.port))
            proxy.connectFields[.userAgent] = "tunnel"
            $0.proxies = ProxySettings(http: proxy)
            $0.connectTo = [ConnectRule(targetHost: try? Host("other.test"), targetPort: site.port)]
        }
        let heads = NIOLockedValueBox<[Int]>([])
        var options = RequestOptions()
        options.wire.onTunnelHead = { head in heads.withLockedValue { $0.append(head.response.status.code) } }
        #expect(try await client.get("http://a.test/x", options: options).text() == "/x")
        #expect(server.requests.map(\.host) == ["other.test"] && heads.withLockedValue { $0 } == [200])
        await client.shutDown()
        await server.stop()
        await site.stop()
    }

    @Test("an HTTP proxy is reached through a SOCKS5 proxy, by its name")
    func preproxy() async throws {
        let site = try await LoopbackOrigin.start { .text($0.target) }
        let local = { @Sendable (port: UInt16) in Endpoint(IPAddress(v4: 0x7f00_0001), port: port) }
        let server = try await ProxyServer.start(.http) { _, port in local(port) }
        let first = try await ProxyServer.start(.socks5) { _, port in local(port) }
        let client = try plainClient {
            guard let name = try? Host("proxy.test") else { return }
            var proxy = Proxy(origin: Origin(scheme: .http, host: name, port: server.endpoint.port))
            proxy.tunnelsPlainHTTP = true
            proxy.preproxy = Proxy(.socks5, origin: Origin(scheme: .http, host: .loopback, port: first.endpoint.port))
            $0.proxies = ProxySettings(http: proxy)
        }
        #expect(try await client.get("http://a.test:\(site.port)/x").text() == "/x")
        #expect(first.requests.map(\.host) == ["proxy.test"] && server.requests.map(\.host) == ["a.test"])
        await client.shutDown()
        await first.stop()
        await server.stop()
        await site.stop()
    }

    @Test("a proxy that forwards requests gets those of several origins on one connection")
    func sharedConnection() async throws {
        let site = try await LoopbackOrigin.start { .text($0.target) }
        let client = try plainClient {
            var proxy = Proxy(origin: Origin(scheme: .http, host: .loopback, port: site.port))
            proxy.forwardedFields[.acceptLanguage] = "me"
            $0.proxies = ProxySettings(http: proxy)
        }
        for (name, isReused) in [("a.test", false), ("b.test", true)] {
            let response = try await client.get("http://\(name)/")
            #expect(try await response.text() == "http://\(name)/" && response.hop.isReused == isReused)
        }
        #expect(site.requests.map { $0.fields[.acceptLanguage] } == ["me", "me"])
        await client.shutDown()
        await site.stop()
    }
}

extension Host {
    fileprivate static var loopback: Host { Host(IPAddress(v4: 0x7f00_0001)) }
}
