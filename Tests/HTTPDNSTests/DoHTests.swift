// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Names
import Testing

@testable import HTTPDNS

@Suite("DNS over HTTPS")
struct DoHTests {
    static func response(_ name: String, _ records: [DNSRecord], bits: UInt16 = 0x8180, id: UInt16 = 0) -> [UInt8] {
        DNSMessage(
            id: id,
            flags: DNSMessage.Flags(bits: bits),
            questions: [DNSQuestion(HTTPDNSTests.name(name), .a)],
            answers: records
        ).encoded() ?? []
    }

    static let good = response("example.com", [DNSAnswerTests.a("example.com", "192.0.2.1", ttl: 60)])

    /// A query for the address of example.com.
    static let query = DNSMessage.query(DNSQuestion(HTTPDNSTests.name("example.com"), .a), edns: EDNS())

    static func upstream(
        _ url: String = "https://dns.example/dns-query",
        at addresses: String = "192.0.2.53",
        method: DoHUpstream.Method = .get,
        isPadded: Bool = false,
        through transport: ScriptedTransport
    ) throws -> DoHUpstream {
        try DoHUpstream(
            try HTTPURL(url),
            at: HTTPDNSTests.addresses(addresses),
            method: method,
            isPadded: isPadded,
            transport: transport
        )
    }

    @Test(
        "a GET carries the query in the URL, with ID 0 and base64url without padding",
        arguments: [
            ("https://dns.example/dns-query", "/dns-query?dns="), ("https://dns.example/q?key=1", "/q?key=1&dns="),
        ]
    )
    func get(_ url: String, _ target: String) async throws {
        let transport = ScriptedTransport(.octets(Self.good))
        let answer = try await Self.upstream(url, through: transport).answer(
            Question(host("example.com"), families: .v4)
        )
        #expect(answer == v4("192.0.2.1"))
        let request = try #require(transport.requests.first)
        #expect(request.method == .get)
        #expect(request.target == target + Base64.urlSafe(Self.query))
        #expect(request.fields[.accept] == "application/dns-message")
        #expect(request.origin.host == host("dns.example"))
        #expect(request.endpoints.map(\.description) == ["192.0.2.53:443"])
        #expect(request.body.isEmpty)
    }

    @Test("a POST carries the query in its body")
    func post() async throws {
        let transport = ScriptedTransport(.octets(Self.good))
        let upstream = try Self.upstream(method: .post, through: transport)
        #expect(try await upstream.answer(Question(host("example.com"), families: .v4)) == v4("192.0.2.1"))
        let request = try #require(transport.requests.first)
        #expect(request.method == .post)
        #expect(request.target == "/dns-query")
        #expect(request.fields[.contentType] == "application/dns-message")
        #expect(request.body == Self.query)
    }

    @Test(
        "a server that refuses EDNS is asked again without it",
        arguments: [DNSResponseCode.formatError, .notImplemented]
    )
    func refusalOfEDNS(code: DNSResponseCode) async throws {
        let refusal = Self.response("example.com", [], bits: 0x8180 | UInt16(code.rawValue))
        let transport = ScriptedTransport(.octets(refusal), .octets(Self.good))
        let upstream = try Self.upstream(method: .post, isPadded: true, through: transport)
        #expect(try await upstream.answer(Question(host("example.com"), families: .v4)) == v4("192.0.2.1"))
        let queries = try transport.requests.map { try DNSMessage(octets: $0.body) }
        #expect(queries.map { $0.additionals.count } == [1, 0])
    }

