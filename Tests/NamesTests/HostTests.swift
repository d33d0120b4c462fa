// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@Suite("Hosts")
struct HostTests {
    @Test(
        "a domain is parsed to its canonical form",
        arguments: [
            ("www.example.com", "www.example.com", "it stays as it is"),
            ("WWW.Example.COM", "www.example.com", "its letters become lower case"),
            ("www.example.com.", "www.example.com.", "a trailing dot is kept, as in browsers and curl"),
            ("_dmarc.example.com", "_dmarc.example.com", "underscores may stand in names"),
            ("-a-.example", "-a-.example", "hyphens are not checked"),
            ("a--b.r3---sn.example", "a--b.r3---sn.example", "nor are hyphens in the third and fourth place"),
            ("%65x%61mple.com", "example.com", "percent-encoding is decoded"),
            ("ex!am$pl&e.com", "ex!am$pl&e.com", "punctuation that browsers let through stays"),
            ("1.2.3.4.example", "1.2.3.4.example", "numbers in front make no address"),
            ("1e2", "1e2", "nor does a label that only starts like a number"),
            ("0xg", "0xg", "nor does one that is no hexadecimal number"),
            ("printer.room.12", "printer.room.12", "nor a number behind a name"),
            ("XN--8I7CAA.famitei.net", "xn--8i7caa.famitei.net", "an A-label of fullwidth letters is a site"),
            ("xn--board-ngr.palungjit.org", "xn--board-ngr.palungjit.org", "so is one that starts with a mark"),
            ("xn--%61", "xn--a", "nor are A-labels checked in ASCII, also behind percent-encoding"),
            ("xn--", "xn--", "not even an empty one"),
            ("xn--a-", "xn--a-", "nor a needless one"),
            ("xn--abc-", "xn--abc-", "nor a needless one of letters"),
            ("xn--99999999999", "xn--99999999999", "nor Punycode that overflows"),
            ("xn--ls8h=", "xn--ls8h=", "nor one with an octet that is not Punycode"),
            ("xn--u-ccb", "xn--u-ccb", "nor one that is not in form C"),
            ("xn--zn7c", "xn--zn7c", "nor one of a scalar that is not allowed"),
        ]
    )
    func plainDomain(text: String, expected: String, _: String) throws {
        let host = try Host(text)
        #expect(host.text == expected)
        #expect(host.address == nil)
    }

    @Test(
        "an internationalized domain becomes A-labels (UTS #46, non-transitional)",
        arguments: [
            ("Bücher.example", "xn--bcher-kva.example", "capitals fold first"),
            ("B%C3%BCcher.example", "xn--bcher-kva.example", "percent-encoded UTF-8 is the same name"),
            ("bu\u{308}cher.example", "xn--bcher-kva.example", "a combining mark composes (form C)"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example", "an A-label stays"),
            ("XN--BCHER-KVA.example", "xn--bcher-kva.example", "whatever its case"),
            ("faß.de", "xn--fa-hia.de", "the sharp s is kept"),
            ("FAẞ.de", "xn--fa-hia.de", "and so is its capital"),
            ("βόλος.com", "xn--nxasmm1c.com", "the final sigma is kept"),
            ("ＧＯ．ｃｏｍ", "go.com", "full width is mapped to ASCII, the dot too"),
            ("例え。テスト", "xn--r8jz45g.xn--zckzah", "the ideographic full stop separates labels"),
            ("exa\u{ad}mple.com", "example.com", "a soft hyphen is dropped"),
            ("ｘｎ--bcher-kva.example", "xn--bcher-kva.example", "A-labels are found after the mapping"),
            ("☕.example", "xn--53h.example", "symbols are valid in UTS #46"),
            ("مثال.إختبار", "xn--mgbh0fb.xn--kgbechtv", "right to left throughout"),
            ("한국.example", "xn--3e0b707e.example", "Hangul syllables stay whole"),
            ("\u{1112}\u{1161}\u{11ab}국.example", "xn--3e0b707e.example", "and are composed of their jamo"),
            ("ශ්\u{200d}රී.com", "xn--10cl1a0b660p.com", "a joiner after a virama is allowed"),
            ("نامه\u{200c}ای.com", "xn--mgba3gch31f060k.com", "and a non-joiner between joining letters"),
            ("bücher.example.", "xn--bcher-kva.example.", "the trailing dot is kept here too"),
        ]
    )
    func internationalDomain(text: String, expected: String, _: String) throws {
        #expect(try Host(text).text == expected)
        #expect(try Host(expected).text == expected)
    }

    @Test(
        "a host in any IPv4 form that browsers accept is an address",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("192.0.2.1.", "192.0.2.1"), ("0x7f.1", "127.0.0.1"), ("127.1", "127.0.0.1"),
            ("0177.0.0.01", "127.0.0.1"), ("2130706433", "127.0.0.1"), ("0x7F000001", "127.0.0.1"), ("0", "0.0.0.0"),
            ("0x", "0.0.0.0"), ("1.2.65535", "1.2.255.255"), ("1.16777215", "1.255.255.255"),
            ("%31%32%37.0.0.1", "127.0.0.1"), ("１２７．０．０．１", "127.0.0.1"), ("127。1", "127.0.0.1"),
            ("000000000000000000000000000000000001.1", "1.0.0.1"), ("4294967295", "255.255.255.255"),
        ]
    )
    func ipv4(text: String, expected: String) throws {
        let host = try Host(text)
        #expect(host.text == expected)
        #expect(host.address == IPAddress(expected))
    }

