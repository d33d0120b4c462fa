// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("Answers in DNS messages")
struct DNSAnswerTests {
    enum Says: Sendable {
        case success(Answer.Records)
        case failure(UpstreamError.Code)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var what: String
        var answers: [DNSRecord] = []
        var authorities: [DNSRecord] = []
        var bits: UInt16 = 0x8180
        var question = DNSQuestion(name("www.example.com"), .a)
        var says: Says
        var testDescription: String { what }
    }

    static func a(_ owner: String, _ text: String, ttl: UInt32) -> DNSRecord {
        DNSRecord(name(owner), ttl: ttl, .address(address(text)))
    }

    static func alias(_ owner: String, _ target: String, ttl: UInt32) -> DNSRecord {
        DNSRecord(name(owner), ttl: ttl, .alias(name(target)))
    }

    static func chain(_ length: Int) -> [DNSRecord] {
        var records = [alias("www.example.com", "n1.example", ttl: 5)]
        for index in 1..<length { records.append(alias("n\(index).example", "n\(index + 1).example", ttl: 5)) }
        return records + [a("n\(length).example", "192.0.2.1", ttl: 5)]
    }

    static func soa(_ owner: String, ttl: UInt32, minimum: UInt32) -> DNSRecord {
        DNSRecord(
            name(owner),
            ttl: ttl,
            .authority(
                DNSRecord.StartOfAuthority(
                    primary: .root,
                    mailbox: .root,
                    serial: 1,
                    refresh: 1,
                    retry: 1,
                    expire: 1,
                    minimum: minimum
                )
            )
        )
    }

