// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DaemonSupport
import DirectHTTP
import HTTPTypes
import NIOConcurrencyHelpers
import Names
import Testing

/// The page of OpenSSL's server says whether the session was resumed.
@Suite("TLS session resumption", .timeLimit(.minutes(1)))
struct TLSSessionTests {
    private final class Server {
        let authority: TestAuthority
        let certificate: TestCertificate
        let port: UInt16
        private var daemon: Daemon?
        private var engine = Engine()

        init() throws {
            authority = try TestAuthority()
            certificate = try authority.certificate(for: "a.test", "*.a.test")
            port = try freePorts(1)[0]
        }

        func start(_ version: String) async throws {
            daemon = try await Daemon("/usr/bin/env", readyAt: port) { [certificate, port] folder in
                let certificate = try certificate.write(to: folder, stem: "server")
                return [
                    "openssl", "s_server", "-www", "-quiet", version, "-accept", "127.0.0.1:\(port)",
                    "-cert", certificate.chain, "-key", certificate.key,
                ]
            }
        }

        func stop() { daemon.take()?.stop() }

        func shutDown() async {
            stop()
            await engine.shutDown()
        }

        var tls: TLSSettings {
            var settings = TLSSettings()
            settings.trustsSystemRoots = false
            settings.rootPEMs = [authority.rootPEM]
            return settings
        }

        /// The server's report on a new connection's session: New or Reused.
        func connect(_ host: String = "a.test", _ tls: TLSSettings? = nil) async throws -> String {
            let endpoints = EndpointList([try Endpoint(parsing: "127.0.0.1:\(port)", defaultPort: 443)])
            let request = try PreparedRequest(.get, HTTPURL("https://\(host):\(port)/"))
            let page = try await engine.exchange(request, from: endpoints, tls: tls ?? self.tls).text()
            let line = page.split(separator: "\n").first { $0.hasPrefix("New, ") || $0.hasPrefix("Reused, ") }
            return line.map { String($0.prefix { $0 != "," }) } ?? page
        }
    }

    @Test(
        "a session is resumed repeatedly, and a server that lost it starts a new one",
        arguments: ["-tls1_3", "-tls1_2"]
    )
    func resume(_ version: String) async throws {
        let server = try Server()
        try await server.start(version)
        var seen: [String] = []
        for _ in 0..<4 { seen.append(try await server.connect()) }
        #expect(seen == ["New", "Reused", "Reused", "Reused"])
        server.stop()
        try await server.start(version)
        // The restarted server knows none of the client's sessions.
        while try await server.connect() == "New" {}
        #expect(try await server.connect() == "Reused")
        await server.shutDown()
    }

    @Test("a session is not resumed for another name or with other settings")
    func keptApart() async throws {
        let server = try Server()
        try await server.start("-tls1_3")
        #expect(try await server.connect() == "New")
        #expect(try await server.connect("b.a.test") == "New")
        var unchecked = server.tls
        unchecked.verifiesCertificate = false
        #expect(try await server.connect("a.test", unchecked) == "New")
        #expect(try await server.connect("a.test", unchecked) == "Reused")
        #expect(try await server.connect() == "Reused")
        await server.shutDown()
    }

    @Test("no session is resumed if the settings disable it")
    func unwanted() async throws {
        let server = try Server()
        try await server.start("-tls1_3")
        var tls = server.tls
        tls.resumesSessions = false
        for _ in 0..<3 { #expect(try await server.connect("a.test", tls) == "New") }
        await server.shutDown()
    }

    @Test("the least recently used session is replaced")
    func bound() async throws {
        let server = try Server()
        try await server.start("-tls1_3")
        #expect(try await server.connect() == "New")
        for number in 0..<127 { #expect(try await server.connect("n\(number).a.test") == "New") }
        #expect(try await server.connect() == "Reused")
        #expect(try await server.connect("one-more.a.test") == "New")
        #expect(try await server.connect() == "Reused")
        #expect(try await server.connect("n0.a.test") == "New")
        await server.shutDown()
    }

    @Test("the next handshake sends a key share for the server's chosen group only")
    func keyShare() async throws {
        let server = try Server()
        let hellos = NIOLockedValueBox<[[UInt8]]>([])
        func record(_ count: Int) async throws {
            let listener = try await RawServer.start(port: server.port) { connection in
                if let hello = try await connection.receive() { hellos.withLockedValue { $0.append(hello) } }
            }
            for _ in 0..<count { _ = try? await server.connect() }
            await listener.stop()
        }
        try await record(1)
        try await server.start("-tls1_3")
        #expect(try await server.connect() == "New")
        server.stop()
        // The first of these connections offers the session and fails. The second has no session.
        try await record(2)
        let sizes = hellos.withLockedValue { $0.map(\.count) }
        try #require(sizes.count == 3)
        #expect(sizes[0] > 1_300, "it contains a key of the hybrid group")
        #expect(sizes[1] < 1_000)
        #expect(sizes[2] > 1_300)
        await server.shutDown()
    }
}
