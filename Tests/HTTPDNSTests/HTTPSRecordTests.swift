// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("HTTPS and SVCB records")
struct HTTPSRecordTests {
    /// The test vectors of RFC 9460 appendix D.1 and D.2: the text form, and the content in hexadecimal.
    static let vectors: [(text: String, hex: String)] = [
        ("0 foo.example.com.", "000003666f6f076578616d706c6503636f6d00"),
        ("1 .", "000100"),
        ("16 foo.example.com. port=53", "001003666f6f076578616d706c6503636f6d00000300020035"),
        ("1 foo.example.com. key667=hello", "000103666f6f076578616d706c6503636f6d00029b000568656c6c6f"),
        (
            #"1 foo.example.com. key667="hello\210qoo""#,
            "000103666f6f076578616d706c6503636f6d00029b000968656c6c6fd2716f6f"
        ),
        (
            #"1 foo.example.com. ipv6hint="2001:db8::1,2001:db8::53:1""#,
            "000103666f6f076578616d706c6503636f6d0000060020"
                + "20010db800000000000000000000000120010db8000000000000000000530001"
        ),
        (
            #"1 example.com. ipv6hint="2001:db8:122:344::192.0.2.33""#,
            "0001076578616d706c6503636f6d000006001020010db80122034400000000c0000221"
        ),
        (
            "16 foo.example.org. alpn=h2,h3-19 mandatory=ipv4hint,alpn ipv4hint=192.0.2.1",
            "001003666f6f076578616d706c65036f7267000000000400010004000100090268320568332d313900040004c0000201"
        ),
        (
            #"16 foo.example.org. alpn="f\\\\oo\\,bar,h2""#,
            "001003666f6f076578616d706c65036f7267000001000c08665c6f6f2c626172026832"
        ),
        (
            #"16 foo.example.org. alpn=f\\\092oo\092,bar,h2"#,
            "001003666f6f076578616d706c65036f7267000001000c08665c6f6f2c626172026832"
        ),
    ]

    @Test("the vectors of RFC 9460 appendix D are read from text and octets, and written again", arguments: vectors)
    func vector(_ text: String, _ hex: String) throws {
        let octets = try #require(Hex.decode(hex))
        let record = try #require(HTTPSRecord(text: text))
        #expect(record.octets == octets)
        #expect(HTTPSRecord(octets: octets) == record)
        #expect(HTTPSRecord(text: record.description) == record)
        #expect(HTTPSRecord(text: "\\# \(octets.count) \(hex)") == record)
    }

    @Test("mandatory keys are looked for in one pass, of which a message has room for ten thousand")
    func manyMandatoryKeys() {
        let keys = (100..<UInt16(10_900)).map(ServiceParameters.Key.init(rawValue:))
        let mandatory = keys.flatMap { [UInt8($0.rawValue >> 8), UInt8($0.rawValue & 0xff)] }
        let parameters =
            [ServiceParameters.Parameter(key: .mandatory, value: mandatory)]
            + keys.map { ServiceParameters.Parameter(key: $0, value: []) }
        #expect(ServiceParameters(parameters)?.mandatory.count == keys.count)
        #expect(ServiceParameters(parameters.dropLast()) == nil)
        #expect(ServiceParameters([parameters[0]] + parameters.dropFirst(2)) == nil)
    }

    @Test(
        "the failure cases of appendix D.3 are refused",
        arguments: [
            "key123=abc key123=def", "mandatory", "alpn", "port", "ipv4hint", "ipv6hint", "no-default-alpn=abc",
            "mandatory=key123", "mandatory=mandatory", "mandatory=key123,key123 key123=abc", "no-default-alpn",
        ]
    )
    func failures(_ words: String) {
        #expect(HTTPSRecord(text: "1 foo.example.com. \(words)") == nil)
    }

    @Test(
        "malformed parameters are refused",
        arguments: [
            ("keys in descending order", "0001000003000200350001000302683200"),
            ("a key twice", "000100000300020035000300020035"),
            ("a value beyond the end", "00010000030003" + "0035"),
            ("a port of three octets", "000100000300030000" + "35"),
            ("no address in a hint", "00010000040000"),
            ("five octets of IPv4 addresses", "00010000040005c000020101"),
            ("an empty protocol", "0001000001000100"),
            ("a protocol beyond the end", "000100000100020568"),
            ("half a mandatory key", "000100000000010000"),
            ("an absent mandatory key", "00010000000002" + "0003"),
            ("no-default-alpn with a value", "000100000100030268320002000100"),
            ("the reserved key", "0001" + "00" + "ffff0000"),
            ("a compressed target", "0001c00c"),
            ("no target", "0001"),
        ]
    )
    func malformed(_ reason: String, _ hex: String) throws {
        #expect(HTTPSRecord(octets: try #require(Hex.decode(hex))) == nil, "\(reason)")
    }

