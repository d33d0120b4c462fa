// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import Testing

@testable import BeelineCommand

@Suite("Upstreams by domain")
struct DomainUpstreamTests {
    @Test(
        "lines of dnsmasq and dnsproxy",
        arguments: [
            ("server=/corp.example/192.0.2.53", "corp.example", ["dns:192.0.2.53"]),
            ("server=/corp.example/192.0.2.53#5353", "corp.example", ["dns:192.0.2.53:5353"]),
            ("server=/corp.example/2001:db8::1#53", "corp.example", ["dns:[2001:db8::1]:53"]),
            ("server=/a.example/b.example/192.0.2.53", "b.example", ["dns:192.0.2.53"]),
            ("server=/www.corp.example/#", "www.corp.example", []),
            ("[/corp.example/]192.0.2.53:5353", "corp.example", ["dns:192.0.2.53:5353"]),
            ("[/*.corp.example/]tls://dns.example#192.0.2.1", "corp.example", ["dot:dns.example#192.0.2.1"]),
            ("[/corp.example/]https://192.0.2.1/dns-query", "corp.example", ["doh:https://192.0.2.1/dns-query"]),
            ("[/corp.example/]#", "corp.example", []),
        ]
    )
    func lines(line: String, domain: String, specs: [String]) throws {
        var upstreams = DomainUpstreams()
        try upstreams.add(file: "# a comment\nno-resolv\ncache-size=0\n\(line)\n", at: "file")
        #expect(upstreams.domains[domain] == specs)
        #expect(upstreams.others.isEmpty)
    }

    @Test("lines without a domain are upstreams of all other names")
    func others() throws {
        var upstreams = DomainUpstreams()
        try upstreams.add(file: "server=192.0.2.1\n192.0.2.2:53\nhttps://192.0.2.3/dns-query\n", at: "file")
        #expect(upstreams.others == ["dns:192.0.2.1", "dns:192.0.2.2:53", "doh:https://192.0.2.3/dns-query"])
    }

    @Test("a domain without an address is for lists, and options add up")
    func options() throws {
        var upstreams = DomainUpstreams()
        try upstreams.add(file: "server=/lan/\naddress=/ads.example/#\n", at: "file")
        #expect(upstreams.domains.isEmpty)
        try upstreams.add(option: "corp.example,lab.example=dns:192.0.2.53")
        try upstreams.add(option: "corp.example=dns:192.0.2.54")
        #expect(upstreams.domains["corp.example"] == ["dns:192.0.2.53", "dns:192.0.2.54"])
        #expect(upstreams.domains["lab.example"] == ["dns:192.0.2.53"])
    }

    @Test("the upstream of a domain gets private names and names of Tor, and other upstreams get none")
    func privateNames() throws {
        let arguments = try DNSArguments.parse(["--dns-for", "onion,lan=dns:127.0.0.1:9053"])
        let plan = try DNSPlan(arguments, NameOptions(), defaults: Defaults(), files: .real)
        let source = try #require(plan.groups.first?.source)
        for host in [try Host("a.onion"), try Host("a.lan")] {
            #expect(!source.client.resolver.names.isPrivate(host) && plan.main.client.resolver.names.isPrivate(host))
        }
    }

    @Test(
        "errors name the line",
        arguments: [
            "server=/corp.example/nonsense.host", "[corp.example]192.0.2.1", "server=//1.2.3.4",
            "192.0.2.7 printer.lan",
        ]
    )
    func errors(line: String) {
        var upstreams = DomainUpstreams()
        #expect(throws: CommandFailure.self) { try upstreams.add(file: line, at: "file") }
    }
}
