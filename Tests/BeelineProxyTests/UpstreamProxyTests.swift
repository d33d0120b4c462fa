// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Names
import Testing

@Suite("Through an upstream proxy", .timeLimit(.minutes(1)))
struct UpstreamProxyTests {
    @Test("one that wants another password is named as the cause, and the client is not asked for it")
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

    @Test("one over TLS is trusted by the client's roots, for tunnels and for requests")
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
}
