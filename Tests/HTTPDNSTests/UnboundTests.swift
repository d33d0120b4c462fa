// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DaemonSupport
import DirectHTTP
import Foundation
import HTTPDNS
import Names
import Testing

private typealias Host = Names.Host

/// Our clients against unbound as packaged by Debian: DNS over HTTPS, over TLS and over UDP.
@Suite(
    "Interoperability with unbound",
    .enabled(if: FileManager.default.isExecutableFile(atPath: Unbound.program), "unbound is not installed")
)
struct UnboundTests {
    private static func host(_ text: String) throws -> Host { try Host(text) }

    /// Runs `body` with one upstream for each transport.
    private static func each(_ body: (any Upstream) async throws -> Void) async throws {
        let unbound = try await Unbound()
        let engine = Engine()
        let transport = EngineTransport(engine: engine, tls: unbound.tls)
        let url = try HTTPURL("https://dns.test:\(unbound.https)/dns-query")
        let address = IPAddress(v4: 0x7f00_0001)
        let stream = try DoTUpstream(try host("dns.test"), at: [address], port: unbound.dot, tls: unbound.tls)
        let upstreams: [any Upstream] = [
            try DoHUpstream(url, at: [address], method: .get, transport: transport),
            try DoHUpstream(url, at: [address], method: .post, transport: transport), stream,
            try DNSUpstream(at: [Endpoint(address, port: unbound.dns)]),
        ]
        for upstream in upstreams { try await body(upstream) }
        await engine.shutDown()
        unbound.stop()
    }

    @Test("each transport gives the same TTLs, aliases, families, denials and failures")
    func answers() async throws {
        try await Self.each { upstream in
            let name = upstream.name
            let www = try await upstream.answer(Question(try Self.host("www.corp.test")))
            #expect(www.v4?.addresses.map(\.description) == ["192.0.2.10"] && www.v4?.ttl == .seconds(300), "\(name)")
            #expect(www.v6?.addresses.map(\.description) == ["2001:db8::10"] && www.v6?.ttl == .seconds(120), "\(name)")
            let chain = try await upstream.answer(Question(try Self.host("one.corp.test"), families: .v4))
            #expect(chain.v4?.addresses.count == 1 && chain.v4?.ttl == .seconds(20), "\(name)")
            let none = try await upstream.answer(Question(try Self.host("v4.corp.test"), families: .v6))
            #expect(none.v6 == .absent(.noRecord, ttl: .seconds(30)), "\(name)")
            let unknown = try await upstream.answer(Question(try Self.host("nobody.corp.test"), families: .v4))
            #expect(unknown.v4 == .absent(.noName, ttl: .seconds(30)), "\(name)")
            await #expect {
                try await upstream.answer(Question(try Self.host("dead.test"), families: .v4))
            } throws: { error in
                (error as? UpstreamError)?.code == .lookupFailed
            }
        }
    }

    @Test("each transport carries HTTPS records, and denies them with the zone's TTL")
    func services() async throws {
        try await Self.each { upstream in
            let carrier = try #require(upstream as? any RecordUpstream)
            let www = try #require(DNSName("www.corp.test"))
            let reply = try await carrier.services(ServiceQuestion(www))
            #expect(reply.records.map(\.description) == ["1 . alpn=h2 port=8443"], "\(upstream.name)")
            #expect(reply.ttl == .seconds(90), "\(upstream.name)")
            let none = try await carrier.services(ServiceQuestion(try #require(DNSName("v4.corp.test"))))
            #expect(none.records.isEmpty && none.ttl == .seconds(30), "\(upstream.name)")
        }
    }

    @Test("each transport reads 512 addresses and accepts any letter case")
    func large() async throws {
        try await Self.each { upstream in
            let big = try await upstream.answer(Question(try Self.host("big.corp.test"), families: .v4))
            #expect(Set(big.v4?.addresses ?? []).count == 512, "\(upstream.name)")
            for _ in 0..<4 {
                let name = try Self.host("LetterCase.corp.test")
                let answer = try await upstream.answer(Question(name, families: .v4))
                #expect(answer.v4?.addresses.map(\.description) == ["192.0.2.12"], "\(upstream.name)")
            }
        }
    }
}

/// An unbound server with a zone, which runs until it is stopped.
private final class Unbound: Sendable {
    static let program = "/usr/sbin/unbound"

    let dns: UInt16
    let dot: UInt16
    let https: UInt16
    let tls: TLSSettings
    private let daemon: Daemon

    private static let zone = """
        $ORIGIN corp.test.
        $TTL 300
        @ 300 IN SOA ns hostmaster 1 7200 900 1209600 30
        @ IN NS ns
        ns IN A 192.0.2.53
        www IN A 192.0.2.10
        www 120 IN AAAA 2001:db8::10
        www 90 IN HTTPS 1 . alpn=h2 port=8443
        v4 IN A 192.0.2.11
        lettercase IN A 192.0.2.12
        one 60 IN CNAME two
        two 20 IN CNAME www

        """

    init() async throws {
        let authority = try TestAuthority()
        var tls = TLSSettings()
        tls.trustsSystemRoots = false
        tls.rootPEMs = [authority.rootPEM]
        self.tls = tls
        let ports = try freePorts(3)
        (dns, dot, https) = (ports[0], ports[1], ports[2])
        daemon = try await Daemon(Self.program, readyAt: https) { folder in
            let files = try authority.certificate(for: "dns.test").write(to: folder)
            let big = (0..<512).map { "big IN A 10.9.\($0 / 256).\($0 % 256)\n" }.joined()
            try Data((Self.zone + big).utf8).write(to: URL(fileURLWithPath: "\(folder)/corp.zone"))
            let text = Self.configuration(folder: folder, ports: ports, files: files)
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/unbound.conf"))
            return ["-d", "-p", "-c", "\(folder)/unbound.conf"]
        }
    }

    func stop() { daemon.stop() }

    private static func configuration(
        folder: String,
        ports: [UInt16],
        files: (chain: String, key: String)
    ) -> String {
        """
        server:
          interface: 127.0.0.1@\(ports[0])
          interface: 127.0.0.1@\(ports[1])
          interface: 127.0.0.1@\(ports[2])
          tls-port: \(ports[1])
          https-port: \(ports[2])
          tls-service-pem: "\(files.chain)"
          tls-service-key: "\(files.key)"
          username: ""
          chroot: ""
          directory: "\(folder)"
          pidfile: ""
          use-syslog: no
          logfile: "\(folder)/log"
          do-daemonize: no
          num-threads: 1
          module-config: "iterator"
          local-zone: "test." nodefault
          access-control: 127.0.0.0/8 allow
          do-ip6: no
        auth-zone:
          name: "corp.test"
          zonefile: "\(folder)/corp.zone"
          for-downstream: yes
        forward-zone:
          name: "dead.test"
          forward-addr: 127.0.0.1@1
        remote-control:
          control-enable: no

        """
    }
}
