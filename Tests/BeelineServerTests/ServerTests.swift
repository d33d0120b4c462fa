// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import HTTPDNS
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import Names
import Testing

@testable import BeelineServer

@Suite("The server")
struct ServerTests {
    @Test("the server has health and metrics, and rejects unknown paths and methods")
    func paths() async throws {
        let lab = try await ServerLab()
        #expect(try await lab.get("/health").body == Array("ok\n".utf8))
        #expect(try await lab.get("/nothing").status == 404)
        #expect(try await lab.get("/dns-query", method: .put).status == 405)
        #expect(try await lab.get("/dns-query?dns=AAAA").status == 400)
        #expect(try await lab.get("/dns-query", method: .post).status == 415)
        #expect(try await lab.get("/resolve?name=www.a.test").status == 200)
        let text = String(decoding: try await lab.get("/metrics").body, as: UTF8.self)
        #expect(text.contains("beeline_server_questions_total{form=\"json\",status=\"200\"} 1\n"))
        #expect(text.contains("beeline_server_connections_open 1\n"))
        #expect(text.contains("beeline_server_zone_names 11\n"), "\(text)")
        await lab.stop()
    }

    @Test("a HEAD gets the head of a GET, and the connection stays open", arguments: ["HTTP/1.1", "HTTP/2"])
    func head(_ version: String) async throws {
        let lab = try await ServerLab { if version == "HTTP/1.1" { $0.tls = nil } }
        let scheme: Scheme = version == "HTTP/1.1" ? .http : .https
        for target in ["/health", "/resolve?name=www.corp.test", "/nothing"] {
            let whole = try await lab.get(target, scheme: scheme)
            let head = try await lab.get(target, method: .head, scheme: scheme)
            #expect(head.status == whole.status && head.body.isEmpty && !whole.body.isEmpty)
            #expect(head.fields[.contentLength] == "\(whole.body.count)")
        }
        let text = String(decoding: try await lab.get("/metrics", scheme: scheme).body, as: UTF8.self)
        #expect(text.contains("beeline_server_connections_total 1\n"))
        await lab.stop()
    }

    @Test("a listening socket that was passed to the process is used instead of binding one")
    func passedSocket() async throws {
        let socket = try Self.boundSocket()
        #expect(listen(socket, 8) == 0)
        let lab = try await ServerLab {
            $0.listeningSocket = socket
            $0.listen = Endpoint(IPAddress(v4: 0xc000_0201), port: 1)
        }
        #expect(lab.endpoint.address.isLoopback && lab.endpoint.port > 1)
        #expect(try await lab.get("/health").status == 200)
        await lab.stop()
    }

