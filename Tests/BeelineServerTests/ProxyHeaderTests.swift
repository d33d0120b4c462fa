// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineServer

@Suite("The PROXY protocol", .timeLimit(.minutes(1)))
struct ProxyHeaderTests {
    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]

    /// A header of version 2.
    static func header(command: UInt8 = 0x21, family: UInt8 = 0x11, _ payload: [UInt8]) -> [UInt8] {
        signature + [command, family, UInt8(payload.count >> 8), UInt8(payload.count & 255)] + payload
    }

    /// 192.0.2.7:1000 to 192.0.2.1:443.
    private static let addresses: [UInt8] = [192, 0, 2, 7, 192, 0, 2, 1, 3, 232, 1, 187]
    private static let networks = [IPNetwork("127.0.0.0/8")].compactMap(\.self)

    private static func text(_ ends: ProxyHeader.Ends?) -> String {
        ends.map { "\($0.source) \($0.destination)" } ?? "-"
    }

    @Test("headers that proxies write")
    func accepted() throws {
        let v6 =
            [UInt8](repeating: 0, count: 15) + [1, 0x20, 1, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [2]
        let mapped = [UInt8](repeating: 0, count: 10) + [255, 255]
        let rows: [([UInt8], String)] = [
            (Array("PROXY TCP4 192.0.2.7 192.0.2.1 1000 443\r\n".utf8), "192.0.2.7:1000 192.0.2.1:443"),
            (Array("PROXY TCP6 2001:db8::1 ::1 65535 0\r\n".utf8), "[2001:db8::1]:65535 [::1]:0"),
            (Array("PROXY UNKNOWN\r\n".utf8), "-"), (Array("PROXY UNKNOWN ff:ff ffff 1 2 3\r\n".utf8), "-"),
            (Self.header(Self.addresses), "192.0.2.7:1000 192.0.2.1:443"),
            // TLVs, of which some are longer than their octets, are skipped.
            (Self.header(Self.addresses + [4, 0, 1, 9, 0x20, 255, 255, 1]), "192.0.2.7:1000 192.0.2.1:443"),
            (Self.header(family: 0x21, v6 + [0, 1, 0, 2]), "[::1]:1 [2001:db8::2]:2"),
            (
                Self.header(family: 0x21, mapped + [192, 0, 2, 7] + mapped + [192, 0, 2, 1, 0, 1, 0, 2]),
                "192.0.2.7:1 192.0.2.1:2"
            ),
            (Self.header(command: 0x20, family: 0, []), "-"), (Self.header(command: 0x20, Self.addresses), "-"),
            (Self.header(family: 0, []), "-"),
            (Self.header(family: 0x31, [UInt8](repeating: 65, count: 216)), "-"),
        ]
        for (octets, expected) in rows {
            guard let (header, length) = try ProxyHeader.read(octets + Array("GET".utf8)) else {
                Issue.record("\(octets) is refused")
                continue
            }
            #expect(length == octets.count && Self.text(header.ends) == expected)
            for count in octets.indices {
                let part = try ProxyHeader.read(octets[..<count])
                #expect(part?.length == nil)
            }
        }
    }

    @Test("what is no header, or is malformed or too long")
    func refused() {
        let rows: [([UInt8], ProxyHeader.Fault)] = [
            (Array("GET / HTTP/1.1\r\n".utf8), .missing), ([0x16, 3, 1], .missing), (Array("PROXYTCP4".utf8), .missing),
            (Array("PROXY TCP4 192.0.2.7 192.0.2.1 1000 443\n".utf8), .malformed),
            (Array("PROXY TCP4 192.0.2.7 192.0.2.1 01000 443\r\n".utf8), .malformed),
            (Array("PROXY TCP4 192.0.2.7 192.0.2.1 +1 443\r\n".utf8), .malformed),
            (Array("PROXY TCP4 192.0.2.7 192.0.2.1 65536 443\r\n".utf8), .malformed),
            (Array("PROXY TCP4 192.0.2.7  192.0.2.1 1 443\r\n".utf8), .malformed),
            (Array("PROXY TCP4 ::1 ::1 1 443\r\n".utf8), .malformed),
            (Array("PROXY UDP4 192.0.2.7 192.0.2.1 1 443\r\n".utf8), .malformed),
            (Array("PROXY \r\n".utf8), .malformed),
            (Array("PROXY UNKNOWN ".utf8) + [UInt8](repeating: 65, count: 200), .tooLong),
            (Self.signature + [0x11, 0x11, 0, 12] + Self.addresses, .malformed),
            (Self.signature + [0x22, 0x11, 0, 12] + Self.addresses, .malformed),
            (Self.header(Array(Self.addresses.dropLast())), .malformed), (Self.header(family: 0x41, []), .malformed),
            (Self.signature + [0x21, 0x11, 255, 255], .tooLong),
        ]
        for (octets, fault) in rows { #expect(throws: fault, "\(octets)") { try ProxyHeader.read(octets) } }
    }

    @Test("no octets make the decoder trap, and a header is the same however much follows it")
    func mutated() throws {
        var random = SeededRandom(seed: 36)
        let seeds = [
            Array("PROXY TCP4 192.0.2.7 192.0.2.1 1000 443\r\nGET /".utf8), Self.header(Self.addresses + [4, 0, 0]),
            Self.header(family: 0x21, [UInt8](repeating: 7, count: 40)),
        ]
        for _ in 0..<FuzzRounds.count(ordinary: 20_000) {
            var octets = seeds[Int(random.next() % 3)]
            for _ in 0...random.next() % 4 {
                octets[Int(random.next() % UInt64(octets.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            guard let (header, length) = try? ProxyHeader.read(octets) else { continue }
            #expect(length <= octets.count && length <= 16 + ProxyHeader.maxPayload)
            let again = try ProxyHeader.read(octets[..<length])
            #expect(again?.header == header && again?.length == length)
        }
    }

    private static let request = "GET /resolve?name=www.corp.test HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

    /// Sends octets on a new connection. Returns the reply's first line, or nil if the server closes.
    private static func ask(_ endpoint: Endpoint, _ parts: [UInt8]...) async throws -> String? {
        let connection = try await RawConnection.connect(to: endpoint)
        for part in parts { try? await connection.send(part) }
        let line = try? await connection.receive(until: "\r\n")
        await connection.close()
        return line.map { String(decoding: $0.dropLast(2), as: UTF8.self) }
    }

    @Test("the client is the one in the header, for the log and for private names")
    func client() async throws {
        let lab = try await ServerLab {
            $0.tls = nil
            $0.proxyProtocol = Self.networks
        }
        let header = Self.header(Self.addresses)
        let request = Array(Self.request.utf8)
        #expect(try await Self.ask(lab.endpoint, header + request) == "HTTP/1.1 200 OK")
        // The header may come in pieces, and the request with its last one.
        #expect(
            try await Self.ask(lab.endpoint, Array(header[..<5]), Array(header[5...]) + request) == "HTTP/1.1 200 OK"
        )
        #expect(try await Self.ask(lab.endpoint, Self.header(command: 0x20, []) + request) == "HTTP/1.1 200 OK")
        try await eventually("three records", within: .seconds(10)) { lab.log.withLockedValue { $0.count } >= 3 }
        let clients = lab.log.withLockedValue { $0.map { "\($0.client)" } }
        #expect(clients.sorted() == ["127.0.0.1", "192.0.2.7", "192.0.2.7"])
        await lab.stop()
    }

    @Test("a trusted proxy must send the header, and other peers cannot use it")
    func trust() async throws {
        let request = Array(Self.request.utf8)
        let line = Array("PROXY TCP4 192.0.2.7 127.0.0.1 1000 443\r\n".utf8)
        let trusting = try await ServerLab {
            $0.tls = nil
            $0.proxyProtocol = Self.networks
        }
        #expect(try await Self.ask(trusting.endpoint, request) == nil)
        #expect(try await Self.ask(trusting.endpoint, line + request) == "HTTP/1.1 200 OK")
        await trusting.stop()
        let other = try await ServerLab {
            $0.tls = nil
            $0.proxyProtocol = [IPNetwork("192.0.2.0/24")].compactMap(\.self)
        }
        #expect(try await Self.ask(other.endpoint, request) == "HTTP/1.1 200 OK")
        #expect(try await Self.ask(other.endpoint, line + request) == "HTTP/1.1 400 Bad Request")
        let reply = try await Self.ask(other.endpoint, Self.header(Self.addresses) + request)
        #expect(reply == nil || reply == "HTTP/1.1 400 Bad Request")
        await other.stop()
    }

    @Test("the limit of connections is for each client behind the proxy")
    func limits() async throws {
        let lab = try await ServerLab {
            $0.tls = nil
            $0.proxyProtocol = Self.networks
            $0.connectionsPerClient = 1
        }
        @Sendable func open(_ client: String) async throws -> (RawConnection, Bool) {
            let connection = try await RawConnection.connect(to: lab.endpoint)
            try? await connection.send("PROXY TCP4 \(client) 127.0.0.1 1000 443\r\n" + Self.request)
            return (connection, (try? await connection.receive(until: "\r\n")) != nil)
        }
        let first = try await open("192.0.2.1")
        let second = try await open("192.0.2.1")
        let other = try await open("192.0.2.2")
        #expect(first.1 && !second.1 && other.1)
        await first.0.close()
        try await withTimeLimit(.seconds(10), for: { "a place" }) {
            while true {
                let (connection, isServed) = try await open("192.0.2.1")
                await connection.close()
                if isServed { break }
            }
        }
        await lab.stop()
    }

    @Test("a header that does not end is not waited for longer than a handshake")
    func slowHeader() async throws {
        let lab = try await ServerLab {
            $0.proxyProtocol = Self.networks
            $0.handshakeTimeout = .milliseconds(50)
        }
        let connection = try await RawConnection.connect(to: lab.endpoint)
        try await connection.send("PROXY ")
        // The unread octets make the system reset the connection.
        #expect(((try? await connection.drain()) ?? 0) == 0)
        await lab.stop()
    }

    @Test("a very negative time limit gives the header no time, and not any time")
    func negativeLimit() async throws {
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(DNSLab.loopback, port: 0)]
        configuration.proxyProtocol = Self.networks
        configuration.idleTimeout = .seconds(Int64.min)
        let resolver = Resolver(ResolverConfiguration(upstreams: [], system: nil))
        let server = try DNSServer(configuration, resolver: resolver)
        let connection = try await RawConnection.connect(to: try await server.start().plain[0])
        let received = try await withTimeLimit(.seconds(10), for: { "the end" }) { try await connection.drain() }
        #expect(received == 0)
        await connection.close()
        await server.stop()
        await resolver.shutDown()
    }

    @Test(
        "DNS over TCP on a listener for both families takes an IPv4 proxy as such, and logs IPv4 addresses",
        .enabled(if: (try? RefusedEndpoint(address: "::1")) != nil, "this machine has no IPv6")
    )
    func dnsOfBothFamilies() async throws {
        let log = NIOLockedValueBox<[String]>([])
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(IPAddress(v6: 0, 0), port: 0)]
        configuration.proxyProtocol = Self.networks
        configuration.accessLog = { record in log.withLockedValue { $0.append("\(record.client)") } }
        let upstream = ScriptedUpstream("a") { _ in
            .answer(Answer(v4: .addresses([IPAddress(v4: 0xc000_0201)], ttl: .seconds(60)), v6: nil))
        }
        let resolver = Resolver(ResolverConfiguration(upstreams: [upstream], system: nil))
        let server = try DNSServer(configuration, resolver: resolver)
        let port = try await server.start().plain[0].port
        let query = DNSLab.query("a.test", .a)
        for header in [Self.header(Self.addresses), Self.header(command: 0x20, [])] {
            let connection = try await RawConnection.connect(to: Endpoint(DNSLab.loopback, port: port))
            try await connection.send(header + [0, UInt8(query.count)] + query)
            #expect(try await connection.receive(count: 4)[2...] == [0x12, 0x34])
            await connection.close()
        }
        #expect(log.withLockedValue { $0 } == ["192.0.2.7", "127.0.0.1"])
        await server.stop()
        await resolver.shutDown()
    }

    @Test("DNS over TCP takes the client from the header, too")
    func dns() async throws {
        let log = NIOLockedValueBox<[String]>([])
        var configuration = DNSServerConfiguration()
        configuration.listen = [Endpoint(IPAddress(v4: 0x7f00_0001), port: 0)]
        configuration.proxyProtocol = Self.networks
        configuration.accessLog = { record in log.withLockedValue { $0.append("\(record.client)") } }
        let upstream = ScriptedUpstream("a") { _ in
            .answer(Answer(v4: .addresses([IPAddress(v4: 0xc000_0201)], ttl: .seconds(60)), v6: nil))
        }
        let resolver = Resolver(ResolverConfiguration(upstreams: [upstream], system: nil))
        let server = try DNSServer(configuration, resolver: resolver)
        let endpoint = try await server.start().plain[0]
        let query = DNSLab.query("a.test", .a)
        let connection = try await RawConnection.connect(to: endpoint)
        try await connection.send(Self.header(Self.addresses) + [0, UInt8(query.count)] + query)
        let head = try await connection.receive(count: 4)
        #expect(head[2...] == [0x12, 0x34])
        #expect(log.withLockedValue { $0 } == ["192.0.2.7"])
        await connection.close()
        await server.stop()
        await resolver.shutDown()
    }
}
