// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("DNS messages")
struct DNSMessageTests {
    /// `example.com A` with ID 0, as in RFC 8484.
    static let query: [UInt8] =
        [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0] + [7] + "example".utf8 + [3] + "com".utf8 + [0, 0, 1, 0, 1]

    static let example = DNSMessage(
        id: 7,
        flags: DNSMessage.Flags(bits: 0x8180),
        questions: [DNSQuestion(name("www.example.com"), .a)],
        answers: [
            DNSRecord(name("www.example.com"), ttl: 300, .alias(name("edge.example.net"))),
            DNSRecord(name("edge.example.net"), ttl: 20, .address(address("192.0.2.1"))),
            DNSRecord(name("edge.example.net"), ttl: 20, .address(address("2001:db8::1"))),
        ],
        authorities: [
            DNSRecord(
                name("example.net"),
                ttl: 900,
                .authority(
                    DNSRecord.StartOfAuthority(
                        primary: name("ns.example.net"),
                        mailbox: name("host\\master.example.net"),
                        serial: 1,
                        refresh: 2,
                        retry: 3,
                        expire: 4,
                        minimum: 60
                    )
                )
            )
        ],
        additionals: [DNSRecord(.root, ttl: 0, .other(.opt, [0, 12, 0, 2, 0, 0]), recordClass: 1_232)]
    )

    @Test("a query has the octets of the example in RFC 8484")
    func encodesQuery() {
        #expect(DNSMessage.query(DNSQuestion(name("example.com"), .a)) == Self.query)
        #expect(Base64.urlSafe(Self.query) == "AAABAAABAAAAAAAAB2V4YW1wbGUDY29tAAABAAE")
        #expect(DNSMessage(questions: [DNSQuestion(name("example.com"), .a)]).encoded() == Self.query)
    }

    @Test("a written message is read back, with compressed names")
    func roundTrip() throws {
        let octets = try #require(Self.example.encoded())
        #expect(try DNSMessage(octets: octets) == Self.example)
        #expect(octets.count < 190)
    }

    struct Broken: Sendable, CustomTestStringConvertible {
        var what: String
        var octets: [UInt8]
        var error: DNSMessageError
        var testDescription: String { what }
    }

    static let header: [UInt8] = [0, 0, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0]
    /// The header of a failure, which may have no question.
    static let answerHeader: [UInt8] = [0, 0, 0x81, 0x81, 0, 0, 0, 1, 0, 0, 0, 0]

    @Test(
        "malformed messages are refused",
        arguments: [
            Broken(what: "nothing", octets: [], error: .truncated(offset: 0)),
            Broken(what: "half a header", octets: [0, 0, 1], error: .truncated(offset: 2)),
            Broken(what: "a question missing", octets: header, error: .truncated(offset: 12)),
            Broken(what: "a name without end", octets: header + [3, 97, 98, 99], error: .truncated(offset: 16)),
            Broken(what: "a label that leaves the message", octets: header + [9, 97], error: .truncated(offset: 12)),
            Broken(what: "a pointer into the header", octets: header + [0xc0, 3], error: .badPointer(offset: 12)),
            Broken(what: "a pointer to itself", octets: header + [0xc0, 12], error: .badPointer(offset: 12)),
            Broken(
                what: "a pointer back into its own part",
                octets: header + [1, 97, 0xc0, 12, 0, 1, 0, 1],
                error: .badPointer(offset: 14)
            ),
            Broken(
                what: "a pointer forward",
                octets: header + [0xc0, 20, 0, 1, 0, 1, 0, 0, 0],
                error: .badPointer(offset: 12)
            ),
            Broken(what: "half a pointer", octets: header + [0xc0], error: .truncated(offset: 12)),
            Broken(what: "a label of an unknown kind", octets: header + [0x40, 97], error: .badLabel(offset: 12)),
            Broken(
                what: "a name longer than 255 octets",
                octets: header + (0..<5).flatMap { _ in [63] + [UInt8](repeating: 97, count: 63) } + [0],
                error: .longName(offset: 12)
            ),
            Broken(
                what: "octets after the end",
                octets: query + [0, 0],
                error: .trailingOctets(2)
            ),
            Broken(
                what: "an A record of 5 octets",
                octets: answerHeader + [0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 5, 1, 2, 3, 4, 5],
                error: .badLength(offset: 12)
            ),
            Broken(
                what: "an AAAA record of 4 octets",
                octets: answerHeader + [0, 0, 28, 0, 1, 0, 0, 0, 1, 0, 4, 1, 2, 3, 4],
                error: .badLength(offset: 12)
            ),
            Broken(
                what: "a CNAME that is longer than its announced length",
                octets: answerHeader + [0, 0, 5, 0, 1, 0, 0, 0, 1, 0, 1, 1, 97, 0],
                error: .badLength(offset: 12)
            ),
            Broken(
                what: "content that leaves the message",
                octets: answerHeader + [0, 0, 16, 0, 1, 0, 0, 0, 1, 0, 9, 1],
                error: .truncated(offset: 23)
            ),
            Broken(
                what: "more than 65535 octets",
                octets: [UInt8](repeating: 0, count: 65_536),
                error: .oversized(65_536)
            ),
        ]
    )
    func refusesBroken(_ row: Broken) {
        #expect(throws: row.error) { try DNSMessage(octets: row.octets) }
    }

