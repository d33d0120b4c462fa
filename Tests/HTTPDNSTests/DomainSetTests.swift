// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Testing

@Suite("Domain sets")
struct DomainSetTests {
    static let set: DomainSet = [
        "example.com", ".corp.example", "*.wild.test", "Bücher.example", "192.0.2.1", "not a host",
    ]

    @Test(
        "a set matches names by whole labels",
        arguments: [
            ("example.com", true), ("www.example.com", true), ("a.b.example.com", true), ("notexample.com", false),
            ("example.com.evil.test", false), ("com", false), ("corp.example", true), ("x.corp.example", true),
            ("wild.test", true), ("a.wild.test", true), ("WWW.EXAMPLE.COM", true), ("www.example.com.", true),
            ("192.0.2.1", true), ("192.0.2.2", false),
        ]
    )
    func contains(_ text: String, _ isInside: Bool) {
        #expect(Self.set.contains(host(text)) == isInside)
    }

    @Test("a set finds names of any length, including the names of a set that was added")
    func lengths() {
        let long = (0..<20).map { "label\($0)" }.joined(separator: ".")
        var set: DomainSet = ["a.b"]
        set.formUnion([long, "example.com"])
        for name in ["a.b", long, "x.\(long)", "example.com"] { #expect(set.contains(host(name)), "\(name)") }
        #expect(!set.contains(host("other.\(long.dropFirst())")))
    }

    @Test("an empty set contains no names")
    func empty() {
        #expect(!DomainSet().contains(host("example.com")))
        #expect(DomainSet(["", "..", "a b"]).isEmpty)
    }
}
