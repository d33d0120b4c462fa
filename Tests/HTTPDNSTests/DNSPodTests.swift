// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("DNSPod, plain")
struct DNSPodTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var what: String
        var text: String
        var families = Families.v4
        var named = false
        var says: [DNSPodAnswer]?
        var testDescription: String { what }
    }

    static func line(_ answer: Answer) -> DNSPodAnswer { line(nil, answer) }

    static func line(_ name: String?, _ answer: Answer) -> DNSPodAnswer {
        DNSPodAnswer(name: name, answer: answer)
    }

    static func seen(_ answer: Answer, _ client: String) -> Answer {
        var answer = answer
        answer.clientAddress = address(client)
        return answer
    }

    static let rows: [Row] = [
        Row(what: "without TTL", text: "192.0.2.1;192.0.2.2", says: [line(v4("192.0.2.1 192.0.2.2", ttl: nil))]),
        Row(what: "with TTL", text: "192.0.2.1;192.0.2.2,60", says: [line(v4("192.0.2.1 192.0.2.2"))]),
        Row(
            what: "with TTL and the client's address",
            text: "192.0.2.1;192.0.2.2,303|203.0.113.9",
            says: [line(seen(v4("192.0.2.1 192.0.2.2", ttl: 303), "203.0.113.9"))]
        ),
        Row(
            what: "both families, name and client",
            text: "www.qq.com.:192.0.2.1,120-2001:db8::1;2001:db8::2,120|203.0.113.9",
            families: .both,
            says: [
                line(
                    "www.qq.com",
                    seen(.both("192.0.2.1", "2001:db8::1 2001:db8::2", ttl: 120), "203.0.113.9")
                )
            ]
        ),
        Row(
            what: "two names",
            text: "a.example.:192.0.2.1,60\nb.example.:192.0.2.2,30\n",
            named: true,
            says: [line("a.example", v4("192.0.2.1")), line("b.example", v4("192.0.2.2", ttl: 30))]
        ),
        Row(
            what: "a name without its dot",
            text: "a.example:2001:db8::1,60",
            families: .v6,
            named: true,
            says: [line("a.example", Answer(v6: .addresses(addresses("2001:db8::1"), ttl: .seconds(60))))]
        ),
        Row(
            what: "IPv6 without a name has colons too",
            text: "2001:db8::1;2001:db8::2,60",
            families: .v6,
            says: [line(Answer(v6: .addresses(addresses("2001:db8::1 2001:db8::2"), ttl: .seconds(60))))]
        ),
        Row(what: "nothing", text: "", says: [line(Answer(v4: .absent(.noRecord, ttl: nil)))]),
        Row(what: "zero", text: "0", says: [line(Answer(v4: .absent(.noRecord, ttl: nil)))]),
        Row(
            what: "IPv4 alone of both",
            text: "192.0.2.1,60-0",
            families: .both,
            says: [
                line(
                    Answer(v4: .addresses(addresses("192.0.2.1"), ttl: .seconds(60)), v6: .absent(.noRecord, ttl: nil))
                )
            ]
        ),
        Row(
            what: "IPv6 alone of both",
            text: "0-2001:db8::1,60",
            families: .both,
            says: [
                line(
                    Answer(
                        v4: .absent(.noRecord, ttl: nil),
                        v6: .addresses(addresses("2001:db8::1"), ttl: .seconds(60))
                    )
                )
            ]
        ),
        Row(
            what: "an entry that does not know both",
            text: "192.0.2.1,60",
            families: .both,
            says: [line(v4("192.0.2.1"))]
        ),
        Row(what: "a semicolon at the end", text: "192.0.2.1;,60", says: [line(v4("192.0.2.1"))]),
        Row(what: "a page", text: "<html>welcome</html>"),
        Row(what: "half an address", text: "192.0.2"),
        Row(what: "one bad address among good ones", text: "192.0.2.1;999.0.2.1,60"),
        Row(what: "a TTL that is none", text: "192.0.2.1,soon"),
        Row(what: "a negative TTL", text: "192.0.2.1,-1"),
        Row(what: "a TTL of 33 bits", text: "192.0.2.1,4294967296"),
        Row(what: "the other family", text: "192.0.2.1,60", families: .v6),
    ]

    @Test("answers", arguments: rows)
    func parses(_ row: Row) throws {
        if let says = row.says {
            #expect(try DNSPodAnswer.parse(row.text, families: row.families, named: row.named) == says)
        } else {
            let error = #expect(throws: UpstreamError.self) {
                try DNSPodAnswer.parse(row.text, families: row.families, named: row.named)
            }
            #expect(error?.code == .malformedAnswer)
        }
    }

    @Test("any text is read without a trap")
    func fuzz() {
        var fuzz = Fuzz(seed: 119)
        let seeds = Self.rows.map { Array($0.text.utf8) }
        for _ in 0..<Fuzz.rounds / 2 {
            let text = String(decoding: fuzz.mutate(seeds), as: UTF8.self)
            for families in [Families.v4, .v6, .both] {
                for answer in (try? DNSPodAnswer.parse(text, families: families, named: true)) ?? [] {
                    #expect(answer.answer.v4?.addresses.allSatisfy { $0.family == .v4 } ?? true)
                    #expect(answer.answer.v6?.addresses.allSatisfy { $0.family == .v6 } ?? true)
                }
            }
        }
    }

    @Test(
        "the request",
        arguments: [
            (Families.v4, "192.0.2.1,60", "/d?dn=www.example.com&ttl=1"),
            (.v6, "2001:db8::1,60", "/d?dn=www.example.com&ttl=1&type=aaaa"),
            (.both, "192.0.2.1,60-0", "/d?dn=www.example.com&ttl=1&type=addrs"),
        ]
    )
    func request(_ families: Families, _ reply: String, _ target: String) async throws {
        let transport = ScriptedTransport(.text(reply))
        _ = try await DNSPodUpstream(transport: transport).answer(Question(host("www.example.com"), families: families))
        let request = try #require(transport.requests.first)
        #expect(request.target == target)
        #expect(request.origin.description == "http://119.29.29.29")
        #expect(request.endpoints.map(\.description) == ["119.29.29.29:80"])
    }

    @Test(
        "replies that are no answer",
        arguments: [
            (ScriptedTransport.Reply.text("", status: 500), UpstreamError.Code.serverFailure),
            (.text("", status: 403), .accountRefused), (.text("", status: 429), .rateLimited),
            (.text("", status: 302), .serverFailure), (.octets([0xff, 0xfe]), .malformedAnswer),
            (.text("evil.example.:192.0.2.1,60"), .wrongAnswer), (.text("a.:1.2.3.4\nb.:1.2.3.4"), .wrongAnswer),
        ]
    )
    func noAnswer(_ reply: ScriptedTransport.Reply, _ code: UpstreamError.Code) async {
        let upstream = DNSPodUpstream(transport: ScriptedTransport(reply))
        let error = await #expect(throws: UpstreamError.self) {
            try await upstream.answer(Question(host("www.example.com"), families: .v4))
        }
        #expect(error?.code == code)
    }
}