    @Test("an IPv6 host is parsed with and without brackets, and printed with them")
    func ipv6() throws {
        for text in ["[2001:DB8::1]", "2001:db8::1", "[2001:db8:0:0:0:0:0.0.0.1]"] {
            let host = try Host(text)
            #expect(host.text == "2001:db8::1")
            #expect(host.urlForm == "[2001:db8::1]")
            #expect(host.address?.family == .v6)
        }
    }

    @Test(
        "a link-local address may name its interface as a zone, which no header contains (RFC 6874)",
        arguments: [
            ("[fe80::1%25eth0]", "eth0"), ("[FE80::0:1%eth0]", "eth0"), ("fe80::1%eth0", "eth0"),
            ("[fe80::1%252]", "2"), ("[fe80::1%254]", "4"), ("fe80::1%254", "254"), ("[fe80::1%25254]", "254"),
            ("[fe80::1%2]", "2"), ("[fe80::1%25]", "25"), ("[febf::1%25en-0.1_~]", "en-0.1_~"),
        ] as [(String, String)]
    )
    func zones(text: String, zone: String) throws {
        let host = try Host(text)
        #expect(host.zone == zone && host.address?.isLinkLocal == true)
        #expect(host.text == host.address?.description && host.urlForm == "[\(host.text)]")
        #expect(host.description == "[\(host.text)%25\(zone)]")
        #expect(try Host(host.description) == host)
        #expect(try Host(host.text) != host)
        let url = try HTTPURL("https://\(text.hasPrefix("[") ? text : "[\(text)]"):8443/a")
        #expect(url.origin.authority == "[\(host.text)]:8443" && url.origin.serialized == "https://[\(host.text)]:8443")
        #expect(try HTTPURL(url.description) == url && HTTPURL(origin: url.origin, path: "/a") == url)
    }

    @Test("the zone of ::1 is ignored, because each machine has one loopback interface (RFC 4007 §4)")
    func zoneOfLoopback() throws {
        for text in ["[::1%259999]", "[::1%25lo]", "::1%lo"] {
            let host = try Host(text)
            #expect(try host == Host("::1") && host.zone == nil && host.description == "[::1]")
        }
        #expect(throws: NameError.self) { try Host("[::1%25a b]") }
    }

    @Test("a numeric zone is its own scope, and a named zone has the scope of that interface")
    func scopes() throws {
        #expect(try Host("fe80::1").scope == 0 && Host("a.test").scope == 0)
        #expect(try Host("fe80::1%77").scope == 77)
        #expect(try Host("fe80::1%no-such").scope == nil && Host("fe80::1%0").scope == nil)
        #if os(Linux)
        #expect(try Host("fe80::1%lo").scope ?? 0 > 0)
        #endif
    }

    @Test(
        "an invalid host is rejected, and the error names the text and the reason",
        arguments: [
            ("", "empty"), ("a b", "a space"), ("a\nb", "LF"), ("a\r\nb", "CR"), ("a\0b", "NUL"), ("a%00b", "NUL"),
            ("a%0d%0ab", "CR"), ("a%20b", "a space"), ("a\u{7f}b", "0x7f"), ("a/b", "\"/\""), ("user@host", "\"@\""),
            ("a%2fb", "\"/\""), ("a%", "two hexadecimal"), ("a%zz", "two hexadecimal"), ("a%ff", "UTF-8"),
            (".", "dots"), ("...", "dots"),
            ("1.2.3.4.5", "IPv4"), ("1.2.3.256", "IPv4"), ("1.2.3.08", "IPv4"), ("a.0x1", "IPv4"), ("256.1", "IPv4"),
            ("4294967296", "IPv4"), ("1..2", "IPv4"), ("0x100000000000000000000", "IPv4"),
            ("[::1", "] is missing"), ("[1.2.3.4]", "IPv6"), ("[::g]", "IPv6"), ("[::2%25eth0]", "link-local"),
            ("[fe80::1%]", "zone"), ("[fe80::1%25a b]", "zone"), ("[fe80::1%25a%5db]", "zone"),
            ("[fe80::1%250123456789abcdef]", "zone"), ("[::ffff:169.254.1.1%25eth0]", "zone"),
            ("[fe80::g%25eth0]", "IPv6"), ("a:b", "IPv6"), ("[]", "IPv6"),
            ("xn--.ß", "xn--"), ("xn--a.ß", "U+0080"), ("xn--a-.ß", "xn--"), ("xn--abc-.ß", "xn--"),
            ("xn--bücher", "Punycode"), ("xn--99999999999.ß", "Punycode"), ("xn--u-ccb.ß", "form C"),
            ("xn--ls8h=.ß", "Punycode"), ("xn--8i7caa.ß", "U+FF57"), ("xn--board-ngr.ß", "combining mark"),
            ("xn--bcher-kva\u{301}", "Punycode"), ("xn--zn7c.ß", "U+"), ("\u{fffd}.example", "U+FFFD"),
            ("a\u{2028}b", "U+2028"), ("\u{301}a", "combining mark"), ("a\u{200d}b", "joiner"),
            ("a\u{200c}b", "joiner"),
            ("אa.example", "bidi"), ("0א.example", "bidi"), ("1.א", "bidi"), ("٠۰א", "bidi"), ("℀.example", "\"/\""),
            ("\u{ad}", "dots"), ("ⓓ℅ⓝ", "\"/\""),
        ]
    )
    func refused(text: String, reason: String) {
        let error = #expect(throws: NameError.self) { try Host(text) }
        #expect(error?.code == .malformedHost)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        #expect(error?.message.unicodeScalars.contains { $0.value < 0x20 } == false)
    }

    @Test("only a host with labels of up to 63 octets, and 253 in all besides a trailing dot, has a DNS name")
    func lengthsOfDNS() throws {
        let label = String(repeating: "a", count: 63)
        let longest = [label, label, label, String(repeating: "b", count: 61)].joined(separator: ".")
        #expect(longest.utf8.count == 253)
        for text in [longest, longest + ".", longest.uppercased()] { #expect(try Host(text).dnsName == longest) }
        let texts = [longest + "b", longest + "b.", label + "a.example", "example." + label + "a", label + "a.bücher"]
        for text in texts { #expect(try Host(text).dnsName == nil) }
        #expect(try Host("A" + longest).text == "a" + longest)
    }

    @Test("a host has at most 1,024 octets, and a label of another script 63 as an A-label")
    func lengths() throws {
        let longest = String(repeating: "a", count: 1_024)
        #expect(try Host(longest.uppercased()).text == longest)
        let encoded = String(longest.utf8.flatMap { "%" + String($0, radix: 16) })
        #expect(try Host(encoded).text == longest)
        #expect(try Host(String(repeating: "a.", count: 512)).text.utf8.count == 1_024)
        for text in [longest + "a", longest + ".", String(repeating: "ü", count: 60), "ü." + longest] {
            #expect(throws: NameError.self) { try Host(text) }
        }
    }

    @Test("a name with a trailing dot differs from one without, but has the same DNS name")
    func trailingDot() throws {
        let qualified = try Host("www.foo.com.")
        #expect(try qualified != Host("www.foo.com"))
        #expect(qualified.hasTrailingDot)
        #expect(qualified.dnsName == "www.foo.com")
        #expect(try !Host("www.foo.com").hasTrailingDot)
        #expect(try !Host("127.0.0.1.").hasTrailingDot)
    }

    @Test("addresses and empty labels have no DNS name", arguments: ["a..b", ".a", "a..", "192.0.2.1", "[::1]"])
    func noDNSName(text: String) throws {
        #expect(try Host(text).dnsName == nil)
    }

    @Test("localhost and its subdomains are local, with and without a trailing dot (RFC 6761 §6.3)")
    func localhost() throws {
        for text in ["localhost", "LOCALHOST.", "a.localhost", "a.b.localhost."] { #expect(try Host(text).isLocalhost) }
        for text in ["localhost.example", "notlocalhost", "127.0.0.1"] { #expect(try !Host(text).isLocalhost) }
    }

    @Test("a host of a million octets or ten thousand labels is rejected at once")
    func oversized() {
        let texts = [
            String(repeating: "a", count: 1_000_000), String(repeating: "a.", count: 10_000),
            String(repeating: "ü", count: 500_000), String(repeating: "%41", count: 400_000),
            "xn--" + String(repeating: "a", count: 1_000_000), "[" + String(repeating: ":", count: 1_000_000) + "]",
            String(repeating: "\u{301}", count: 2_000), String(repeating: "\u{ad}", count: 2_000),
            String(repeating: "1.", count: 2_000),
        ]
        for text in texts { #expect(throws: NameError.self) { try Host(text) } }
    }
}
