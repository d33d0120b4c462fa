// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("DNS names")
struct DNSNameTests {
    @Test(
        "valid names are read",
        arguments: [
            ("www.example.com", "www.example.com"), ("www.example.com.", "www.example.com"), (".", "."),
            ("_sip._tcp.example", "_sip._tcp.example"), ("a b.example", "a\\032b.example"),
        ]
    )
    func names(_ text: String, _ shown: String) {
        #expect(DNSName(text)?.description == shown)
    }

    @Test("octets of a label that mean something in a zone file have a backslash there, and not in the text of a host")
    func labelsWithMarks() {
        let label = Array(#"a.b\c"d(e)f;g@h$i"#.utf8)
        let name = DNSName(wire: [UInt8(label.count)] + label + [0])
        #expect(name.absoluteText == #"a\.b\\c\"d\(e\)f\;g\@h\$i."#)
        #expect(name.description == #"a\.b\\c"d(e)f;g@h$i"#)
    }

    @Test("the text of a name in a zone file is read back as the same name")
    func escapes() {
        let label = Array(#"a.b\c"d$i é"#.utf8)
        let name = DNSName(wire: [UInt8(label.count)] + label + [3] + Array("net".utf8) + [0])
        #expect(DNSName(escaped: name.absoluteText)?.wire == name.wire)
        #expect(DNSName(escaped: name.description)?.wire == name.wire)
        for text in [#"a\"#, #"a\25"#, #"a\256.b"#, #"a\.b..c"#, #"\a"# + String(repeating: "b", count: 63)] {
            #expect(DNSName(escaped: text) == nil, "\(text)")
        }
    }

    @Test(
        "invalid names are refused",
        arguments: [
            "a..b", ".a", "..", String(repeating: "a", count: 64), String(repeating: "a.", count: 128) + "a",
        ]
    )
    func refused(_ text: String) {
        #expect(DNSName(text) == nil)
    }

    @Test("the longest label and the longest name are accepted")
    func longest() {
        let label = String(repeating: "a", count: 63)
        #expect(
            DNSName([label, label, label, String(repeating: "b", count: 61)].joined(separator: "."))?.wire.count == 255
        )
        #expect(DNSName([label, label, label, String(repeating: "b", count: 62)].joined(separator: ".")) == nil)
    }

    @Test("a host that DNS cannot encode is no question for an upstream")
    func longHosts() throws {
        let label = String(repeating: "a", count: 63)
        #expect(try Host(label + ".test").dnsName().wire.count == 70)
        for text in [label + "a.test", [label, label, label, label].joined(separator: ".")] {
            let error = #expect(throws: UpstreamError.self) { try Host(text).dnsName() }
            #expect(error?.code == .questionRefused)
        }
    }

    @Test("names compare without letter case, and keep the case they were written in")
    func ignoresCase() {
        #expect(name("WwW.eXample.COM") == name("www.example.com"))
        #expect(name("WwW.eXample.COM").hashValue == name("www.example.com").hashValue)
        #expect(name("WwW").description == "WwW")
        #expect(name("www.example") != name("wwwxexample"))
    }

    @Test("a domain contains a name by whole labels")
    func ancestors() {
        #expect(name("a.Example.com").isAtOrBelow(name("example.com")))
        #expect(name("example.com").isAtOrBelow(name("example.com")))
        #expect(name("example.com").isAtOrBelow(.root))
        #expect(!name("notexample.com").isAtOrBelow(name("example.com")))
        #expect(!name("com").isAtOrBelow(name("example.com")))
    }
}
