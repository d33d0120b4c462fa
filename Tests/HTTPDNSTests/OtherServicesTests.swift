// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Names
import Testing

@testable import HTTPDNS

@Suite("Baidu, Volcengine and DNS in JSON")
struct OtherServicesTests {
    static let www = host("www.example.com")

    // MARK: Baidu

    static func baidu(_ transport: ScriptedTransport) -> BaiduUpstream {
        BaiduUpstream(
            account: "107080",
            secret: "1234567890",
            at: [],
            isSecure: true,
            transport: transport,
            clock: SigningClock { 1_513_602_434 }
        )
    }

    static let baiduAnswer = #"""
        {"msg":"ok","data":{"www.example.com":{"ipv4":{"ip":["192.0.2.1"],"ttl":300},
         "ipv6":{"ip":["2001:db8::1"],"ttl":200}}},"clientip":"203.0.113.9","timestamp":1513602734}
        """#

    @Test("Baidu: the question is signed, and the answer is read")
    func baidu() async throws {
        let transport = ScriptedTransport(.text(Self.baiduAnswer))
        let answer = try await Self.baidu(transport).answer(Question(Self.www))
        #expect(
            answer
                == Answer(
                    v4: .addresses(addresses("192.0.2.1"), ttl: .seconds(300)),
                    v6: .addresses(addresses("2001:db8::1"), ttl: .seconds(200)),
                    clientAddress: address("203.0.113.9")
                )
        )
        let signature = Digests.signature("www.example.com", secret: "1234567890", time: 1_513_602_734)
        let request = try #require(transport.requests.first)
        #expect(
            request.target
                == "/v4/resolve?account_id=107080&dn=www.example.com&t=1513602734&sign=\(signature)&type=dual_stack"
        )
        #expect(request.origin.description == "https://180.76.76.200")
    }

    @Test(
        "Baidu: invalid replies are refused",
        arguments: [
            (#"{"msg":"sign expired"}"#, UpstreamError.Code.accountRefused),
            (#"{"msg":"no domain"}"#, .questionRefused),
            (#"{"msg":"ok"}"#, .malformedAnswer), ("", .malformedAnswer),
            (#"{"msg":"ok","data":{"evil.example":{"ipv4":{"ip":["192.0.2.1"]}}}}"#, .wrongAnswer),
            (#"{"msg":"ok","data":{"www.example.com":{"ipv4":{"ip":["x"]}}}}"#, .malformedAnswer),
            (#"{"msg":"ok","data":{}}"#, .wrongAnswer),
        ]
    )
    func baiduErrors(_ body: String, _ code: UpstreamError.Code) async {
        let error = await #expect(throws: UpstreamError.self) {
            try await Self.baidu(ScriptedTransport(.text(body))).answer(Question(Self.www))
        }
        #expect(error?.code == code)
    }

    // MARK: Volcengine

    static func volcengine(_ transport: ScriptedTransport) throws -> VolcengineUpstream {
        let clock = SigningClock { 1_566_804_787 }
        let endpoint = Endpoint(address("192.0.2.1"), port: 443)
        return try VolcengineUpstream(
            account: "1023",
            secret: "QlgAuFMwNUwN",
            host: host("dns.test"),
            at: [endpoint],
            isSecure: true,
            transport: transport,
            clock: clock
        )
    }

    @Test("Volcengine: each question asks for one family and expires after milliseconds")
    func volcengine() async throws {
        let transport = ScriptedTransport(
            .text(#"{"dns":[{"domain":"www.example.com","ips":["192.0.2.1"],"ttl":60}]}"#)
        )
        let answer = try await Self.volcengine(transport).answer(Question(Self.www, families: .v4))
        #expect(answer == v4("192.0.2.1"))
        let request = try #require(transport.requests.first)
        let signature = VolcengineUpstream.signature([
            "QlgAuFMwNUwN", "1566808387000", "1023", "www.example.com", "", "",
        ])
        #expect(
            request.target
                == "/resolve?domain=www.example.com&account_id=1023&sign=\(signature)&timestamp=1566808387000"
        )
        #expect(request.origin.description == "https://dns.test")
        #expect(throws: UpstreamError.self) {
            try VolcengineUpstream(account: "1", secret: "", at: [], transport: transport)
        }
    }

    @Test(
        "Volcengine: each shape of answer is read or refused as its row says",
        arguments: [
            (#"[{"host":"www.example.com","ips":["192.0.2.1","2001:db8::1"],"ttl":60}]"#, Optional(v4("192.0.2.1").v4)),
            (#"{"data":[{"dn":"www.example.com","ip":"192.0.2.1","ttl":"60"}]}"#, v4("192.0.2.1").v4),
            (#"{"dns":[]}"#, .absent(.noRecord, ttl: nil)), (#"{"dns":[{"domain":"evil.example","ips":[]}]}"#, nil),
            (#"{"dns":[{"domain":"www.example.com","ips":["x"]}]}"#, nil), ("{}", nil), ("", nil),
        ]
    )
    func volcengineAnswers(_ body: String, _ records: Answer.Records??) throws {
        let json = JSONValue(Array(body.utf8))
        if let records = records ?? nil {
            #expect(try VolcengineUpstream.read(json, host: Self.www, family: .v4) == records)
        } else {
            #expect(throws: UpstreamError.self) { try VolcengineUpstream.read(json, host: Self.www, family: .v4) }
        }
    }

    // MARK: DNS in JSON

    static func json(
        _ transport: ScriptedTransport,
        _ url: String = "https://dns.google/resolve"
    ) throws -> JSONUpstream {
        try JSONUpstream(try HTTPURL(url), at: addresses("192.0.2.53"), transport: transport)
    }

    static let google = #"""
        {"Status":0,"TC":false,"RD":true,"RA":true,"AD":true,"CD":false,
         "Question":[{"name":"www.example.com.","type":1}],
         "Answer":[{"name":"www.example.com.","type":5,"TTL":60,"data":"a.example.net."},
                   {"name":"a.example.net.","type":1,"TTL":30,"data":"192.0.2.1"}],
         "Comment":"Response from 192.0.2.99."}
        """#

    @Test("JSON: the question is sent, and aliases in the answer are followed")
    func json() async throws {
        let transport = ScriptedTransport(.text(Self.google))
        var question = Question(Self.www, families: .v4)
        question.subnet = IPNetwork("203.0.113.0/24")
        #expect(try await Self.json(transport).answer(question) == v4("192.0.2.1", ttl: 30))
        let request = try #require(transport.requests.first)
        #expect(request.target == "/resolve?name=www.example.com&type=A&edns_client_subnet=203.0.113.0%2F24")
        #expect(request.fields[.accept] == "application/dns-json")
    }

    @Test(
        "JSON: HTTPS records are read as text and as octets; one that is malformed makes the set absent",
        arguments: [
            ("1 . alpn=\\\"h2,h3\\\" port=8443", 1), ("\\\\# 9 0001000003000220fb", 1), ("1 . port=x", 0),
        ]
    )
    func jsonServices(_ data: String, _ count: Int) async throws {
        let body =
            #"{"Status":0,"Question":[{"name":"www.example.com.","type":65}],"Answer":["#
            + #"{"name":"www.example.com.","type":65,"TTL":60,"data":""# + data + #""}]}"#
        let transport = ScriptedTransport(.text(body))
        let name = try #require(DNSName("www.example.com"))
        let reply = try await Self.json(transport).services(ServiceQuestion(name))
        #expect(reply.records.count == count && reply.ttl == .seconds(60))
        #expect(reply.records.allSatisfy { $0.port == 8_443 })
        #expect(transport.requests.first?.target == "/resolve?name=www.example.com&type=65")
    }

    @Test("JSON: a denial lasts for the lower of the SOA's TTL and its last number")
    func jsonNegative() async throws {
        let body = #"""
            {"Status":3,"Question":[{"name":"www.example.com.","type":1}],
             "Authority":[{"name":"example.com.","type":6,"TTL":900,"data":"ns. mail. 1 7200 900 1209600 300"}]}
            """#
        let answer = try await Self.json(ScriptedTransport(.text(body))).answer(Question(Self.www, families: .v4))
        #expect(answer.v4 == .absent(.noName, ttl: .seconds(300)))
    }

    @Test("JSON: an alias is followed to a name that is written with escapes")
    func jsonEscapes() async throws {
        let body = #"""
            {"Status":0,"Question":[{"name":"www.example.com.","type":1}],
             "Answer":[{"name":"www.example.com.","type":5,"TTL":60,"data":"a\\$b\\.c.example.net."},
                       {"name":"a$b\\.c.example.net.","type":1,"TTL":30,"data":"192.0.2.1"}]}
            """#
        let answer = try await Self.json(ScriptedTransport(.text(body))).answer(Question(Self.www, families: .v4))
        #expect(answer == v4("192.0.2.1", ttl: 30))
    }

    @Test("JSON: a question in the form of Alibaba's public service, an object, is accepted")
    func jsonObject() async throws {
        let body = #"""
            {"Status":0,"Question":{"name":"www.example.com.","type":28},
             "Answer":[{"name":"www.example.com.","type":28,"TTL":60,"data":"2001:db8::1"}]}
            """#
        let answer = try await Self.json(ScriptedTransport(.text(body))).answer(Question(Self.www, families: .v6))
        #expect(answer.v6 == .addresses(addresses("2001:db8::1"), ttl: .seconds(60)))
    }

    @Test(
        "JSON: invalid replies are refused",
        arguments: [
            ("", UpstreamError.Code.malformedAnswer), ("{}", .malformedAnswer), (#"{"Status":2}"#, .lookupFailed),
            (#"{"Status":0,"Question":[{"name":"evil.example.","type":1}]}"#, .wrongAnswer),
            (#"{"Status":0,"TC":true,"Question":[{"name":"www.example.com","type":1}]}"#, .truncatedAnswer),
            (#"{"Status":0,"Answer":[{"name":"www.example.com.","type":1,"TTL":1,"data":"x"}]}"#, .malformedAnswer),
        ]
    )
    func jsonErrors(_ body: String, _ code: UpstreamError.Code) async {
        let error = await #expect(throws: UpstreamError.self) {
            try await Self.json(ScriptedTransport(.text(body))).answer(Question(Self.www, families: .v4))
        }
        #expect(error?.code == code)
    }

    @Test("JSON: an upstream needs TLS and a known address")
    func jsonMisconfigured() throws {
        let transport = ScriptedTransport()
        #expect(throws: UpstreamError.self) { try Self.json(transport, "http://192.0.2.1/resolve") }
        #expect(throws: UpstreamError.self) {
            try JSONUpstream(try HTTPURL("https://dns.google/resolve"), transport: transport)
        }
    }

    @Test("no answer makes a reader trap")
    func fuzz() {
        var fuzz = Fuzz(seed: 76)
        let seeds = [
            Self.google, Self.baiduAnswer, #"{"dns":[{"domain":"www.example.com","ips":["192.0.2.1"],"ttl":60}]}"#,
        ]
        .map { Array($0.utf8) }
        for _ in 0..<Fuzz.rounds / 2 {
            let octets = fuzz.mutate(seeds)
            let reply = UpstreamReply(status: 200, body: octets)
            _ = try? BaiduUpstream.read(reply, hosts: [Self.www], families: .both, isAuthenticated: true)
            guard let json = JSONValue(octets) else { continue }
            _ = try? VolcengineUpstream.read(json, host: Self.www, family: .v4)
            // A message with several questions can be written but not read.
            if let message = try? DNSMessage(json), message.questions.count == 1, let encoded = message.encoded() {
                #expect((try? DNSMessage(octets: encoded)) != nil)
            }
        }
    }
}
