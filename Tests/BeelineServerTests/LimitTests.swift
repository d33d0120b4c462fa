// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import Foundation
import HTTPDNS
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Names
import Testing

@testable import BeelineServer

@Suite("Limits for the clients of a server", .timeLimit(.minutes(1)))
struct LimitTests {
    /// A server over TLS with timeouts of 30 s, of which each test shortens one.
    private static func hasty(_ change: (inout ServerConfiguration) -> Void) async throws -> ServerLab {
        try await ServerLab {
            $0.handshakeTimeout = .seconds(30)
            $0.requestTimeout = .seconds(30)
            $0.replyTimeout = .seconds(30)
            $0.idleTimeout = .seconds(30)
            change(&$0)
        }
    }

    @Test("a client that never starts TLS is disconnected")
    func silentHandshake() async throws {
        let lab = try await Self.hasty { $0.handshakeTimeout = .milliseconds(50) }
        let connection = try await RawConnection.connect(to: lab.endpoint)
        while try await connection.receive() != nil {}
        await connection.close()
        await lab.stop()
    }

    @Test("a client that stops within its first TLS message is disconnected")
    func haltingHandshake() async throws {
        let lab = try await Self.hasty { $0.handshakeTimeout = .milliseconds(50) }
        let connection = try await RawConnection.connect(to: lab.endpoint)
        // The start of a record of 512 octets.
        try await connection.send([0x16, 0x03, 0x01, 0x02, 0x00, 0x01] as [UInt8])
        while try await connection.receive() != nil {}
        await connection.close()
        await lab.stop()
    }

