// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@Suite("Kinds of IP addresses and networks")
struct AddressKindTests {
    /// The kinds, in the order in which a row names them.
    static let kinds: [(name: String, holds: @Sendable (IPAddress) -> Bool)] = [
        ("loopback", { $0.isLoopback }), ("unspecified", { $0.isUnspecified }), ("multicast", { $0.isMulticast }),
        ("broadcast", { $0.isBroadcast }), ("link-local", { $0.isLinkLocal }), ("private", { $0.isPrivate }),
        ("shared", { $0.isShared }), ("documentation", { $0.isDocumentation }), ("metadata", { $0.isMetadata }),
        ("mapped", { $0.isV4Mapped }), ("global", { $0.isGloballyReachable }),
    ]

    @Test(
        "an address has the kinds listed and no others",
        arguments: [
            ("127.0.0.1", "loopback"), ("127.255.255.255", "loopback"), ("128.0.0.1", "global"), ("::1", "loopback"),
            ("::2", ""), ("0.0.0.0", "unspecified"), ("::", "unspecified"), ("0.0.0.1", ""),
            ("224.0.0.251", "multicast"), ("239.255.255.255", "multicast"), ("ff02::1", "multicast"),
            ("255.255.255.255", "broadcast"), ("240.0.0.1", ""), ("169.254.1.1", "link-local"),
            ("fe80::1", "link-local"), ("febf::1", "link-local"), ("fec0::1", ""),
            ("169.254.169.254", "link-local metadata"), ("fd00:ec2::254", "private metadata"),
            ("fd20:ce::254", "private metadata"), ("100.100.100.200", "shared metadata"),
            ("10.0.0.1", "private"), ("172.15.255.255", "global"), ("172.16.0.0", "private"),
            ("172.31.255.255", "private"), ("172.32.0.0", "global"), ("192.168.0.1", "private"), ("fc00::1", "private"),
            ("fdff::1", "private"), ("fe00::1", ""), ("100.63.255.255", "global"), ("100.64.0.0", "shared"),
            ("100.127.255.255", "shared"), ("100.128.0.0", "global"), ("192.0.2.1", "documentation"),
            ("198.51.100.1", "documentation"), ("203.0.113.1", "documentation"), ("2001:db8::1", "documentation"),
            ("3fff::1", "documentation"), ("198.18.0.1", ""), ("192.0.0.1", ""), ("192.0.0.9", "global"),
            ("8.8.8.8", "global"), ("2606:4700:4700::1111", "global"), ("2001::1", ""), ("2001:1::1", "global"),
            ("2001:20::1", "global"), ("4000::1", ""), ("::ffff:8.8.8.8", "mapped global"),
            ("::ffff:127.0.0.1", "loopback mapped"), ("::ffff:0.0.0.0", "unspecified mapped"),
            ("::ffff:10.0.0.1", "private mapped"), ("::ffff:169.254.169.254", "link-local metadata mapped"),
            ("64:ff9b::8.8.8.8", "global"), ("64:ff9b::10.0.0.1", ""), ("64:ff9b:1::1", ""),
            ("2002:0808:0808::1", "global"), ("2002:7f00:1::1", ""),
        ]
    )
    func kinds(text: String, expected: String) throws {
        let address = try #require(IPAddress(text))
        #expect(Self.kinds.filter { $0.holds(address) }.map(\.name).joined(separator: " ") == expected)
    }

    @Test("an IPv4-mapped address is unwrapped, and every other address stays as it is")
    func unmapped() throws {
        #expect(IPAddress("::ffff:192.0.2.1")?.unmapped == IPAddress("192.0.2.1"))
        #expect(IPAddress("192.0.2.1")?.unmapped == IPAddress("192.0.2.1"))
        #expect(IPAddress("::1:192.0.2.1")?.unmapped == IPAddress("::1:c000:201"))
    }

    @Test(
        "a network is parsed, and printed with its host bits cleared",
        arguments: [
            ("10.1.2.3/8", "10.0.0.0/8", "10.255.255.255"), ("0.0.0.0/0", "0.0.0.0/0", "255.255.255.255"),
            ("192.0.2.7", "192.0.2.7/32", "192.0.2.7"), ("192.0.2.7/31", "192.0.2.6/31", "192.0.2.7"),
            ("2001:db8::1/32", "2001:db8::/32", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("2001:db8::1/64", "2001:db8::/64", "2001:db8::ffff:ffff:ffff:ffff"),
            ("2001:db8::1/65", "2001:db8::/65", "2001:db8::7fff:ffff:ffff:ffff"),
            ("::/0", "::/0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), ("::1", "::1/128", "::1"),
        ]
    )
    func network(text: String, printed: String, last: String) throws {
        let network = try #require(IPNetwork(text))
        #expect(network.description == printed)
        #expect(network.last == IPAddress(last))
        #expect(network.contains(network.first) && network.contains(network.last))
        #expect(IPNetwork(printed) == network)
    }

    @Test("a network contains its first and last address, and none of the other family")
    func bounds() throws {
        let network = try #require(IPNetwork("172.16.0.0/12"))
        for (text, inside) in [
            ("172.15.255.255", false), ("172.16.0.0", true), ("172.31.255.255", true), ("172.32.0.0", false),
            ("::ffff:172.16.0.1", false), ("::", false),
        ] {
            #expect(network.contains(try #require(IPAddress(text))) == inside, "\(text)")
        }
    }

    @Test(
        "an invalid network is rejected",
        arguments: [
            "", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "::/129", "10/8", "::/0/0", "::/ 1",
        ]
    )
    func noNetwork(text: String) {
        #expect(IPNetwork(text) == nil)
    }
}
