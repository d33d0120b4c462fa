// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import Names
import Testing

@Suite(.timeLimit(.minutes(1))) struct ProxyServerTests {
    @Test func connectTunnelsToTheNameThatWasAskedFor() async throws {
        let origin = try await LoopbackOrigin.start(handler: Routes.standard)
        let proxy = try await ProxyServer.start(.http) { [endpoint = origin.endpoint] name, port in
            name == "www.a.test" && port == 443 ? endpoint : nil
        }
        let client = try await RawConnection.connect(to: proxy.endpoint)
        try await client.send("CONNECT www.a.test:443 HTTP/1.1\r\nHost: www.a.test:443\r\n\r\n")
        #expect(try await text(client.receive(until: "\r\n\r\n")).hasPrefix("HTTP/1.1 200 "))
        try await client.send("GET /echo HTTP/1.1\r\nHost: www.a.test\r\nConnection: close\r\n\r\n")
        #expect(try await rest(client).contains("\"host\":\"www.a.test\""))
        await client.close()
        let request = try #require(proxy.requests.first)
        #expect(request.method == .connect && request.host == "www.a.test" && request.port == 443)
        #expect(!request.isAddress)
        try await proxy.connections { $0.open == 0 }
        try await origin.connections { $0.open == 0 }
        await proxy.stop()
        await origin.stop()
    }

    @Test func forwardingWritesOriginFormWithoutTheCredentials() async throws {
        let origin = try await LoopbackOrigin.start(handler: Routes.standard)
        let proxy = try await ProxyServer.start(.http, credentials: "u:p") { [endpoint = origin.endpoint] _, _ in
            endpoint
        }
        let client = try await RawConnection.connect(to: proxy.endpoint)
        let head = "POST http://a.test:8080/echo?x HTTP/1.1\r\nHost: a.test:8080\r\nContent-Length: 2\r\n"
        try await client.send(head + "\r\nhi")
        #expect(try await text(client.receive(until: "\r\n\r\n")).contains("407 Proxy Authentication Required"))
        _ = try await client.receive(count: "who are you?\n".utf8.count)
        // The connection stays open after the challenge. dTpw is u:p.
        try await client.send(head + "Proxy-Authorization: Basic dTpw\r\n\r\nhi")
        let answer = try await rest(client)
        #expect(answer.contains("\"target\":\"/echo?x\"") && answer.contains("\"body\":\"hi\""))
        #expect(!answer.contains("Proxy-Authorization"))
        #expect(proxy.requests.map(\.credentials) == [nil, "u:p"])
        #expect(proxy.requests.map(\.host) == ["a.test", "a.test"] && proxy.requests.map(\.port) == [8080, 8080])
        await client.close()
        await proxy.stop()
        await origin.stop()
    }

    @Test(arguments: [
        ("no route", "CONNECT b.test:443 HTTP/1.1\r\n\r\n", "HTTP/1.1 502 "),
        ("no target", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "),
        ("told otherwise", "CONNECT forbidden.test:443 HTTP/1.1\r\n\r\n", "HTTP/1.1 403 "),
    ])
    func aRefusal(_: String, request: String, expected: String) async throws {
        let proxy = try await ProxyServer.start(.http) { request in
            request.host == "forbidden.test" ? Reply(status: .forbidden, ending: .close) : nil
        } route: { _, _ in
            nil
        }
        let client = try await RawConnection.connect(to: proxy.endpoint)
        try await client.send(request)
        #expect(try await rest(client).hasPrefix(expected))
        await client.close()
        await proxy.stop()
    }

    @Test(
        arguments: [
            ("a name", [3, 6] + Array("a.test".utf8), "a.test", false),
            ("an IPv4 address", [1, 192, 0, 2, 1], "192.0.2.1", true),
            ("an IPv6 address", [4, 0x20, 1, 0xd, 0xb8] + [UInt8](repeating: 0, count: 11) + [1], "2001:db8::1", true),
        ] as [(String, [UInt8], String, Bool)]
    )
    func socksTunnels(_: String, target: [UInt8], host: String, isAddress: Bool) async throws {
        let origin = try await LoopbackOrigin.start { .text($0.authority ?? "") }
        let proxy = try await ProxyServer.start(.socks5) { [endpoint = origin.endpoint] _, port in
            port == 8080 ? endpoint : nil
        }
        let client = try await RawConnection.connect(to: proxy.endpoint)
        try await client.send([5, 1, 0])
        #expect(try await client.receive(count: 2) == [5, 0])
        try await client.send([5, 1, 0] + target + [0x1f, 0x90])
        #expect(try await client.receive(count: 10) == [5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
        try await client.send("GET / HTTP/1.1\r\nHost: through.test\r\nConnection: close\r\n\r\n")
        #expect(try await rest(client).hasSuffix("\r\n\r\nthrough.test"))
        #expect(proxy.requests.map(\.host) == [host] && proxy.requests.map(\.isAddress) == [isAddress])
        await client.close()
        await proxy.stop()
        await origin.stop()
    }

    @Test func socksAsksForCredentials() async throws {
        let proxy = try await ProxyServer.start(.socks5, credentials: "u:p") { _, _ in nil }
        for (password, expected) in [("p", [1, 0]), ("q", [1, 1])] as [(String, [UInt8])] {
            let client = try await RawConnection.connect(to: proxy.endpoint)
            try await client.send([5, 2, 0, 2])
            #expect(try await client.receive(count: 2) == [5, 2])
            try await client.send([1, 1] + Array("u".utf8) + [1] + Array(password.utf8))
            #expect(try await client.receive(count: 2) == expected)
            if password == "p" {
                try await client.send([5, 1, 0, 3, 1, 120, 0, 80])
                #expect(try await client.receive(count: 2) == [5, 4])
            }
            await client.close()
        }
        #expect(proxy.requests.map(\.credentials) == ["u:p"])
        await proxy.stop()
    }

    private func rest(_ client: RawConnection) async throws -> String {
        var bytes: [UInt8] = []
        while let more = try await client.receive() { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func text(_ bytes: [UInt8]?) -> String {
        String(decoding: bytes ?? [], as: UTF8.self)
    }
}
