// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import HTTPDNS
import Names
import Testing

@testable import BeelineServer

@Suite("Zone files")
struct ZoneTests {
    private static func set(_ text: String = ServerLab.zone) throws -> ZoneSet {
        ZoneSet([Zone(try ZoneFile(parsing: Array(text.utf8)))])
    }

    private static func name(_ text: String) throws -> DNSName { try #require(DNSName(text)) }

    @Test(
        "what a zone says",
        arguments: [
            ("a name's address", "www.corp.test", DNSType.a, "NOERROR 192.0.2.10/300"),
            ("whatever its case", "WWW.Corp.TEST", .a, "NOERROR 192.0.2.10/300"),
            ("a repeated owner", "www.corp.test", .aaaa, "NOERROR 2001:db8::10/3600"),
            ("an alias, and what it leads to", "alias.corp.test", .a, "NOERROR www.corp.test/60 192.0.2.10/300"),
            ("an alias out of the zone", "away.corp.test", .a, "NOERROR www.a.test/60 → www.a.test"),
            ("the alias itself", "alias.corp.test", .cname, "NOERROR www.corp.test/60"),
            ("a wildcard", "any.thing.wild.corp.test", .a, "NOERROR 192.0.2.77/3600"),
            ("no record of the type", "www.corp.test", DNSType(rawValue: 15), "NOERROR soa"),
            ("a name between names", "deep.corp.test", .a, "NOERROR soa"),
            ("no such name", "nobody.corp.test", .a, "NXDOMAIN soa"),
            ("text", "a.deep.corp.test", DNSType(rawValue: 16), "NOERROR 16 octets of 16/3600"),
            ("all that there is", "www.corp.test", DNSType(rawValue: 255), "NOERROR 192.0.2.10/300 2001:db8::10/3600"),
        ] as [(String, String, DNSType, String)]
    )
    func lookUps(_ what: String, _ name: String, _ type: DNSType, _ expected: String) throws {
        let finding = try #require(try Self.set().lookUp(try Self.name(name), type))
        let answers = finding.answer.answers.map { record in
            switch record.data {
            case .address(let address): "\(address)/\(record.ttl)"
            case .alias(let target): "\(target)/\(record.ttl)"
            case .authority: "soa"
            case .other(let type, let octets): "\(octets.count) octets of \(type.rawValue)/\(record.ttl)"
            }
        }
        let soa = finding.answer.authorities.isEmpty ? [] : ["soa"]
        let outside = finding.outside.map { ["→ \($0)"] } ?? []
        let said = ([finding.answer.code.description] + answers + soa + outside).joined(separator: " ")
        #expect(said == expected, "\(what)")
    }

    @Test(
        "the SOA of a negative answer has the TTL of that answer (RFC 2308 §3), and that of the zone where it is asked for"
    )
    func negativeTTL() throws {
        let set = try Self.set()
        let none = set.lookUp(try Self.name("nobody.corp.test"), .a)?.answer
        #expect(none?.authorities.map(\.ttl) == [300] && none?.ttl == 300)
        #expect(set.lookUp(try Self.name("corp.test"), .soa)?.answer.answers.map(\.ttl) == [3_600])
    }

    @Test(
        "a record without TTL: the last one that was written, the SOA's MINIMUM only where there was none",
        arguments: [("7200 SOA a b 1 1 1 1 60", 7_200), ("SOA a b 1 1 1 1 60", 60)] as [(String, UInt32)]
    )
    func missingTTL(_ soa: String, _ seconds: UInt32) throws {
        let set = try Self.set("$ORIGIN c.test.\n@ \(soa)\nx A 192.0.2.1\n")
        #expect(set.lookUp(try Self.name("x.c.test"), .a)?.answer.answers.map(\.ttl) == [seconds])
    }

    @Test("names of others, and those that the zone leaves to others, are not answered from it")
    func outside() throws {
        let set = try Self.set()
        for text in ["www.a.test", "test", "evilcorp.test", "below.corp.test", "www.below.corp.test"] {
            #expect(set.lookUp(try Self.name(text), .a) == nil, "\(text)")
        }
    }

    @Test("aliases in a circle are a failure, and no endless loop")
    func circle() throws {
        let text = "$ORIGIN c.test.\n@ 60 SOA a b 1 1 1 1 1\nx 60 CNAME y\ny 60 CNAME x\n"
        let finding = try Self.set(text).lookUp(try Self.name("x.c.test"), .a)
        #expect(finding?.answer.code == .serverFailure)
    }

    @Test(
        "what is wrong is told with its line",
        arguments: [
            ("a A 192.0.2.1", "line 1: \"a\" is relative"), ("$ORIGIN c.test.\na 60 A 192.0.2", "line 2"),
            ("$ORIGIN c.test.\n@ SOA a b 1 1 1 1 1\nx FOO 1", "line 3: \"FOO\""),
            ("$ORIGIN c.test.\n@ SOA ( a b 1 1", "without )"), ("$ORIGIN c.test.\nx 60 A 192.0.2.1", "no SOA"),
            ("$ORIGIN c.test.\n@ SOA a b 1 1 1 1 1\nx.d.test. A 192.0.2.1", "not in the zone"),
            ("$INCLUDE other", "line 1: $INCLUDE"), ("$ORIGIN c.test.\nx 60 TXT \"open", "line 2"),
            ("$ORIGIN c.test.\n\(String(repeating: "a", count: 64)) 60 A 192.0.2.1", "63 octets"),
        ]
    )
    func wrong(_ text: String, _ words: String) throws {
        #expect {
            try ZoneFile(parsing: Array(text.utf8))
        } throws: { error in
            "\(error)".contains(words)
        }
    }

