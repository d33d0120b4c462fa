// SPDX-License-Identifier: Apache-2.0

import Beeline
import Testing

@testable import BeelineProxy
@testable import HTTPDNS

@Suite("Which addresses and ports the proxy connects to, and which it refuses")
struct AccessPolicyTests {
    private static let own = OwnEndpoints(listening: Endpoint(IPAddress(v4: 0x7f00_0001), port: 8118))

    /// The addresses a name resolves to, and the ones that the policy permits; nil: the policy refuses the name.
    static let answers: [(String, [String], AccessPolicy.Source, [String]?)] = [
        ("a public address", ["93.184.216.34"], .answer, ["93.184.216.34"]),
        ("a public IPv6 address", ["2606:2800:220:1::1"], .answer, ["2606:2800:220:1::1"]),
        ("rebinding to loopback", ["127.0.0.1"], .answer, nil),
        ("rebinding to IPv6 loopback", ["::1"], .answer, nil),
        ("rebinding to loopback in IPv6 clothes", ["::ffff:127.0.0.1"], .answer, nil),
        ("rebinding to loopback through NAT64", ["64:ff9b::7f00:1"], .answer, nil),
        ("rebinding to this host", ["0.0.0.0"], .answer, nil),
        ("rebinding to a private network", ["192.168.1.1"], .answer, nil),
        ("rebinding to a private network", ["10.0.0.1"], .answer, nil),
        ("rebinding to a private network", ["172.16.0.1"], .answer, nil),
        ("rebinding to a carrier's network", ["100.64.0.1"], .answer, nil),
        ("rebinding to a unique local address", ["fd12::1"], .answer, nil),
        ("rebinding to a link", ["169.254.1.1"], .answer, nil),
        ("rebinding to a link", ["fe80::1"], .answer, nil),
        ("rebinding to the metadata of a cloud", ["169.254.169.254"], .answer, nil),
        ("rebinding to the metadata of a cloud", ["fd00:ec2::254"], .answer, nil),
        ("rebinding to the metadata of a cloud", ["100.100.100.200"], .answer, nil),
        ("multicast", ["224.0.0.1"], .answer, nil),
        ("broadcast", ["255.255.255.255"], .answer, nil),
        ("a public and a private address", ["10.0.0.1", "93.184.216.34"], .answer, ["93.184.216.34"]),
        ("a printer by its address", ["192.168.1.9"], .literal, ["192.168.1.9"]),
        ("this machine by its address", ["127.0.0.1"], .literal, nil),
        ("a link's address by itself", ["169.254.1.1"], .literal, nil),
        ("a cloud's metadata by its address", ["169.254.169.254"], .literal, nil),
        ("a cloud's metadata by its private address", ["fd00:ec2::254"], .literal, nil),
        ("the unspecified address", ["0.0.0.0"], .literal, nil),
        ("a pin to this machine", ["127.0.0.1"], .trusted, ["127.0.0.1"]),
        ("a pin to a private address", ["10.1.1.1"], .trusted, ["10.1.1.1"]),
        ("a pin to the unspecified address", ["0.0.0.0"], .trusted, nil),
    ]

    @Test("the policy permits and refuses addresses by their kind and source", arguments: answers)
    func leads(what: String, addresses: [String], source: AccessPolicy.Source, expected: [String]?) throws {
        let destination = Destination(try Host("a.example"), port: 443)
        let endpoints = addresses.compactMap(IPAddress.init).map { Endpoint($0, port: 443) }
        #expect(endpoints.count == addresses.count)
        do throws(Refusal) {
            let permitted = try AccessPolicy().permitted(endpoints, for: destination, source: source, own: Self.own)
            #expect(permitted.map(\.address.description) == expected, "\(what)")
        } catch {
            #expect(expected == nil, "\(what): \(error)")
            #expect(error.status == 403)
            #expect(error.message.hasPrefix("a.example:443: "))
        }
    }

