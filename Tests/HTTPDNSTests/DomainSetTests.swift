// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Testing

@Suite("Domain sets")
struct DomainSetTests {
    static let set: DomainSet = [
        "example.com", ".corp.example", "*.wild.test", "Bücher.example", "192.0.2.1", "not a host",
    ]

    @Test(
        "whole labels count",
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

    @Test("an empty set holds nothing")
    func empty() {
        #expect(!DomainSet().contains(host("example.com")))
        #expect(DomainSet(["", "..", "a b"]).isEmpty)
    }
}