    @Test("one malformed record makes the whole set absent")
    func wholeSet() throws {
        let name = try #require(DNSName("www.example.com"))
        let good = DNSRecord(name, ttl: 60, .other(.https, [0, 1, 0]))
        let bad = DNSRecord(name, ttl: 60, .other(.https, [0, 1]))
        let question = DNSQuestion(name, .https)
        var message = DNSServer.reply(to: DNSMessage(questions: [question]), [good])
        #expect(try message.services(answering: question).records.count == 1)
        message.answers.append(bad)
        let reply = try message.services(answering: question)
        #expect(reply.records.isEmpty && reply.ttl == .seconds(60))
    }

    @Test("malformed parameters of an alias are ignored (RFC 9460 §2.4.2)")
    func parametersOfAlias() throws {
        // 0 cdn.example. no-default-alpn
        let octets = try #require(Hex.decode("0000" + "0363646e076578616d706c6500" + "00020000"))
        #expect(HTTPSRecord(octets: octets) == HTTPSRecord(text: "0 cdn.example."))
    }

    @Test("records with h3 only, and with a mandatory key that is not understood, are passed over")
    func passedOver() throws {
        let isUsable = { (text: String) in HTTPSRecord(text: text).flatMap { ServiceRoute($0, target: nil) } != nil }
        #expect(isUsable("1 . alpn=h3,h2") && isUsable("1 .") && isUsable("1 . alpn=h3"))
        #expect(!isUsable("1 . alpn=h3 no-default-alpn") && !isUsable("1 . mandatory=key9 key9=x"))
        #expect(isUsable("1 . key9=x") && isUsable("1 . mandatory=port port=8443"))
        let record = try #require(HTTPSRecord(text: "1 . alpn=h3,h2"))
        #expect(ServiceRoute(record, target: nil)?.protocols == ["h2", "http/1.1"])
    }

    @Test("hints are checked as addresses are")
    func hints() throws {
        let record = try #require(HTTPSRecord(text: "1 . ipv4hint=127.0.0.1"))
        var check = AnswerCheck()
        #expect(throws: UpstreamError.self) { try check.check([record]) }
        check.allowsLocalAnswers = true
        try check.check([record])
    }

    @Test("of many hints, 16 of each family are kept")
    func manyHints() throws {
        let hints = (1...100).map { "192.0.2.\($0)" }.joined(separator: ",")
        let record = try #require(HTTPSRecord(text: "1 . ipv4hint=\(hints)"))
        #expect(ServiceRoute(record, target: nil)?.hints.count == ServiceRoute.maxHints)
    }

    @Test("text longer than a record can be is refused, and the longest is read at once")
    func longText() {
        let text = String(repeating: "a", count: MasterText.maxOctets)
        #expect(MasterText.words(of: text)?.first?.count == MasterText.maxOctets)
        #expect(MasterText.words(of: text + "a") == nil)
        #expect(MasterText.words(of: #"a "" b\099"#)?.map { String(decoding: $0, as: UTF8.self) } == ["a", "", "bc"])
    }

    @Test("mutated records are refused, or written as they were read")
    func mutated() throws {
        var fuzz = Fuzz(seed: 9_460)
        let seeds = Self.vectors.compactMap { Hex.decode($0.hex) }
        var read = 0
        var reread = 0
        for _ in 0..<Fuzz.rounds {
            let octets = fuzz.mutate(seeds)
            guard let record = HTTPSRecord(octets: octets) else { continue }
            read += 1
            #expect(record.octets == octets || record.isAlias)
            _ = ServiceRoute(record, target: nil)
            // Names with escapes are not read from text.
            guard let again = HTTPSRecord(text: record.description), again.targetName == record.targetName else {
                continue
            }
            #expect(again == record)
            reread += 1
        }
        #expect(read > 100 && reread > 50)
    }
}
