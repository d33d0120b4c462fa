// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names
import Testing

/// The compiled list, tested with names whose rules rarely change.
struct PublicSuffixListTests {
    @Test(arguments: [
        ("a plain rule", "example.com", "example.com"),
        ("labels before the registrable domain", "a.b.example.com", "example.com"),
        ("a public suffix itself", "com", nil),
        ("a rule of two labels", "www.example.co.uk", "example.co.uk"),
        ("that suffix itself", "co.uk", nil),
        ("a name that no rule has: the last label is the suffix", "www.example.unheard-of", "example.unheard-of"),
        ("a single label that no rule has", "unheard-of", nil),
        ("a wildcard rule", "a.b.example.ck", "b.example.ck"),
        ("what a wildcard covers", "example.ck", nil),
        ("an exception to a wildcard", "www.ck", "www.ck"),
        ("a label before an exception", "a.www.ck", "www.ck"),
        ("an exception of three labels", "www.city.kawasaki.jp", "city.kawasaki.jp"),
        ("a rule of three labels", "a.b.ide.kyoto.jp", "b.ide.kyoto.jp"),
        ("the private section", "me.github.io", "me.github.io"),
        ("a suffix of the private section", "github.io", nil),
        ("A-labels", "www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("an address", "192.0.2.1", nil),
        ("an IPv6 address", "[2001:db8::1]", nil),
        ("a name that ends in a number", "printer.room.12", "room.12"),
        ("localhost", "localhost", nil),
        ("below localhost", "www.localhost", "www.localhost"),
    ])
    func registrableDomain(_ sentence: String, _ host: String, _ expected: String?) throws {
        #expect(PublicSuffixList.registrableDomain(of: try Host(host)) == expected, "\(sentence)")
    }

    @Test func saysOfWhenItIs() {
        #expect(PublicSuffixList.version.hasPrefix("202"))
        #expect(PublicSuffixList.ruleCount > 9000)
    }

    @Test(arguments: [("com", true), ("example.com", false), ("github.io", true), ("192.0.2.1", false)])
    func isPublicSuffix(_ host: String, _ expected: Bool) throws {
        #expect(PublicSuffixList.isPublicSuffix(try Host(host)) == expected)
    }

    @Test func sitesTellSchemesApart() throws {
        #expect(
            Site(of: try HTTPURL("https://a.example.com/")) == Site(of: try HTTPURL("https://b.example.com:8443/x"))
        )
        #expect(Site(of: try HTTPURL("https://a.example.com/")) != Site(of: try HTTPURL("http://a.example.com/")))
        #expect(Site(of: try HTTPURL("https://192.0.2.1/")).description == "https://192.0.2.1")
        #expect(Site("https://example.com") == Site(of: try HTTPURL("https://www.example.com/")))
    }
}