    @Test("no octets make the reader trap, and what it takes can be looked up")
    func fuzz() throws {
        let rounds = FuzzRounds.count(ordinary: 3_000)
        var random = SeededRandom(seed: 20_261_121)
        func next() -> UInt64 { random.next() }
        let seed = Array(ServerLab.zone.utf8)
        let signs = Array("()\"\\;@$*.\n\t 0198azIN#".utf8) + [0, 0xff]
        var taken = 0
        for _ in 0..<rounds {
            var octets = seed
            for _ in 0...(next() % 6) {
                let at = Int(next() % UInt64(octets.count))
                switch next() % 3 {
                case 0: octets[at] = signs[Int(next() % UInt64(signs.count))]
                case 1: octets.remove(at: at)
                default: octets.insert(signs[Int(next() % UInt64(signs.count))], at: at)
                }
            }
            do throws(ServerError) {
                let file = try ZoneFile(parsing: octets)
                let set = ZoneSet([Zone(file)])
                for record in file.records { _ = set.lookUp(record.name, record.type) }
                taken += 1
            } catch {
                #expect(error.code == .badZone)
            }
        }
        #expect(taken > 0)
    }
}

@Suite("Limits")
struct RateLimiterTests {
    private static let one = IPAddress(v4: 0x0a00_0001)

    /// What a client is told at each of these times, in nanoseconds.
    private static func asks(_ limiter: inout RateLimiter, _ client: IPAddress, at times: Int64...) -> [Bool] {
        times.map { limiter.allows(client, now: $0) }
    }

    @Test("a client's bucket empties, and fills with time")
    func bucket() {
        var limiter = RateLimiter(perSecond: 2, burst: 3, maxClients: 10)
        let second: Int64 = 1_000_000_000
        let said = Self.asks(&limiter, Self.one, at: 0, 0, 0, 0, second, second, second)
        #expect(said == [true, true, true, false, true, true, false])
        let other = Self.asks(&limiter, IPAddress(v4: 0x0a00_0002), at: 0)
        #expect(other == [true])
    }

    @Test("IPv6 clients count by /64, and mapped addresses as IPv4")
    func networks() {
        var limiter = RateLimiter(perSecond: 1, burst: 1, maxClients: 10)
        let clients = [
            IPAddress(v6: 1, 1), IPAddress(v6: 1, 2), IPAddress(v6: 2, 1), IPAddress(v6: 0, 0xffff_0a00_0001), Self.one,
        ]
        let said = clients.map { limiter.allows($0, now: 0) }
        #expect(said == [true, false, true, true, false])
    }

    @Test("more clients than are told apart: the bound holds")
    func bound() {
        var limiter = RateLimiter(perSecond: 1, burst: 2, maxClients: 100)
        for index in 0..<10_000 { _ = limiter.allows(IPAddress(v4: UInt32(index)), now: Int64(index)) }
        #expect(limiter.count <= 100)
    }
}