    static let rows: [Row] = [
        Row(
            what: "two addresses; the lower TTL counts",
            answers: [a("www.example.com", "192.0.2.1", ttl: 300), a("www.example.com", "192.0.2.2", ttl: 30)],
            says: .success(.addresses(addresses("192.0.2.1 192.0.2.2"), ttl: .seconds(30)))
        ),
        Row(
            what: "a chain of aliases in any order; the lowest TTL on the way counts",
            answers: [
                a("c.example.net", "192.0.2.9", ttl: 60), alias("b.example.net", "c.example.net", ttl: 20),
                alias("www.example.com", "b.example.net", ttl: 300),
            ],
            says: .success(.addresses(addresses("192.0.2.9"), ttl: .seconds(20)))
        ),
        Row(
            what: "names are compared without case",
            answers: [alias("WWW.Example.com", "B.example.net", ttl: 5), a("b.EXAMPLE.net", "192.0.2.9", ttl: 60)],
            says: .success(.addresses(addresses("192.0.2.9"), ttl: .seconds(5)))
        ),
        Row(
            what: "records of other owners are skipped",
            answers: [a("evil.example", "203.0.113.66", ttl: 9), a("www.example.com", "192.0.2.1", ttl: 300)],
            says: .success(.addresses(addresses("192.0.2.1"), ttl: .seconds(300)))
        ),
        Row(
            what: "only records of another owner: no answer",
            answers: [a("evil.example", "203.0.113.66", ttl: 9)],
            says: .success(.absent(.noRecord, ttl: nil))
        ),
        Row(
            what: "records of another class are skipped",
            answers: [DNSRecord(name("www.example.com"), ttl: 9, .address(address("192.0.2.1")), recordClass: 3)],
            says: .success(.absent(.noRecord, ttl: nil))
        ),
        Row(
            what: "AAAA among A is skipped",
            answers: [a("www.example.com", "2001:db8::1", ttl: 9)],
            says: .success(.absent(.noRecord, ttl: nil))
        ),
        Row(
            what: "aliases in a circle",
            answers: [alias("www.example.com", "b.example", ttl: 5), alias("b.example", "www.example.com", ttl: 5)],
            says: .failure(.malformedAnswer)
        ),
        Row(
            what: "17 aliases are too many",
            answers: chain(17),
            says: .failure(.malformedAnswer)
        ),
        Row(
            what: "16 aliases are followed",
            answers: chain(16),
            says: .success(.addresses(addresses("192.0.2.1"), ttl: .seconds(5)))
        ),
        Row(
            what: "a TTL with its highest bit set is zero (RFC 2181 §8)",
            answers: [a("www.example.com", "192.0.2.1", ttl: 0x8000_0000)],
            says: .success(.addresses(addresses("192.0.2.1"), ttl: .zero))
        ),
        Row(
            what: "no such name: the lower of the SOA's TTL and minimum (RFC 2308 §5)",
            authorities: [soa("example.com", ttl: 900, minimum: 60)],
            bits: 0x8183,
            says: .success(.absent(.noName, ttl: .seconds(60)))
        ),
        Row(
            what: "no record: the SOA's TTL is the lower",
            authorities: [soa("example.com", ttl: 30, minimum: 600)],
            says: .success(.absent(.noRecord, ttl: .seconds(30)))
        ),
        Row(
            what: "the SOA of a zone that does not contain the name is ignored",
            authorities: [soa("example.net", ttl: 30, minimum: 600)],
            bits: 0x8183,
            says: .success(.absent(.noName, ttl: nil))
        ),
        Row(
            what: "the end of a chain does not exist: the alias's TTL bounds it",
            answers: [alias("www.example.com", "gone.example.net", ttl: 10)],
            authorities: [soa("example.net", ttl: 900, minimum: 60)],
            bits: 0x8183,
            says: .success(.absent(.noName, ttl: .seconds(10)))
        ),
        Row(
            what: "no such name, with addresses of it: they are not used",
            answers: [a("www.example.com", "192.0.2.1", ttl: 300)],
            authorities: [soa("example.com", ttl: 900, minimum: 60)],
            bits: 0x8183,
            says: .success(.absent(.noName, ttl: .seconds(60)))
        ),
        Row(what: "SERVFAIL", bits: 0x8182, says: .failure(.lookupFailed)),
        Row(what: "REFUSED", bits: 0x8185, says: .failure(.questionRefused)),
        Row(what: "FORMERR", bits: 0x8181, says: .failure(.questionRefused)),
        Row(what: "an unknown outcome", bits: 0x818b, says: .failure(.lookupFailed)),
        Row(what: "TC: truncated", bits: 0x8380, says: .failure(.truncatedAnswer)),
        Row(what: "a query, not a response", bits: 0x0100, says: .failure(.wrongAnswer)),
        Row(what: "another opcode", bits: 0x9180, says: .failure(.wrongAnswer)),
        Row(
            what: "another name in the question",
            question: DNSQuestion(name("evil.example"), .a),
            says: .failure(.wrongAnswer)
        ),
        Row(
            what: "another type in the question",
            question: DNSQuestion(name("www.example.com"), .aaaa),
            says: .failure(.wrongAnswer)
        ),
    ]

    @Test("a DNS response is read by the rules for stub resolvers", arguments: rows)
    func reads(_ row: Row) throws {
        let message = DNSMessage(
            flags: DNSMessage.Flags(bits: row.bits),
            questions: [row.question],
            answers: row.answers,
            authorities: row.authorities
        )
        let octets = try #require(message.encoded())
        let read = try DNSMessage(octets: octets)
        let asked = DNSQuestion(name("www.example.com"), .a)
        switch row.says {
        case .success(let records):
            #expect(try read.records(answering: asked) == records)
        case .failure(let code):
            let error = #expect(throws: UpstreamError.self) { try read.records(answering: asked) }
            #expect(error?.code == code)
        }
    }

    @Test("a response without its question is refused")
    func questionIsMissing() {
        let message = DNSMessage(
            flags: DNSMessage.Flags(bits: 0x8180),
            questions: [],
            answers: [Self.a("www.example.com", "192.0.2.1", ttl: 5)]
        )
        #expect(throws: UpstreamError.self) {
            try message.records(answering: DNSQuestion(name("www.example.com"), .a))
        }
    }
}