    @Test("a descriptor that is not a listening socket is an error, not a trap")
    func uselessDescriptors() async throws {
        let bound = try Self.boundSocket()
        defer { close(bound) }
        for descriptor in [bound, STDERR_FILENO, -1] {
            let error = await #expect(throws: ServerError.self) {
                _ = try await ServerLab { $0.listeningSocket = descriptor }
            }
            #expect(error?.code == .cannotListen && error?.message.contains("descriptor \(descriptor)") == true)
        }
    }

    /// Makes a socket that is bound to a free port of 127.0.0.1 and does not listen.
    private static func boundSocket() throws -> CInt {
        #if canImport(Glibc)
        let number = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        #else
        let number = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: 0)
        let result = address.withSockAddr { bind(number, $0, socklen_t($1)) }
        try #require(result == 0)
        return number
    }

    @Test("the connection limit leaves file descriptors for upstreams and files")
    func connections() {
        #expect(ConnectionTable.limit(allowed: 10_000, descriptors: nil) == 10_000)
        #expect(ConnectionTable.limit(allowed: 10_000, descriptors: 1_024) == 768)
        #expect(ConnectionTable.limit(allowed: 10_000, descriptors: 100_000) == 10_000)
        #expect(ConnectionTable.limit(allowed: 10_000, descriptors: 64) == 16, "the process itself has 25 of them open")
        #expect(ConnectionTable.limit(allowed: 10_000, descriptors: 2) == 1)
    }

    @Test("a request target may be a complete URL")
    func absoluteTarget() throws {
        let client = IPAddress(v4: 1)
        for (target, path, query) in [
            ("http://dns.test:80/resolve?name=a", "/resolve", "name=a"), ("https://dns.test", "/", ""),
            ("/resolve?url=http://x/y", "/resolve", "url=http://x/y"),
        ] {
            let request = ServerRequest(.get, target: target, client: client)
            #expect(request.path == path && request.query == query)
        }
    }

    @Test("each question is logged with the source of its answer")
    func accessLog() async throws {
        let lab = try await ServerLab()
        for target in ["/resolve?name=www.a.test", "/resolve?name=www.a.test", "/resolve?name=www.corp.test&type=AAAA"]
        {
            _ = try await lab.get(target)
        }
        // A record is written after the reply has been sent.
        try await eventually("three records") { lab.log.withLockedValue { $0.count } >= 3 }
        let records = lab.log.withLockedValue { $0 }
        #expect(records.map(\.source) == ["fresh", "cached", "zone"])
        #expect(records.map(\.names) == ["www.a.test", "www.a.test", "www.corp.test"])
        #expect(records[2].types == "AAAA" && records[2].outcome == "NOERROR" && records[2].status == 200)
        await lab.stop()
    }

    @Test("a client that waits for 100 gets it before it sends its content (RFC 9110 §10.1.1)")
    func expectation() async throws {
        let lab = try await ServerLab { $0.tls = nil }
        let query = DNSLab.query("www.corp.test", .a)
        let connection = try await RawConnection.connect(to: lab.endpoint)
        let fields = "Expect: 100-continue\r\nContent-Type: application/dns-message\r\nContent-Length: \(query.count)"
        try await connection.send("POST /dns-query HTTP/1.1\r\nHost: 127.0.0.1\r\n\(fields)\r\n\r\n")
        let interim = try await connection.receive(until: "\r\n\r\n")
        #expect(interim.map { String(decoding: $0, as: UTF8.self) } == "HTTP/1.1 100 Continue\r\n\r\n")
        try await connection.send(query)
        let line = try await connection.receive(until: "\r\n")
        #expect(line.map { String(decoding: $0, as: UTF8.self) } == "HTTP/1.1 200 OK\r\n")
        await connection.close()
        await lab.stop()
    }

    @Test("a client that waits for 100 with too much content gets 413 and is not asked for it (RFC 9110 §10.1.1)")
    func expectationOfTooMuch() async throws {
        let lab = try await ServerLab { $0.tls = nil }
        let connection = try await RawConnection.connect(to: lab.endpoint)
        let fields = "Expect: 100-continue\r\nContent-Type: application/dns-message\r\nContent-Length: 65536"
        try await connection.send("POST /dns-query HTTP/1.1\r\nHost: 127.0.0.1\r\n\(fields)\r\n\r\n")
        let head = try #require(try await connection.receive(until: "\r\n\r\n"))
        let text = String(decoding: head, as: UTF8.self).lowercased()
        #expect(text.hasPrefix("http/1.1 413 ") && text.contains("connection: close"), "\(text)")
        await connection.close()
        await lab.stop()
    }

    @Test("a client above the rate limit gets 429, and health checks do not count")
    func rate() async throws {
        let lab = try await ServerLab {
            $0.questionsPerSecond = 0.001
            $0.burst = 2
        }
        var statuses: [Int] = []
        for _ in 0..<3 { statuses.append(try await lab.get("/resolve?name=www.a.test").status) }
        #expect(statuses == [200, 200, 429])
        #expect(try await lab.get("/health").status == 200)
        await lab.stop()
    }

    @Test(
        "the client's address is the last one before the trusted proxies, and untrusted peers cannot choose it",
        arguments: [
            ("10.0.0.1", "192.0.2.7", "192.0.2.7"), ("10.0.0.1", nil, "10.0.0.1"),
            ("192.0.2.9", "192.0.2.7", "192.0.2.9"), ("10.0.0.1", "198.51.100.1, 192.0.2.7", "192.0.2.7"),
            ("10.0.0.1", "198.51.100.1, 192.0.2.7,10.0.0.2 , 10.0.0.3", "192.0.2.7"),
            ("10.0.0.1", "10.0.0.9,10.0.0.2", "10.0.0.9"), ("10.0.0.1", "192.0.2.7, unknown", "10.0.0.1"),
            ("10.0.0.1", "", "10.0.0.1"), ("::ffff:10.0.0.1", "[2001:db8::7]:1234", "2001:db8::7"),
            ("fd00::1", "192.0.2.7:80", "192.0.2.7"),
        ] as [(String, String?, String)]
    )
    func trustedProxies(_ peer: String, _ field: String?, _ client: String) throws {
        let trusted = try ["10.0.0.0/8", "fd00::1"].map { try #require(IPNetwork($0)) }
        let ends = ConnectionEnds(peer: try #require(IPAddress(peer)), trusting: trusted)
        #expect(ends.client(field) == IPAddress(client))
        #expect(
            ConnectionEnds(peer: try #require(IPAddress(peer)), trusting: []).client(field) == IPAddress(peer)?.unmapped
        )
    }

    @Test(
        "each client behind a trusted proxy has its own rate limit, over HTTP/1.1 and HTTP/2",
        arguments: [Scheme.http, .https]
    )
    func rateBehindProxy(_ scheme: Scheme) async throws {
        let lab = try await ServerLab {
            if scheme == .http { $0.tls = nil }
            $0.questionsPerSecond = 0.001
            $0.burst = 1
            $0.trustedProxies = [IPNetwork("127.0.0.0/8")].compactMap { $0 }
        }
        var statuses: [Int] = []
        for client in ["192.0.2.1", "192.0.2.2", "192.0.2.1"] {
            var request = UpstreamRequest(
                origin: Origin(scheme: scheme, host: try Host("dns.test"), port: lab.endpoint.port),
                endpoints: [lab.endpoint],
                target: "/resolve?name=www.a.test"
            )
            let name = try #require(HTTPField.Name("X-Forwarded-For"))
            request.fields[name] = client
            statuses.append(try await lab.transport.exchange(request).status)
        }
        #expect(statuses == [200, 200, 429])
        await lab.stop()
    }

    @Test("a changed zone file is loaded, and an invalid one is reported while the old zone stays")
    func zoneReload() async throws {
        let told = NIOLockedValueBox<[ServerError]>([])
        let lab = try await ServerLab {
            $0.onReloadFailure = { error in told.withLockedValue { $0.append(error) } }
        }
        let running = Task { await lab.server.run() }
        let path = "\(lab.folder)/corp.zone"
        @Sendable func address() async throws -> String {
            let body = try await lab.get("/d?dn=www.corp.test").body
            return String(decoding: body, as: UTF8.self)
        }
        #expect(try await address() == "192.0.2.10")
        try Data(ServerLab.zone.replacingOccurrences(of: "192.0.2.10", with: "192.0.2.99").utf8)
            .write(to: URL(fileURLWithPath: path), options: .atomic)
        try await eventually("the new zone", within: .seconds(10), every: .milliseconds(10)) {
            try await address() == "192.0.2.99"
        }
        try Data("$ORIGIN corp.test.\nwww A nonsense\n".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        try await eventually("the failure in /metrics", every: .milliseconds(10)) {
            String(decoding: try await lab.get("/metrics").body, as: UTF8.self).contains("reload_failures_total 1\n")
        }
        #expect(try await address() == "192.0.2.99")
        #expect(told.withLockedValue { $0 }.map(\.code) == [.badZone])
        #expect(throws: ServerError.self) { try lab.server.reload() }
        running.cancel()
        await running.value
        await lab.stop()
    }

    @Test("a reload with one invalid part changes nothing")
    func reloadIsWhole() async throws {
        let lab = try await ServerLab()
        let path = "\(lab.folder)/corp.zone"
        try Data(ServerLab.zone.replacingOccurrences(of: "192.0.2.10", with: "192.0.2.99").utf8)
            .write(to: URL(fileURLWithPath: path))
        let key = try #require(lab.keyPath)
        let good = try Data(contentsOf: URL(fileURLWithPath: key))
        try Data("no key".utf8).write(to: URL(fileURLWithPath: key))
        #expect(throws: ServerError.self) { try lab.server.reload() }
        #expect(try await lab.get("/d?dn=www.corp.test").body == Array("192.0.2.10".utf8))
        try good.write(to: URL(fileURLWithPath: key))
        try lab.server.reload()
        #expect(try await lab.get("/d?dn=www.corp.test").body == Array("192.0.2.99".utf8))
        await lab.stop()
    }

    @Test("on an IPv6-only network, clients get the addresses of the upstream and not the NAT64 addresses")
    func translatedAddresses() async throws {
        let lab = try await ServerLab()
        let prefix = try #require(IPNetwork("64:ff9b::/96").flatMap { NAT64Prefix($0) })
        await lab.resolver.networkChanged(to: Network(id: "v6", families: .v6, nat64: [prefix]))
        for _ in 0..<2 {
            let body = try await lab.get("/d?dn=www.a.test&type=addrs").body
            #expect(String(decoding: body, as: UTF8.self) == "198.51.100.1;198.51.100.2-2001:db8::1")
        }
        await lab.stop()
    }

    @Test("with requiresAccount, a client without a valid account is refused")
    func requiresAccount() async throws {
        let lab = try await ServerLab {
            $0.requiresAccount = true
            $0.accounts = [try ServerAccount(id: "1", secret: "s3cret")]
        }
        #expect(try await lab.get("/resolve?name=www.a.test").status == 403)
        #expect(try await lab.get("/dns-query?dns=AAAB").status == 403)
        #expect(try await lab.get("/d?dn=www.a.test").status == 401)
        #expect(try await lab.get("/d?dn=www.a.test&token=wrong").status == 401)
        #expect(try await lab.get("/d?dn=www.a.test&token=s3cret").status == 200)
        try lab.server.reload(accounts: [try ServerAccount(id: "1", secret: "new")])
        #expect(try await lab.get("/d?dn=www.a.test&token=s3cret").status == 401)
        await lab.stop()
    }

    @Test("requiresAccount refuses every question while there is no account, also after a reload", arguments: [0, 1])
    func requiresAccountWithoutAccounts(_ accounts: Int) async throws {
        let lab = try await ServerLab {
            $0.requiresAccount = true
            $0.accounts = try (0..<accounts).map { try ServerAccount(id: "\($0)", secret: "s3cret") }
        }
        try lab.server.reload(accounts: [])
        for target in ["/x/d?host=www.a.test", "/x/resolve?host=www.a.test,b.test", "/v2/d?dn=www.a.test", "/x/ss"] {
            let reply = try await lab.get(target)
            #expect(reply.status == 403 && reply.body == Array(#"{"code":"InvalidAccount"}"#.utf8), "\(target)")
        }
        #expect(lab.upstream.questions.isEmpty)
        await lab.stop()
    }

    enum End: CaseIterable {
        case stop, cancelledBeforeRun, cancelledWhileRunning
    }

    @Test("stopping the server waits for open requests, and so does cancelling run()", arguments: End.allCases)
    func drain(_ end: End) async throws {
        let gate = Gate()
        let held = ScriptedUpstream("held", .hold(gate, Answer(v4: .addresses([IPAddress(v4: 1)], ttl: nil))))
        var settings = ResolverConfiguration(upstreams: [held], system: nil)
        settings.check.allowsLocalAnswers = true
        settings.network.monitor = nil
        let resolver = Resolver(settings)
        let other = try await ServerLab()
        var configuration = ServerConfiguration()
        configuration.listen = Endpoint(IPAddress(v4: 0x7f00_0001), port: 0)
        let server = try HTTPDNSServer(configuration, resolver: resolver)
        let endpoint = try await server.start()
        var request = UpstreamRequest(
            origin: Origin(scheme: .http, host: Host(endpoint.address), port: endpoint.port),
            endpoints: [endpoint],
            target: "/d?dn=slow.test"
        )
        request.timeLimit = .seconds(10)
        let (transport, question) = (other.transport, request)
        async let reply = transport.exchange(question)
        try await eventually("the question at the upstream") { !held.questions.isEmpty }
        let begun = Gate()
        let running = Task {
            begun.open()
            if end == .stop { await server.stop() } else { await server.run() }
        }
        if end == .cancelledWhileRunning { try await begun.wait() }
        if end != .stop { running.cancel() }
        var health = question
        health.target = "/health"
        try await eventually("the end of the health") { (try? await transport.exchange(health))?.status != 200 }
        gate.open()
        #expect(try await reply.body == Array("0.0.0.1".utf8))
        await running.value
        await #expect(throws: UpstreamError.self) { try await transport.exchange(question) }
        await resolver.shutDown()
        await other.stop()
    }

    /// An upstream that never answers.
    private final class SilentUpstream: MessageUpstream {
        let name = "silent"
        let questions = Gate()
        let cancelled = Gate()

        func answer(_ question: HTTPDNS.Question) async throws(UpstreamError) -> Answer { Answer() }

        func response(to query: MessageQuery) async throws(UpstreamError) -> DNSMessage {
            do { try await questions.wait() } catch { cancelled.open() }
            throw UpstreamError(.cancelled, "cancelled")
        }
    }

    @Test("a question that an upstream still has after the drain time ends with the server")
    func questionAfterDrain() async throws {
        let upstream = SilentUpstream()
        var settings = ResolverConfiguration(upstreams: [upstream], system: nil)
        settings.network.monitor = nil
        (settings.limits.upstream, settings.limits.total) = (.seconds(60), .seconds(60))
        let resolver = Resolver(settings)
        var configuration = ServerConfiguration()
        configuration.listen = Endpoint(DNSLab.loopback, port: 0)
        configuration.drainTime = .milliseconds(10)
        let server = try HTTPDNSServer(configuration, resolver: resolver)
        let connection = try await RawConnection.connect(to: try await server.start())
        try await connection.send("GET /resolve?name=a.example&type=TXT HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        try await upstream.questions.arrivals(atLeast: 1)
        await server.stop()
        try await withTimeLimit(.seconds(10), for: { "the end of the question" }) {
            try await upstream.cancelled.wait()
        }
        await connection.close()
        await resolver.shutDown()
    }

    @Test("a stopped server cannot be started again")
    func startAfterStop() async throws {
        let lab = try await ServerLab()
        await lab.server.stop()
        let error = await #expect(throws: ServerError.self) { try await lab.server.start() }
        #expect(error?.code == .cannotListen)
        await lab.stop()
    }

    @Test("an invalid configuration is refused at once")
    func refusals() async throws {
        var configuration = ServerConfiguration()
        configuration.zones = ["/does/not/exist"]
        let resolver = Resolver(ResolverConfiguration(system: nil))
        #expect { try HTTPDNSServer(configuration, resolver: resolver) } throws: {
            ($0 as? ServerError)?.code == .badZone
        }
        configuration.zones = []
        configuration.tls = .init(certificate: "/does/not/exist", key: "/does/not/exist")
        #expect { try HTTPDNSServer(configuration, resolver: resolver) } throws: {
            ($0 as? ServerError)?.code == .badCertificate
        }
        #expect(throws: ServerError.self) { try ServerAccount(id: "1", secret: "s", encryptionKey: "short") }
        await resolver.shutDown()
    }
}