    @Test("the policy permits local answers where it is configured to, but never the proxy itself")
    func allowed() throws {
        var policy = AccessPolicy()
        policy.allowsLocalAnswers = true
        let destination = Destination(try Host("a.example"), port: 443)
        for (text, isPermitted) in [
            ("127.0.0.1:80", true), ("10.0.0.1:80", true), ("169.254.169.254:80", true), ("[::1]:80", true),
            ("127.0.0.1:8118", false), ("[::ffff:127.0.0.1]:8118", false), ("0.0.0.0:8118", false),
            ("0.0.0.0:80", false),
        ] {
            let endpoint = try #require(Endpoint(text))
            let permitted = try? policy.permitted([endpoint], for: destination, source: .answer, own: Self.own)
            #expect((permitted == [endpoint]) == isPermitted, "\(text)")
        }
    }

    @Test("the policy judges a NAT64 address by the IPv4 address inside it, with any prefix of the network")
    func translated() throws {
        let prefixes = try ["64:ff9b:1::/96", "2600:64::/96"].map {
            try #require(IPNetwork($0).flatMap { NAT64Prefix($0) })
        }
        let destination = Destination(try Host("a.example"), port: 443)
        for (text, source, isPermitted) in [
            ("64:ff9b:1::5db8:d822", AccessPolicy.Source.answer, true), ("2600:64::5db8:d822", .answer, true),
            ("64:ff9b:1::a00:1", .answer, false), ("2600:64::a00:1", .answer, false),
            ("2600:64::a00:1", .literal, true), ("2600:64::6464:64c8", .literal, false),
            ("64:ff9b:2::1", .answer, false),
        ] {
            let endpoint = Endpoint(try #require(IPAddress(text)), port: 443)
            let permitted = try? AccessPolicy().permitted(
                [endpoint],
                for: destination,
                source: source,
                own: Self.own,
                behind: prefixes
            )
            #expect((permitted == [endpoint]) == isPermitted, "\(text)")
        }
    }

    @Test("a proxy that listens on all interfaces recognizes itself by every address")
    func everywhere() throws {
        let own = OwnEndpoints(
            listening: Endpoint(IPAddress(v4: 0), port: 8118),
            interfaces: [IPAddress(v4: 0x0a00_0005)]
        )
        for (text, isOwn) in [
            ("10.0.0.5:8118", true), ("127.0.0.1:8118", true), ("[::1]:8118", true), ("10.0.0.6:8118", false),
            ("10.0.0.5:80", false),
        ] {
            #expect(own.contains(try #require(Endpoint(text))) == isOwn, "\(text)")
        }
    }

    @Test("the policy allows tunnels to the listed ports only")
    func ports() throws {
        let host = try Host("a.example")
        let policy = AccessPolicy()
        for port in [443, 80, 8443] as [UInt16] {
            #expect(policy.refusal(ofTunnelTo: Destination(host, port: port)) == nil)
        }
        for port in [22, 25, 3306] as [UInt16] {
            #expect(policy.refusal(ofTunnelTo: Destination(host, port: port))?.status == 403)
        }
    }

    @Test("an answer from the fixed table stays trusted when it comes from the cache")
    func kept() throws {
        let resolver = Resolver(ResolverConfiguration())
        for (source, kind, expected) in [
            (Resolution.Source.fixed, UpstreamKind.fixed, AccessPolicy.Source.trusted), (.cached, .fixed, .trusted),
            (.stale, .fixed, .trusted), (.cached, .service, .answer), (.literal, .fixed, .literal),
        ] {
            let resolution = Resolution(
                host: try Host("a.test"),
                addresses: [IPAddress(v4: 0x7f00_0001)],
                port: 443,
                source: source,
                provenance: Provenance(upstream: "a", kind: kind)
            )
            #expect(AccessPolicy.Source(resolution, by: resolver) == expected, "\(source) of \(kind)")
        }
    }
}
