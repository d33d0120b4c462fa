// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DaemonSupport
import DirectHTTP
import Foundation
import HTTPDNS
import Names
import Testing

private typealias Host = Names.Host

/// HTTPS records of name servers as packaged by Debian, from their answer to the endpoints of an origin.
@Suite("HTTPS records of foreign name servers")
struct ServiceServersTests {
    /// A name server that is installed, and how it is started.
    struct Server: CustomTestStringConvertible, Sendable {
        let name: String
        let program: String
        let configuration: @Sendable (_ folder: String, _ port: UInt16) -> String
        let arguments: @Sendable (_ file: String) -> [String]

        var testDescription: String { name }
        var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }
    }

    static let servers = [
        Server(name: "knot", program: "/usr/sbin/knotd") { folder, port in
            """
            server:
              listen: 127.0.0.1@\(port)
              rundir: \(folder)
            database:
              storage: \(folder)
            zone:
              - domain: corp.test
                file: \(folder)/corp.zone

            """
        } arguments: {
            ["-c", $0]
        },
        Server(name: "bind", program: "/usr/sbin/named") { folder, port in
            """
            options {
              directory "\(folder)"; pid-file "\(folder)/pid"; session-keyfile "\(folder)/key";
              listen-on port \(port) { 127.0.0.1; }; listen-on-v6 { none; };
              recursion no; dnssec-validation no;
            };
            controls {};
            zone "corp.test" { type primary; file "\(folder)/corp.zone"; };

            """
        } arguments: {
            ["-g", "-c", $0]
        },
        Server(name: "unbound", program: "/usr/sbin/unbound") { folder, port in
            """
            server:
              interface: 127.0.0.1@\(port)
              username: ""
              chroot: ""
              directory: "\(folder)"
              pidfile: ""
              use-syslog: no
              logfile: "\(folder)/log"
              do-daemonize: no
              module-config: "iterator"
              local-zone: "test." nodefault
              do-ip6: no
            auth-zone:
              name: "corp.test"
              zonefile: "\(folder)/corp.zone"
              for-downstream: yes
            remote-control:
              control-enable: no

            """
        } arguments: {
            ["-d", "-p", "-c", $0]
        },
    ]

    private static let zone = """
        $ORIGIN corp.test.
        $TTL 300
        @ 300 IN SOA ns hostmaster 1 7200 900 1209600 30
        @ IN NS ns
        ns IN A 192.0.2.53
        @ IN HTTPS 0 www
        www IN A 192.0.2.10
        www IN AAAA 2001:db8::10
        www IN HTTPS 2 svc.corp.test. alpn=h2 ipv4hint=192.0.2.99
        www IN HTTPS 1 . alpn=h2,h3 port=8443 ech=AAMBAgM=
        www IN HTTPS 3 h3 alpn=h3 no-default-alpn
        www IN HTTPS 4 . mandatory=key700 key700=x
        svc IN A 192.0.2.20
        plain IN A 192.0.2.11
        chain IN CNAME www
        a0 IN HTTPS 0 a1
        a0 IN A 192.0.2.12
        a1 IN HTTPS 0 a2
        a2 IN HTTPS 0 a0
        _8080._https.plain IN HTTPS 1 svc.corp.test. port=9443

        """

    /// The origins, and their endpoints in order.
    private static let expected: [(url: String, endpoints: [String], records: Int)] = [
        (
            "https://www.corp.test",
            [
                "[2001:db8::10]:8443", "192.0.2.10:8443", "192.0.2.20:443", "[2001:db8::10]:443", "192.0.2.10:443",
            ], 4
        ),
        (
            "https://chain.corp.test",
            [
                "[2001:db8::10]:8443", "192.0.2.10:8443", "192.0.2.20:443", "[2001:db8::10]:443", "192.0.2.10:443",
            ], 4
        ),
        ("https://corp.test", ["[2001:db8::10]:8443", "192.0.2.10:8443", "192.0.2.20:443"], 1),
        ("https://plain.corp.test", ["192.0.2.11:443"], 0),
        ("https://plain.corp.test:8080", ["192.0.2.20:9443", "192.0.2.11:8080"], 1),
        ("https://a0.corp.test", ["192.0.2.12:443"], 1),
        ("http://www.corp.test", ["[2001:db8::10]:80", "192.0.2.10:80"], 4),
    ]

    @Test("chains, aliases, hints, ports and protocols", arguments: servers.filter(\.isInstalled))
    func records(_ server: Server) async throws {
        let port = try freePorts(1)[0]
        let daemon = try await Daemon(server.program, readyAt: port) { folder in
            try Data(Self.zone.utf8).write(to: URL(fileURLWithPath: "\(folder)/corp.zone"))
            let file = "\(folder)/server.conf"
            try Data(server.configuration(folder, port).utf8).write(to: URL(fileURLWithPath: file))
            return server.arguments(file)
        }
        defer { daemon.stop() }
        var configuration = ResolverConfiguration(
            upstreams: [try DNSUpstream(at: [Endpoint(IPAddress(v4: 0x7f00_0001), port: port)])],
            system: nil
        )
        // A loaded machine may take longer than the default.
        configuration.limits.resolutionDelay = .seconds(2)
        configuration.network.monitor = nil
        let resolver = Resolver(configuration)
        // A server may accept connections before it has read its zone.
        try await eventually(server.name, every: .milliseconds(10)) {
            (try? await resolver.resolve(try Host("ns.corp.test"), fresh: true)) != nil
        }
        // Known addresses of targets are used in place of hints.
        for name in ["svc", "www"] { _ = try await resolver.resolve(try Host("\(name).corp.test")) }
        for (url, endpoints, records) in Self.expected {
            let resolution = try await resolver.resolve(try HTTPURL(url).origin)
            #expect(resolution.endpoints.map(\.description) == endpoints, "\(url)")
            #expect(resolution.httpsRecords.count == records, "\(url)")
        }
        let known = try await resolver.resolve(try HTTPURL("https://www.corp.test").origin)
        #expect(known.source == .cached && known.httpsRecords.first?.echConfigList == [0, 3, 1, 2, 3])
        #expect(known.endpointServices[known.endpoints[0]]?.applicationProtocols == ["h2", "http/1.1"])
        await resolver.shutDown()
    }
}
