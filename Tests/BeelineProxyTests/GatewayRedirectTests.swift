// SPDX-License-Identifier: Apache-2.0

import BeelineProxy
import BeelineTesting
import HTTPDNS
import Names
import Testing

@Suite("The gateway: redirects whose Location is not plain text", .timeLimit(.minutes(1)))
struct GatewayRedirectTests {
    @Test("octets of a Location that are not UTF-8 are percent-encoded, because U+FFFD would lead to another URL")
    func locationInLatin1() async throws {
        let lab = try await ProxyLab(configure: { $0.gatewayHosts = ["a.test"] })
        let server = try await RawServer.start { connection in
            _ = try await connection.receive(until: "\r\n\r\n")
            let head = Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /caf".utf8)
            try await connection.send(head + [0xe9] + Array("\r\n\r\n".utf8))
        }
        let gateway = try #require(lab.proxy.gateway)
        let target = try gateway.localURL(for: HTTPURL("http://a.test:\(server.port)/")).target
        let connection = try await lab.connect()
        try await connection.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
        let head = try await connection.receiveResponse().head
        #expect(head.contains("\r\nLocation: \(target)caf%E9\r\n"), "\(head)")
        await connection.close()
        await server.stop()
        await lab.stop()
    }
}
