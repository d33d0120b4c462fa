// SPDX-License-Identifier: Apache-2.0

import BeelineProxy
import BeelineTesting
import HTTPDNS
import Names
import Testing

@Suite("The gateway: the connections of players", .timeLimit(.minutes(1)))
struct GatewayConnectionTests {
    private static func lab() async throws -> ProxyLab {
        try await ProxyLab(configure: { $0.gatewayHosts = ["a.test"] })
    }

    @Test("an HTTP/1.0 player is told whether its connection is kept")
    func keepAliveOfHTTP10() async throws {
        let lab = try await Self.lab()
        let gateway = try #require(lab.proxy.gateway)
        let connection = try await lab.connect()
        func send(_ path: String) async throws {
            let target = try gateway.localURL(for: HTTPURL("http://a.test:\(lab.plain.port)\(path)")).target
            try await connection.send("GET \(target) HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n")
        }
        for _ in 0..<2 {
            try await send("/bytes/3")
            let head = try await connection.receiveResponse().head
            #expect(head.hasPrefix("HTTP/1.1 200 ") && head.contains("\r\nConnection: keep-alive\r\n"), "\(head)")
        }
        try await send("/chunked/2")
        let head = try await connection.receiveHead()
        #expect(head.contains("\r\nConnection: close\r\n") && !head.contains("keep-alive"), "\(head)")
        #expect(try await connection.receiveAll().contains("chunk 2\n"))
        await connection.close()
        await lab.stop()
    }

    @Test("a player that ends its connection with a request is told that it ends")
    func closing() async throws {
        let lab = try await Self.lab()
        let gateway = try #require(lab.proxy.gateway)
        for path in ["/bytes/3", "/chunked/2"] {
            let connection = try await lab.connect()
            let target = try gateway.localURL(for: HTTPURL("http://a.test:\(lab.plain.port)\(path)")).target
            try await connection.send("GET \(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            let response = try await connection.receiveAll()
            #expect(response.hasPrefix("HTTP/1.1 200 ") && response.contains("\r\nConnection: close\r\n"))
            await connection.close()
        }
        await lab.stop()
    }

    @Test("a player that ends its input after its requests gets all responses, and a 400 for an incomplete request")
    func halfClosed() async throws {
        let lab = try await Self.lab()
        let answers = Gate()
        let server = try await RawServer.start { connection in
            while let head = try await connection.receive(until: "\r\n\r\n") {
                // The player's input has ended before the first response.
                try await answers.wait()
                if head.starts(with: Array("POST".utf8)) { return try await connection.hold() }
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody")
            }
        }
        let gateway = try #require(lab.proxy.gateway)
        let target = try gateway.localURL(for: HTTPURL("http://a.test:\(server.port)/")).target
        let get = "GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n"
        let connection = try await lab.connect()
        try await connection.send(get + get + "POST \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1234")
        try await server.connections { $0.open == 1 }
        try await connection.finishSending()
        answers.open()
        for _ in 0..<2 { #expect(try await connection.receiveResponse().body == "body") }
        #expect(try await connection.receiveAll().hasPrefix("HTTP/1.1 400 "))
        await connection.close()
        await server.stop()
        await lab.stop()
    }

    @Test("a player that ends its input and gets no response is closed after its time limit")
    func halfClosedForEver() async throws {
        let lab = try await ProxyLab(configure: {
            $0.gatewayHosts = ["a.test"]
            $0.limits.halfClosed = .milliseconds(50)
        })
        let silent = try await RawServer.start { try await $0.hold() }
        let gateway = try #require(lab.proxy.gateway)
        let target = try gateway.localURL(for: HTTPURL("http://a.test:\(silent.port)/")).target
        let connection = try await lab.connect()
        try await connection.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
        try await connection.finishSending()
        #expect(try await connection.receiveAll().hasPrefix("HTTP/1.1 504 "))
        await connection.close()
        try await silent.connections { $0.open == 0 }
        await silent.stop()
        await lab.stop()
    }
}