    @Test("a client that stops before, within or after a request is disconnected", arguments: 0..<4)
    func plain(_ phase: Int) async throws {
        let lab = try await Self.hasty {
            $0.tls = nil
            if phase < 2 { $0.requestTimeout = .milliseconds(50) } else { $0.idleTimeout = .milliseconds(50) }
        }
        let connection = try await RawConnection.connect(to: lab.endpoint)
        switch phase {
        case 0: try await connection.send("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")
        case 1:
            try await connection.send(
                "POST /dns-query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/dns-message\r\nContent-Length: 9\r\n\r\n1234"
            )
        case 2: break
        default:
            try await connection.send("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            // On a slow machine the time may run out before the request.
            _ = try? await connection.receive(until: "ok\n")
        }
        while try await connection.receive() != nil {}
        await connection.close()
        await lab.stop()
    }

    @Test("each phase of a connection has its own time limit")
    func timer() throws {
        let phases: [(String, (ConnectionTimer) -> Void, Int64?)] = [
            ("the handshake", { $0.beginHandshake(.seconds(7)) }, 7), ("quiet", { $0.waitForRequest() }, 60),
            (
                "a head",
                {
                    $0.waitForRequest(); $0.received()
                }, 10
            ),
            (
                "an answer that is made",
                {
                    $0.waitForRequest(); $0.received(); $0.beginAnswer(); $0.received()
                }, nil
            ),
            (
                "a reply that is not read",
                {
                    $0.waitForRequest(); $0.beginAnswer(); $0.beginReply()
                }, 30
            ),
            (
                "quiet again",
                {
                    $0.beginReply(); $0.waitForRequest()
                }, 60
            ),
        ]
        for (what, act, limit) in phases {
            let channel = EmbeddedChannel()
            try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            let timer = ConnectionTimer(channel, ServerConfiguration())
            act(timer)
            channel.embeddedEventLoop.advanceTime(by: .seconds(limit.map { $0 - 1 } ?? 1_000))
            #expect(channel.isActive, "\(what)")
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            #expect(channel.isActive == (limit == nil), "\(what)")
            timer.end()
            _ = try? channel.finish(acceptAlreadyClosed: true)
        }
    }

    @Test("a request that arrives octet by octet has no more time than others")
    func trickle() throws {
        let channel = EmbeddedChannel()
        try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let timer = ConnectionTimer(channel, ServerConfiguration())
        timer.waitForRequest()
        for _ in 0..<9 {
            timer.received()
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        }
        #expect(channel.isActive)
        timer.received()
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test("a client has a limit of connections, and a trusted proxy has none", arguments: [false, true])
    func connectionsOfAClient(_ isTrusted: Bool) async throws {
        let lab = try await ServerLab {
            $0.tls = nil
            $0.connectionsPerClient = 2
            if isTrusted { $0.trustedProxies = [IPNetwork("127.0.0.0/8")].compactMap { $0 } }
        }
        var connections: [RawConnection] = []
        for number in 0..<3 {
            let connection = try await RawConnection.connect(to: lab.endpoint)
            try? await connection.send("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            let reply = try? await connection.receive(until: "ok\n")
            #expect((reply != nil) == (number < 2 || isTrusted))
            connections.append(connection)
        }
        await connections[0].close()
        // The place is free once the server has noticed the closed connection.
        try await withTimeLimit(.seconds(10), for: { "a place" }) {
            while true {
                let connection = try await RawConnection.connect(to: lab.endpoint)
                try? await connection.send("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                let reply = try? await connection.receive(until: "ok\n")
                await connection.close()
                if reply != nil { break }
            }
        }
        for connection in connections { await connection.close() }
        await lab.stop()
    }

    @Test("all clients together have a limit of connections, the others are counted, and a place becomes free")
    func connectionsOfAll() async throws {
        let lab = try await ServerLab {
            $0.tls = nil
            $0.maxConnections = 2
        }
        let health = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        var connections: [RawConnection] = []
        for number in 0..<5 {
            let connection = try await RawConnection.connect(to: lab.endpoint)
            try? await connection.send(health)
            let reply = try? await connection.receive(until: "ok\n")
            #expect((reply != nil) == (number < 2))
            connections.append(connection)
        }
        try await connections[1].send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        #expect(try await connections[1].receive(until: "server_connections_refused_total 3\n") != nil)
        await connections[0].close()
        try await eventually("a free place", every: .milliseconds(10)) {
            let connection = try await RawConnection.connect(to: lab.endpoint)
            try? await connection.send(health)
            let hasReply = try await withTimeLimit(.seconds(20), for: { "a reply or the end" }) {
                (try? await connection.receive(until: "ok\n")) != nil
            }
            await connection.close()
            return hasReply
        }
        for connection in connections { await connection.close() }
        await lab.stop()
    }

    @Test("a web page that uses DNS rebinding cannot read from a server on loopback")
    func rebinding() async throws {
        let lab = try await ServerLab { $0.tls = nil }
        for (host, status) in [
            ("127.0.0.1:8053", "200"), ("localhost", "200"), ("LOCALHOST:1", "200"), ("[::1]:8053", "200"),
            ("dns.localhost", "200"), ("evil.test:8053", "421"), ("localhost.evil.test", "421"), ("", "421"),
            ("a b", "421"),
        ] {
            for target in ["/metrics", "/resolve?name=www.corp.test", "http://127.0.0.1/metrics"] {
                let connection = try await RawConnection.connect(to: lab.endpoint)
                try await connection.send("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                let line = try await connection.receive(until: "\r\n").map { String(decoding: $0, as: UTF8.self) }
                #expect(line?.hasPrefix("HTTP/1.1 \(status) ") == true, "\(host): \(line ?? "-")")
                await connection.close()
            }
        }
        await lab.stop()
        let ends = { (local: String, trusted: [IPNetwork]) in
            ConnectionEnds(peer: IPAddress(v4: 1), local: Endpoint(local), trusting: trusted)
        }
        // A server on another address or behind a trusted proxy accepts any name.
        #expect(ends("192.0.2.1:80", []).mayBeCalled("dns.test"))
        #expect(ends("127.0.0.1:80", [IPNetwork("0.0.0.0/8")].compactMap { $0 }).mayBeCalled("dns.test"))
        #expect(!ends("[::1]:80", []).mayBeCalled("dns.test"))
        #expect(ends("[::1]:80", []).mayBeCalled(nil))
    }

    @Test(
        "a request without a Host, or with two of them, is refused before its body arrives (RFC 9112 §3.2)",
        arguments: ["", "Host: localhost\r\nHost: evil.test\r\n", "Host: localhost\r\nhost: localhost\r\n"]
    )
    func oneHost(fields: String) async throws {
        let lab = try await ServerLab { $0.tls = nil }
        let connection = try await RawConnection.connect(to: lab.endpoint)
        try await connection.send("POST /dns-query HTTP/1.1\r\n\(fields)Content-Length: 5\r\n\r\n")
        let line = try await connection.receive(until: "\r\n").map { String(decoding: $0, as: UTF8.self) }
        #expect(line?.hasPrefix("HTTP/1.1 400 ") == true, "\(line ?? "-")")
        await connection.close()
        await lab.stop()
    }

    @Test("a query with no or several questions gets FORMERR with its ID", arguments: [0, 2, 65_535])
    func questionCount(_ count: Int) async throws {
        let lab = try await ServerLab()
        var query: [UInt8] = [7, 9, 1, 0, UInt8(count >> 8), UInt8(count & 0xff), 0, 0, 0, 0, 0, 0]
        query += [UInt8](repeating: 0xc0, count: 60_000)
        let octets = try await lab.get("/dns-query", method: .post, message: query).body
        #expect(octets == [7, 9, 0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0])
        await lab.stop()
    }

    @Test("long values from clients are shortened in the access log")
    func boundedRecords() async throws {
        let lab = try await ServerLab { $0.tls = nil }
        let label = String(repeating: "%07", count: 63)
        let name = "\(label).\(label).\(label)"
        _ = try await lab.get("/d?dn=\((0..<8).map { "\(name).a\($0)" }.joined(separator: ","))", scheme: .http)
        _ = try await lab.get("/\(String(repeating: "a", count: 8_000))/d?host=a.test&s=1", scheme: .http)
        try await eventually("two records") { lab.log.withLockedValue { $0.count } >= 2 }
        let records = lab.log.withLockedValue { $0 }
        #expect(records.allSatisfy { $0.names.utf8.count < 1_030 && ($0.account ?? "").utf8.count < 1_030 })
        #expect(records[0].names.hasSuffix("…") && records[1].account?.hasSuffix("…") == true)
        await lab.stop()
    }

    @Test(
        "every AES question that cannot be used gets the same reply, which reveals nothing about the padding"
    )
    func paddingOracle() async throws {
        let account = try ServerAccount(id: "100000", secret: "0123456789abcdef")
        let lab = try await ServerLab {
            $0.tls = nil
            $0.accounts = [account]
        }
        let cipher = try #require(account.dnspodCipher)
        func sealed(_ octets: [UInt8]) throws -> [UInt8] { try cipher.seal(octets) }
        func ask(_ octets: [UInt8]) async throws -> UpstreamReply {
            try await lab.get("/d?dn=\(Hex.encode(octets))&id=100000&alg=aes", scheme: .http)
        }
        let good = try sealed(Array("www.a.test".utf8))
        #expect(try await ask(good).status == 200)
        var replies: [UpstreamReply] = []
        // The last octet of the vector changes the last octet of the padding: all 255 changes make it invalid.
        for change in UInt8(1)...255 {
            var octets = good
            octets[15] ^= change
            replies.append(try await ask(octets))
        }
        for text in [
            "", " ", "www a test", "127.0.0.1", "www.a.test;1", "www.a.test;soon", "a,b,c,d,e,f,g,h,i", "\u{7}",
        ] {
            replies.append(try await ask(try sealed(Array(text.utf8))))
        }
        replies.append(try await ask(try sealed([0xff, 0xfe])))
        replies.append(try await ask([1, 2, 3]))
        let first = try #require(replies.first)
        #expect(first.status == 401)
        #expect(replies.allSatisfy { $0.status == first.status && $0.body == first.body })
        await lab.stop()
    }

    @Test("CBC padding is checked completely, and invalid padding still gives a text of full length")
    func padding() throws {
        let cipher = try #require(AESCipher(.cbc, key: [UInt8](repeating: 7, count: 16)))
        for length in 0...33 {
            let text = [UInt8](repeating: 9, count: length)
            let sealed = try cipher.seal(text)
            #expect(cipher.open(sealed) == text)
            #expect(try #require(cipher.openBlocks(sealed)) == (text, true))
            var changed = sealed
            changed[changed.count - 17] ^= 0x40
            let opened = try #require(cipher.openBlocks(changed))
            #expect(!opened.isPadded && opened.text.count == sealed.count - 16 && cipher.open(changed) == nil)
        }
        #expect(cipher.openBlocks([UInt8](repeating: 0, count: 16)) == nil)
    }

    @Test("a failure beside an answer is neither reported as a denial nor cached as long as the answer")
    func halfFailure() async throws {
        let lab = try await ServerLab { $0.tls = nil }
        func text(_ target: String) async throws -> (String, UpstreamReply) {
            let reply = try await lab.get(target, scheme: .http)
            return (String(decoding: reply.body, as: UTF8.self), reply)
        }
        // For half.test, AAAA fails and A has a TTL of 300 s.
        let (dnspod, reply) = try await text("/d?dn=half.test&type=addrs&ttl=1")
        #expect(dnspod == "198.51.100.1;198.51.100.2,5-")
        #expect(reply.fields[.cacheControl] == "no-store")
        let client = DNSPodUpstream(at: [lab.endpoint], transport: lab.transport)
        let read = try await client.answer(Question(try Host("half.test")))
        #expect(read.v4?.addresses.count == 2 && read.v6 == nil)
        let (aliyun, _) = try await text("/1/d?host=half.test&query=4,6")
        #expect(
            aliyun.contains("\"ips\":[\"198.51.100.1\"") && !aliyun.contains("ipsv6") && aliyun.contains("\"ttl\":5,")
        )
        // A failed name is left out. The question fails when all its names fail.
        let (batch, rest) = try await text("/d?dn=broken.test,www.a.test")
        #expect(batch == "www.a.test.:198.51.100.1;198.51.100.2" && rest.fields[.cacheControl] == "no-store")
        #expect(try await text("/d?dn=broken.test,half.test&type=aaaa").1.status == 422)
        #expect(try await text("/1/d?host=half.test&query=6").1.status == 500)
        await lab.stop()
    }
}
