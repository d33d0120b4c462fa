// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("DNSPod")
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
        Row(what: "blanks and a line end around the text", text: " 192.0.2.1,60 \r\n", says: [line(v4("192.0.2.1"))]),
        Row(
            what: "lines that end in CR and LF",
            text: "192.0.2.1,60\r\n192.0.2.2,60\r\n",
            says: [line(v4("192.0.2.1")), line(v4("192.0.2.2"))]
        ),
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
            what: "an IPv6 address without a name has colons too",
            text: "2001:db8::1;2001:db8::2,60",
            families: .v6,
            says: [line(Answer(v6: .addresses(addresses("2001:db8::1 2001:db8::2"), ttl: .seconds(60))))]
        ),
        Row(what: "nothing", text: "", says: [line(Answer(v4: .absent(.noRecord, ttl: nil)))]),
        Row(what: "zero", text: "0", says: [line(Answer(v4: .absent(.noRecord, ttl: nil)))]),
        Row(
            what: "an empty list gives no answer",
            text: "-2001:db8::1,60",
            families: .both,
            says: [line(Answer(v6: .addresses(addresses("2001:db8::1"), ttl: .seconds(60))))]
        ),
        Row(
            what: "IPv4 only, of both families",
            text: "192.0.2.1,60-0",
            families: .both,
            says: [
                line(
                    Answer(v4: .addresses(addresses("192.0.2.1"), ttl: .seconds(60)), v6: .absent(.noRecord, ttl: nil))
                )
            ]
        ),
        Row(
            what: "IPv6 only, of both families",
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
            what: "an entry with one family, though both were asked",
            text: "192.0.2.1,60",
            families: .both,
            says: [line(v4("192.0.2.1"))]
        ),
        Row(what: "a semicolon at the end", text: "192.0.2.1;,60", says: [line(v4("192.0.2.1"))]),
        Row(what: "a page", text: "<html>welcome</html>"),
        Row(what: "half an address", text: "192.0.2"),
        Row(what: "one bad address among good ones", text: "192.0.2.1;999.0.2.1,60"),
        Row(what: "a TTL that is not a number", text: "192.0.2.1,soon"),
        Row(what: "a negative TTL", text: "192.0.2.1,-1"),
        Row(what: "a TTL of 33 bits", text: "192.0.2.1,4294967296"),
        Row(what: "the other family", text: "192.0.2.1,60", families: .v6),
    ]

    @Test("each form of answer is read or refused as in its row", arguments: rows)
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

    @Test("a negative TTL is quoted, not taken for the mark between two families")
    func signOfTTL() {
        let error = #expect(throws: UpstreamError.self) {
            try DNSPodAnswer.parse("192.0.2.1,-5", families: .both)
        }
        #expect(error?.message.hasPrefix("\"-5\" is neither") == true)
    }

    @Test("no text makes the reader trap")
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
        "the request asks for the families of the question",
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
        "invalid replies are refused",
        arguments: [
            (ScriptedTransport.Reply.text("", status: 500), UpstreamError.Code.serverFailure),
            (.text("", status: 403), .serverFailure), (.text("", status: 429), .rateLimited),
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

    // MARK: Paid forms

    static let time: Int64 = 1_700_000_000

    static func upstream(
        _ form: DNSPodForm,
        transport: ScriptedTransport,
        change: (inout DNSPodOptions) -> Void = { _ in }
    ) throws -> DNSPodUpstream {
        var options = DNSPodOptions()
        change(&options)
        return DNSPodUpstream(form, options: options, transport: transport, clock: SigningClock { time })
    }

    @Test("an AES answer includes the client's own address")
    func clientAddress() async throws {
        let form = DNSPodForm.aes(id: "7", key: "0123456789abcdef")
        let cipher = try #require(form.cipher)
        let transport = ScriptedTransport(
            .text(Hex.encode(try cipher.seal(Array("192.0.2.1;192.0.2.2,60|203.0.113.9".utf8))))
        )
        let upstream = try Self.upstream(form, transport: transport) {
            $0.validity = .seconds(600)
            $0.wantsClientAddress = true
        }
        let answer = try await upstream.answer(Question(host("www.example.com"), families: .v4))
        #expect(answer == Self.seen(v4("192.0.2.1 192.0.2.2"), "203.0.113.9"))
        let request = try #require(transport.requests.first)
        #expect(request.target.hasSuffix("&id=7&alg=aes&ttl=1&clientip=1"))
        #expect(request.origin.description == "http://119.29.29.98")
    }

    @Test("each AES question has a new initialization vector, and the answer has its own")
    func aes() async throws {
        let form = DNSPodForm.aes(id: "7", key: "0123456789abcdef")
        let cipher = try #require(form.cipher)
        let reply = ScriptedTransport.Reply.text(
            Hex.encode(try cipher.seal(Array("192.0.2.1,60-2001:db8::1,60".utf8)))
        )
        let transport = ScriptedTransport(reply, reply)
        let upstream = try Self.upstream(form, transport: transport)
        for _ in 0..<2 {
            #expect(try await upstream.answer(Question(host("www.example.com"))) == .both("192.0.2.1", "2001:db8::1"))
        }
        let names = transport.requests.map { $0.target.split(separator: "&")[0].dropFirst("/d?dn=".count) }
        #expect(names[0] != names[1])
        let name = Array("www.example.com".utf8)
        #expect(names.map { Hex.decode($0).flatMap(cipher.open) } == [name, name])
        #expect(transport.requests[0].target.hasSuffix("&id=7&alg=aes&ttl=1&type=addrs"))
    }

    @Test("a short AES key is padded with zeros")
    func shortKey() {
        #expect(DNSPodForm.aes(id: "1", key: "ab") == .aes(id: "1", key: "ab00000000000000"))
    }

    @Test("an HTTPS question with a token has the name unencrypted inside TLS")
    func token() async throws {
        let transport = ScriptedTransport(.text("192.0.2.1,60"))
        let upstream = try Self.upstream(.token("123"), transport: transport) { $0.validity = .seconds(600) }
        var question = Question(host("www.example.com"), families: .v4)
        question.subnet = IPNetwork("203.0.113.0/24")
        _ = try await upstream.answer(question)
        let request = try #require(transport.requests.first)
        #expect(request.target == "/d?dn=www.example.com%3B1700000600&token=123&ttl=1&ip=203.0.113.0")
        #expect(request.origin.description == "https://119.29.29.99")
    }

    @Test(
        "an answer that is not encrypted with the account's key is refused",
        arguments: ["192.0.2.1,60", "zz", "00", "0102030405060708", "<html>"]
    )
    func notOurs(_ text: String) async throws {
        let transport = ScriptedTransport(.text(text))
        let error = await #expect(throws: UpstreamError.self) {
            try await Self.upstream(.aes(id: "7", key: "0123456789abcdef"), transport: transport)
                .answer(Question(host("www.example.com"), families: .v4))
        }
        #expect(error?.code == .malformedAnswer)
    }

    @Test("one question asks for several names")
    func batch() async throws {
        let transport = ScriptedTransport(.text("a.example.:192.0.2.1,60\nb.example.:0\n"))
        let hosts = [host("a.example"), host("b.example")]
        let answers = try await DNSPodUpstream(transport: transport).answers(hosts, families: .v4)
        #expect(answers == [hosts[0]: v4("192.0.2.1"), hosts[1]: Answer(v4: .absent(.noRecord, ttl: nil))])
        #expect(transport.requests.first?.target == "/d?dn=a.example%2Cb.example&ttl=1")
    }

    @Test("an answer for a name that was not asked invalidates the whole batch")
    func batchForOthers() async {
        let transport = ScriptedTransport(.text("a.example.:192.0.2.1,60\nevil.example.:192.0.2.66,60\n"))
        let error = await #expect(throws: UpstreamError.self) {
            try await DNSPodUpstream(transport: transport)
                .answers([host("a.example"), host("b.example")], families: .v4)
        }
        #expect(error?.code == .wrongAnswer)
    }

    @Test(
        "a list of entries is read with its lifetime",
        arguments: [
            ("log:1|domain:0|ip:192.0.2.1;192.0.2.2|ttl:60", "192.0.2.1 192.0.2.2", 3_600),
            ("ip:192.0.2.1", "192.0.2.1", 3_600),
            ("ip:192.0.2.1|ttl:1440", "192.0.2.1", 86_400), ("ip:192.0.2.1|ttl:1441", "192.0.2.1", 3_600),
            ("ip:192.0.2.1|ttl:0", "192.0.2.1", 3_600),
        ]
    )
    func entries(_ text: String, _ list: String, _ seconds: Int) throws {
        let entries = try DNSPodEntries(text)
        #expect(entries.addresses == addresses(list))
        #expect(entries.lifetime == .seconds(seconds))
    }

    @Test("invalid entry lists are refused", arguments: ["", "ip:", "ip:x", "ip:2001:db8::1", "ttl:60", "<html>"])
    func noEntries(_ text: String) {
        #expect(throws: UpstreamError.self) { try DNSPodEntries(text) }
    }

    @Test("downloaded entries are used for later questions, and a failed download keeps them")
    func reschedule() async throws {
        let boot = Endpoint(address("192.0.2.200"), port: 80)
        let transport = ScriptedTransport(
            .text("ip:192.0.2.7|ttl:10"),
            .text("192.0.2.1,60"),
            .text("", status: 500),
            .text("192.0.2.1,60")
        )
        let upstream = try Self.upstream(.plain, transport: transport) { $0.scheduleEndpoints = [boot] }
        #expect(await upstream.reschedule() == .seconds(600))
        _ = try await upstream.answer(Question(host("www.example.com"), families: .v4))
        #expect(await upstream.reschedule() == .seconds(300))
        _ = try await upstream.answer(Question(host("www.example.com"), families: .v4))
        #expect(
            transport.requests.map { $0.endpoints[0].address.description } == [
                "192.0.2.200", "192.0.2.7", "192.0.2.200", "192.0.2.7",
            ]
        )
    }

    @Test("a service that sends its addresses too slowly does not stop the next request for them")
    func slowSchedule() async throws {
        let failure = ScriptedTransport.Reply.failure(UpstreamError(.timeLimit, "slow"))
        let transport = ScriptedTransport(failure, failure, failure)
        let dnspod = try Self.upstream(.plain, transport: transport) {
            $0.scheduleEndpoints = [Endpoint(address("192.0.2.200"), port: 80)]
        }
        let service = AliyunService(at: addresses("192.0.2.101 192.0.2.102"), isSecure: false)
        let aliyun = AliyunUpstream(account: "1", service: service, transport: transport)
        for upstream in [dnspod, aliyun] as [any ScheduledUpstream] { _ = await upstream.reschedule() }
        #expect(transport.requests.map(\.timeLimit) == [.seconds(10), .milliseconds(1_200), .seconds(10)])
    }
}