    @Test("a server that refuses the question without EDNS too is asked twice at most")
    func refusal() async throws {
        let refusal = Self.response("example.com", [], bits: 0x8181)
        let transport = ScriptedTransport(.octets(refusal), .octets(refusal))
        let upstream = try Self.upstream(isPadded: true, through: transport)
        let error = await #expect(throws: UpstreamError.self) {
            _ = try await upstream.answer(Question(host("example.com"), families: .v4))
        }
        #expect(error?.code == .questionRefused)
    }

    @Test("an error of a SPEC does not show the user and the password of its URL", arguments: ["doh", "json"])
    func secretInSpec(kind: String) {
        for spec in ["\(kind):https://me:s3cret@dns.example:x/q", "\(kind):https://me:s3c/ret@dns.example/q"] {
            let error = #expect(throws: UpstreamError.self) { try UpstreamSpec(parsing: spec) }
            #expect(error?.message.contains("s3c") == false, "\(error?.message ?? "")")
        }
    }

    @Test("padded queries all have one length (RFC 8467)")
    func padding() async throws {
        for name in ["a.example", "a-much-longer-name.sub-domain.example.com"] {
            let reply = UpstreamReply(
                status: 200,
                body: Self.response(name, [DNSAnswerTests.a(name, "192.0.2.1", ttl: 60)])
            )
            let transport = ScriptedTransport(.success(reply))
            let upstream = try Self.upstream(method: .post, isPadded: true, through: transport)
            _ = try await upstream.answer(Question(host(name), families: .v4))
            let query = try #require(transport.requests.first?.body)
            #expect(query.count == 128)
            let message = try DNSMessage(octets: query)
            #expect(message.questions == [DNSQuestion(HTTPDNSTests.name(name), .a)])
            #expect(message.additionals.map(\.type) == [.opt])
        }
    }

    @Test(
        "the client's subnet is sent as an EDNS option (RFC 7871 §6)",
        arguments: [
            ("203.0.113.0/24", [0, 8, 0, 7, 0, 1, 24, 0, 203, 0, 113] as [UInt8]),
            ("203.0.112.0/20", [0, 8, 0, 7, 0, 1, 20, 0, 203, 0, 112]),
            ("2001:db8::/56", [0, 8, 0, 11, 0, 2, 56, 0, 0x20, 1, 0x0d, 0xb8, 0, 0, 0]),
            ("0.0.0.0/0", [0, 8, 0, 4, 0, 1, 0, 0]),
        ]
    )
    func subnet(_ text: String, _ option: [UInt8]) async throws {
        let transport = ScriptedTransport(.octets(Self.good))
        var question = Question(host("example.com"), families: .v4)
        question.subnet = IPNetwork(text)
        _ = try await Self.upstream(method: .post, through: transport).answer(question)
        let message = try DNSMessage(octets: try #require(transport.requests.first?.body))
        #expect(message.additionals.map(\.data) == [.other(.opt, option)])
        #expect(message.additionals.map(\.recordClass) == [1_232])
    }

    @Test("an address that accepts the connection but stays silent is replaced by the next one, which then comes first")
    func silentAddress() async throws {
        let silence = ScriptedTransport.Reply.failure(UpstreamError(.timeLimit, "silent"))
        let transport = ScriptedTransport(silence, .octets(Self.good), .octets(Self.good))
        let upstream = try Self.upstream(at: "192.0.2.53 192.0.2.54", through: transport)
        for _ in 0..<2 {
            let answer = try await upstream.answer(Question(host("example.com"), families: .v4))
            #expect(answer.v4?.addresses == addresses("192.0.2.1"))
        }
        #expect(
            transport.requests.map { "\($0.endpoints[0])" } == ["192.0.2.53:443", "192.0.2.54:443", "192.0.2.54:443"]
        )
        #expect(transport.requests[0].timeLimit == .milliseconds(1_200))
    }

    @Test("a URL whose host is an address needs no further addresses")
    func addressURL() async throws {
        let transport = ScriptedTransport(.octets(Self.good))
        let upstream = try Self.upstream("https://[2001:db8::53]:8443/dns-query", at: "", through: transport)
        _ = try await upstream.answer(Question(host("example.com"), families: .v4))
        #expect(transport.requests.first?.endpoints.map(\.description) == ["[2001:db8::53]:8443"])
        #expect(upstream.name == "doh:[2001:db8::53]:8443")
    }

    @Test("invalid configurations are refused at once")
    func misconfigured() {
        for url in ["http://192.0.2.1/dns-query", "https://dns.example/dns-query"] {
            let error = #expect(throws: UpstreamError.self) {
                try Self.upstream(url, at: "", through: ScriptedTransport())
            }
            #expect(error?.code == .misconfigured)
        }
    }

    @Test("the time that an answer spent in HTTP caches is subtracted from its TTL")
    func age() async throws {
        for (age, ttl) in [("10", 50), ("60", 0), ("999", 0), ("-5", 60), ("x", 60)] {
            let reply = UpstreamReply(status: 200, fields: [.age: age], body: Self.good)
            let answer = try await Self.upstream(through: ScriptedTransport(.success(reply)))
                .answer(Question(host("example.com"), families: .v4))
            #expect(answer == v4("192.0.2.1", ttl: ttl))
        }
    }

    @Test("a TTL with its highest bit set is zero before the time in HTTP caches is subtracted (RFC 2181 §8)")
    func ageOfInvalidTTL() async throws {
        let octets = Self.response("example.com", [DNSAnswerTests.a("example.com", "192.0.2.1", ttl: 0x8000_0000)])
        let reply = UpstreamReply(status: 200, fields: [.age: "10"], body: octets)
        let query = MessageQuery(DNSQuestion(HTTPDNSTests.name("example.com"), .a))
        let message = try await Self.upstream(through: ScriptedTransport(.success(reply))).response(to: query)
        #expect(message.answers.map(\.ttl) == [0])
    }

    @Test(
        "invalid replies are refused",
        arguments: [
            (ScriptedTransport.Reply.octets([]), UpstreamError.Code.malformedAnswer),
            (.text("<html>200 with garbage</html>"), .malformedAnswer),
            (.octets(Array(good.dropLast())), .malformedAnswer),
            (.octets(good + [0]), .malformedAnswer),
            (.octets(response("example.com", [], id: 1)), .wrongAnswer),
            (.octets(response("evil.example", [])), .wrongAnswer),
            (.octets(DNSMessageTests.query), .wrongAnswer),
            (.octets(response("example.com", [], bits: 0x8182)), .lookupFailed),
            (.octets(good, status: 502), .serverFailure),
            (.octets(good, status: 415), .questionRefused),
            (
                .success(UpstreamReply(status: 200, fields: [.contentType: "text/html"], body: good)),
                .malformedAnswer
            ),
            (.failure(UpstreamError(.answerTooLarge, "70,000 octets")), .answerTooLarge),
        ]
    )
    func noAnswer(_ reply: ScriptedTransport.Reply, _ code: UpstreamError.Code) async throws {
        let upstream = try Self.upstream(through: ScriptedTransport(reply))
        let error = await #expect(throws: UpstreamError.self) {
            try await upstream.answer(Question(host("example.com"), families: .v4))
        }
        #expect(error?.code == code)
    }

    @Test("a name that DNS cannot carry is not sent")
    func unspeakable() async throws {
        let upstream = try Self.upstream(through: ScriptedTransport())
        let error = await #expect(throws: UpstreamError.self) {
            try await upstream.answer(Question(host("192.0.2.1"), families: .v4))
        }
        #expect(error?.code == .questionRefused)
    }

    @Test("base64 is read in both alphabets, and other text is refused")
    func base64() {
        var fuzz = Fuzz(seed: 64)
        for length in 0..<100 {
            let octets = (0..<length).map { _ in UInt8(truncatingIfNeeded: fuzz.next()) }
            #expect(Base64.decode(Base64.urlSafe(octets)) == octets)
        }
        #expect(Base64.decode("+/8=") == [0xfb, 0xff])
        #expect(Base64.decode("-_8") == [0xfb, 0xff])
        for text in ["A", "A===", "AB", "AAA\n", "AA=A", "é"] { #expect(Base64.decode(text) == nil) }
    }
}