    @Test("a large count in the header does not reserve memory")
    func countsAreNotBelieved() {
        #expect(throws: DNSMessageError.truncated(offset: 12)) {
            try DNSMessage(octets: [0, 0, 0x81, 0x81, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
        }
    }

    /// A message whose TXT record holds `content`, 28 octets from the start, followed by `count` empty records with
    /// owners.
    private static func hiding(_ content: [UInt8], count: Int, owner: (Int) -> [UInt8]) -> [UInt8] {
        let records = 1 + count
        var octets: [UInt8] = [0, 0, 0x81, 0x80, 0, 1, UInt8(records >> 8), UInt8(records & 0xff), 0, 0, 0, 0]
        octets += [0, 0, 1, 0, 1, 0, 0, 16, 0, 1, 0, 0, 0, 0, UInt8(content.count >> 8), UInt8(content.count & 0xff)]
        octets += content
        for index in 0..<count { octets += owner(index) + [0, 16, 0, 1, 0, 0, 0, 0, 0, 0] }
        return octets
    }

    private static func pointer(_ place: Int) -> [UInt8] { [0xc0 | UInt8(place >> 8), UInt8(place & 0xff)] }

    /// The root name, 28 octets from the start, followed by pointers, each of which points to the one before it.
    private static func chain(_ count: Int) -> [UInt8] {
        var octets: [UInt8] = [0]
        for index in 0..<count { octets += pointer(index == 0 ? 28 : 27 + 2 * index) }
        return octets
    }

    @Test("a name with more pointers than the limit is refused, and a name at the limit is read")
    func pointerChains() throws {
        let chain = Self.chain(7_000)
        let at = { (hops: Int) in Self.pointer(27 + 2 * hops) }
        #expect(try DNSMessage(octets: Self.hiding(chain, count: 1) { _ in at(31) }).answers.count == 2)
        let long = Self.hiding(chain, count: 3_000) { _ in at(7_000) }
        #expect(throws: DNSMessageError.costlyNames(offset: 29 + 14_000)) { try DNSMessage(octets: long) }
    }

    @Test("a message has a limit for the pointers of all its names")
    func pointersOfAMessage() throws {
        let chain = Self.chain(40)
        // Two owners alternate, so that no owner repeats the one before it: 30 and 31 pointers.
        let message = { (count: Int) in Self.hiding(chain, count: count) { Self.pointer(27 + 2 * (29 + $0 % 2)) } }
        #expect(try DNSMessage(octets: message(60)).answers.count == 61)
        #expect(throws: DNSMessageError.self) { try DNSMessage(octets: message(80)) }
    }

    @Test("a message has a limit for the expanded length of its names, and a long valid answer is within it")
    func namesWrittenOut() throws {
        let label = [63] + [UInt8](repeating: 97, count: 63)
        let name = label + label + label + [61] + [UInt8](repeating: 98, count: 61) + [0]
        #expect(name.count == 255)
        let message = { (count: Int) in Self.hiding(name, count: count) { Self.pointer(28 + 64 * ($0 % 2)) } }
        #expect(try DNSMessage(octets: message(200)).answers.last?.name.wire.count == 191)
        #expect(throws: DNSMessageError.self) { try DNSMessage(octets: message(400)) }

        var honest = Self.example
        honest.answers += (0..<3_000).map {
            DNSRecord(HTTPDNSTests.name("edge.example.net"), ttl: 1, .address(IPAddress(v4: $0)))
        }
        #expect(try DNSMessage(octets: try #require(honest.encoded())) == honest)
    }

    @Test("a query with any number of questions but one is refused", arguments: [0, 2, 65_535])
    func questionCount(_ count: Int) throws {
        var octets = Self.query
        (octets[4], octets[5]) = (UInt8(count >> 8), UInt8(count & 0xff))
        #expect(throws: DNSMessageError.questionCount(count, id: 0)) { try DNSMessage(octets: octets) }
        let formatError: [UInt8] = [0, 9, 0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0]
        #expect(try DNSMessage(octets: formatError).flags.responseCode == .formatError)
    }

    @Test("a message holds 512 addresses")
    func manyAnswers() throws {
        var message = Self.example
        message.answers = (0..<512).map { index in
            DNSRecord(name("www.example.com"), ttl: 1, .address(IPAddress(v4: 0x0a00_0000 + UInt32(index))))
        }
        let octets = try #require(message.encoded())
        #expect(try DNSMessage(octets: octets).answers.count == 512)
    }

    @Test("each message that can be read can be written and read again")
    func fuzz() throws {
        var fuzz = Fuzz(seed: 1_035)
        let seeds = [Self.query, try #require(Self.example.encoded()), Self.answerHeader + [0, 0, 1, 0, 1]]
        var read = 0
        for _ in 0..<Fuzz.rounds {
            guard let message = try? DNSMessage(octets: fuzz.mutate(seeds)) else { continue }
            read += 1
            _ = try? message.records(answering: DNSQuestion(name("www.example.com"), .a))
            // Names can grow when their pointers are expanded.
            guard let octets = message.encoded() else { continue }
            #expect(try DNSMessage(octets: octets) == message)
        }
        #expect(read > 100)
    }
}

func name(_ text: String) -> DNSName {
    DNSName(text) ?? .root
}

func address(_ text: String) -> IPAddress {
    IPAddress(text) ?? IPAddress(v4: 0)
}
