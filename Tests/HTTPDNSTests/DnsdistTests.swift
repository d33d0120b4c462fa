// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DaemonSupport
import DirectHTTP
import Foundation
import HTTPDNS
import Names
import Testing

private typealias Host = Names.Host
private let dnsdist = "/usr/bin/dnsdist"

/// Our clients against dnsdist as packaged by Debian, whose reading of the standards differs from unbound's.
@Suite(
    "Interoperability with dnsdist",
    .enabled(if: FileManager.default.isExecutableFile(atPath: dnsdist), "dnsdist is not installed")
)
struct DnsdistTests {
    /// The server answers by its own rules and has no upstreams.
    private static func configuration(_ ports: [UInt16], _ files: (chain: String, key: String)) -> String {
        let many = (1...200).map { "\"10.9.0.\($0)\"" }.joined(separator: ",")
        return """
            setACL({"127.0.0.0/8"})
            setSecurityPollSuffix("")
            setLocal("127.0.0.1:\(ports[0])")
            addTLSLocal("127.0.0.1:\(ports[1])", "\(files.chain)", "\(files.key)")
            addDOHLocal("127.0.0.1:\(ports[2])", "\(files.chain)", "\(files.key)", "/dns-query")
            addAction(AndRule{QNameRule("www.corp.test."), QTypeRule(DNSQType.A)}, SpoofAction({"192.0.2.10"}, {ttl=300}))
            addAction(AndRule{QNameRule("www.corp.test."), QTypeRule(DNSQType.AAAA)}, SpoofAction({"2001:db8::10"}, {ttl=120}))
            addAction(AndRule{QNameRule("big.corp.test."), QTypeRule(DNSQType.A)}, SpoofAction({\(many)}, {ttl=60}))
            addAction(AndRule{QNameRule("tcp.corp.test."), TCPRule(false)}, TCAction())
            addAction(QNameRule("tcp.corp.test."), SpoofAction({"192.0.2.11"}, {ttl=60}))
            addAction(QNameRule("v4.corp.test."), \
            SetNegativeAndSOAAction(false, "corp.test.", 30, "ns.corp.test.", "h.corp.test.", 1, 7200, 900, 1209600, 30))
            addAction(QNameRule("nobody.corp.test."), \
            SetNegativeAndSOAAction(true, "corp.test.", 30, "ns.corp.test.", "h.corp.test.", 1, 7200, 900, 1209600, 30))
            addAction(QNameRule("dead.corp.test."), RCodeAction(DNSRCode.SERVFAIL))
            addAction(QNameRule("refused.corp.test."), RCodeAction(DNSRCode.REFUSED))
            addAction(AllRule(), DropAction())

            """
    }

    /// Runs `body` with one upstream for each transport.
    private static func each(_ body: (any Upstream) async throws -> Void) async throws {
        let authority = try TestAuthority()
        let ports = try freePorts(3)
        let daemon = try await Daemon(dnsdist, readyAt: ports[2]) { folder in
            let files = try authority.certificate(for: "dns.test").write(to: folder)
            let path = "\(folder)/dnsdist.conf"
            try Data(configuration(ports, files).utf8).write(to: URL(fileURLWithPath: path))
            return ["--supervised", "--disable-syslog", "-C", path]
        }
        var tls = TLSSettings()
        tls.trustsSystemRoots = false
        tls.rootPEMs = [authority.rootPEM]
        let engine = Engine()
        let transport = EngineTransport(engine: engine, tls: tls)
        let url = try HTTPURL("https://dns.test:\(ports[2])/dns-query")
        let address = IPAddress(v4: 0x7f00_0001)
        let stream = try DoTUpstream(try Host("dns.test"), at: [address], port: ports[1], tls: tls)
        let upstreams: [any Upstream] = [
            try DoHUpstream(url, at: [address], method: .get, transport: transport),
            try DoHUpstream(url, at: [address], method: .post, transport: transport), stream,
            try DNSUpstream(at: [Endpoint(address, port: ports[0])]),
        ]
        for upstream in upstreams { try await body(upstream) }
        await engine.shutDown()
        daemon.stop()
    }

    @Test("each transport gives the same addresses, denials and failures, and large answers arrive complete")
    func answers() async throws {
        try await Self.each { upstream in
            let name = upstream.name
            let www = try await upstream.answer(Question(try Host("WWW.corp.test")))
            #expect(www.v4 == .addresses([IPAddress(v4: 0xc000_020a)], ttl: .seconds(300)), "\(name)")
            #expect(www.v6?.addresses.map(\.description) == ["2001:db8::10"] && www.v6?.ttl == .seconds(120), "\(name)")
            let none = try await upstream.answer(Question(try Host("v4.corp.test"), families: .v6))
            // dnsdist puts the SOA in the wrong section. RFC 2308 §3 requires the authority section.
            #expect(none.v6 == .absent(.noRecord, ttl: nil), "\(name)")
            let unknown = try await upstream.answer(Question(try Host("nobody.corp.test"), families: .v4))
            #expect(unknown.v4 == .absent(.noName, ttl: nil), "\(name)")
            let big = try await upstream.answer(Question(try Host("big.corp.test"), families: .v4))
            #expect(Set(big.v4?.addresses ?? []).count == 200, "\(name)")
            let whole = try await upstream.answer(Question(try Host("tcp.corp.test"), families: .v4))
            #expect(whole.v4?.addresses.map(\.description) == ["192.0.2.11"], "\(name)")
            for refused in ["dead.corp.test", "refused.corp.test"] {
                await #expect(throws: UpstreamError.self, "\(name) \(refused)") {
                    try await upstream.answer(Question(try Host(refused), families: .v4))
                }
            }
        }
    }
}
