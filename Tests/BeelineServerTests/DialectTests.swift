// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import HTTPDNS
import HTTPTypes
import Names
import Testing

@testable import BeelineServer

@Suite("Our clients against our server")
struct DialectTests {
    static let secret = "000102030405060708090a0b0c0d0e0f"
    static let key = "0f0e0d0c0b0a09080706050403020100"

    private static func withAccounts() async throws -> ServerLab {
        try await ServerLab {
            $0.accounts = [
                try ServerAccount(id: "100000", secret: secret, encryptionKey: key),
                try ServerAccount(id: "200000", secret: "another secret"),
            ]
        }
    }

    /// Checks the answers of each form: for names of the upstream, names of the zone, and names that do not exist.
    private static func expectAnswers(_ upstream: any Upstream, families: Families = .both) async throws {
        let name = upstream.name
        let www = try await upstream.answer(Question(try Host("www.a.test"), families: families))
        if families.contains(.v4) {
            #expect(www.v4?.addresses.map(\.description) == ["198.51.100.1", "198.51.100.2"], "\(name)")
        }
        if families.contains(.v6) { #expect(www.v6?.addresses.map(\.description) == ["2001:db8::1"], "\(name)") }
        let corp = try await upstream.answer(Question(try Host("alias.corp.test"), families: .v4))
        #expect(corp.v4 == .addresses([try #require(IPAddress("192.0.2.10"))], ttl: .seconds(60)), "\(name)")
        let none = try await upstream.answer(Question(try Host("none.test"), families: .v4))
        #expect(none.v4?.addresses == [], "\(name)")
        await #expect(throws: UpstreamError.self, "\(name)") {
            try await upstream.answer(Question(try Host("broken.test"), families: .v4))
        }
    }

    @Test("DNS over HTTPS works with GET and POST, over HTTP/2")
    func messages() async throws {
        let lab = try await ServerLab()
        for method in [DoHUpstream.Method.get, .post] {
            let url = try HTTPURL("https://dns.test:\(lab.endpoint.port)/dns-query")
            let upstream = try DoHUpstream(url, at: [lab.endpoint.address], method: method, transport: lab.transport)
            try await Self.expectAnswers(upstream)
            let zone = try await upstream.answer(Question(try Host("nobody.corp.test"), families: .v4))
            #expect(zone.v4 == .absent(.noName, ttl: .seconds(300)))
            let empty = try await upstream.answer(Question(try Host("ns.corp.test"), families: .v6))
            #expect(empty.v6 == .absent(.noRecord, ttl: .seconds(300)))
            let subnet = try #require(IPNetwork("203.0.113.0/24"))
            let near = try await upstream.answer(Question(try Host("near.test"), families: .v4, subnet: subnet))
            #expect(near.v4?.addresses.first?.description == "198.51.100.9")
        }
        #expect(lab.upstream.questions.contains { $0.subnet?.description == "203.0.113.0/24" })
        await lab.stop()
    }

    @Test("a query with an unknown or a repeated EDNS option gets the error of RFC 6891 §6.1")
    func badEDNS() async throws {
        let lab = try await ServerLab()
        func said(_ options: [DNSRecord]) async throws -> DNSMessage {
            var query = DNSMessage(questions: [DNSQuestion(try #require(DNSName("www.a.test")), .a)])
            query.additionals = options
            let octets = try #require(query.encoded())
            return try DNSMessage(octets: try await lab.get("/dns-query", method: .post, message: octets).body)
        }
        let option = { (ttl: UInt32) in DNSRecord(.root, ttl: ttl, .other(.opt, []), recordClass: 1_232) }
        let good = try await said([option(0)])
        #expect(good.answers.count == 2 && good.additionals.map(\.ttl) == [0])
        let version1 = try await said([option(1 << 16)])
        #expect(version1.flags.responseCode == .noError && version1.answers.isEmpty)
        // BADVERS is 16: its lower bits are in the header, the others in OPT.
        #expect(version1.additionals.map(\.ttl) == [1 << 24])
        // The label of the metrics.
        #expect(DNSResponseCode.badVersion.description == "BADVERS")
        #expect(try await said([option(0), option(0)]).flags.responseCode == .formatError)
        await lab.stop()
    }

    @Test("a query without RD for a name that a zone delegates gets the name servers (RFC 1034 §4.3.2)")
    func referral() async throws {
        let lab = try await ServerLab()
        var query = DNSMessage(questions: [DNSQuestion(try #require(DNSName("x.below.corp.test")), .a)])
        query.flags.recursionDesired = false
        let octets = try #require(query.encoded())
        let reply = try DNSMessage(octets: try await lab.get("/dns-query", method: .post, message: octets).body)
        #expect(reply.flags.responseCode == .noError && !reply.flags.isAuthoritative && reply.answers.isEmpty)
        #expect(reply.authorities.map(\.name.description) == ["below.corp.test"])
        #expect(reply.authorities.map(\.type) == [.nameServer])
        #expect(reply.additionals.map(\.data) == [.address(IPAddress(v4: 0xc000_0236))])
        #expect(lab.upstream.questions.isEmpty)
        await lab.stop()
    }

    @Test("JSON answers hold records of other types in the format of zone files")
    func jsonRecords() async throws {
        let lab = try await ServerLab()
        for (query, data) in [
            ("a.deep.corp.test&type=TXT", #""data":"\"one text\" \"second\"""#),
            ("a.deep.corp.test&type=MX", #""data":"10 mx.corp.test.""#),
            ("_s._tcp.corp.test&type=33", #""data":"0 5 5060 sip.corp.test.""#),
            ("corp.test&type=ns", #""data":"ns.corp.test.""#), ("www.corp.test&type=ANY", #""data":"2001:db8::10""#),
        ] {
            let text = String(decoding: try await lab.get("/resolve?name=\(query)").body, as: UTF8.self)
            #expect(text.contains(data), "\(text)")
        }
        #expect(RecordText.write(DNSType(rawValue: 16), [3, 0x22, 0x07, 0x5c]) == #""\"\007\\""#)
        // Octets that do not match the form of their type, and types without a form of their own.
        // An alias with a parameter (port 1) is one of them.
        let alias = [0, 0, 1, 97, 0, 0, 3, 0, 2, 0, 1]
        for (type, octets) in [
            (16, [5, 1]), (15, [0, 1]), (2, [1, 97, 0, 0]), (33, [0, 1]), (257, [0, 5]), (65, alias),
        ] {
            let text = RecordText.write(DNSType(rawValue: UInt16(type)), octets.map { UInt8($0) })
            #expect(text.hasPrefix("\\# \(octets.count) "))
        }
        await lab.stop()
    }

    @Test(
        "DNS in JSON refuses the types that DNS messages refuse, and asks no upstream for them",
        arguments: [(0, 1), (41, 1), (250, 4), (251, 5), (252, 5)]
    )
    func jsonOfRefusedTypes(_ type: Int, _ code: Int) async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let lab = try await ServerLab(carrier: double)
        let text = String(decoding: try await lab.get("/resolve?name=a.test&type=\(type)").body, as: UTF8.self)
        #expect(text.contains("\"Status\":\(code),") && double.questions.isEmpty, "\(text)")
        await lab.stop()
    }

    @Test("DNS in JSON repeats in CD whether the client wants an unchecked answer", arguments: [false, true])
    func jsonUnchecked(_ isUnchecked: Bool) async throws {
        let double = MessageDouble { MessageDouble.text($0) }
        let lab = try await ServerLab(carrier: double)
        let target = "/resolve?name=a.test&type=TXT&cd=\(isUnchecked ? 1 : 0)"
        let text = String(decoding: try await lab.get(target).body, as: UTF8.self)
        #expect(text.contains("\"CD\":\(isUnchecked),"), "\(text)")
        #expect(double.questions.map(\.isUnchecked) == [isUnchecked])
        await lab.stop()
    }

    @Test("DNS in JSON works on both paths")
    func json() async throws {
        let lab = try await ServerLab()
        for path in ["resolve", "dns-query"] {
            let url = try HTTPURL("https://dns.test:\(lab.endpoint.port)/\(path)")
            try await Self.expectAnswers(
                try JSONUpstream(url, at: [lab.endpoint.address], transport: lab.transport)
            )
        }
        await lab.stop()
    }

    @Test("DNSPod works unencrypted, with AES and with a token")
    func dnspod() async throws {
        let plain = try await ServerLab { $0.tls = nil }
        let clear = DNSPodUpstream(at: [plain.endpoint], transport: plain.transport)
        try await Self.expectAnswers(clear)
        let batch = try await clear.answers([try Host("www.a.test"), try Host("www.corp.test")], families: .both)
        #expect(try batch.count == 2 && batch[try Host("www.corp.test")]?.v6?.addresses.count == 1)
        await plain.stop()

        let paid = try await ServerLab {
            $0.tls = nil
            $0.accounts = [try ServerAccount(id: "100000", secret: Self.secret)]
        }
        var options = DNSPodOptions()
        options.wantsClientAddress = true
        for validity in [nil, Duration.seconds(600)] {
            options.validity = validity
            let form = DNSPodForm.aes(id: "100000", key: Self.secret)
            let aes = DNSPodUpstream(form, at: [paid.endpoint], options: options, transport: paid.transport)
            try await Self.expectAnswers(aes)
            #expect(try await aes.answer(Question(try Host("www.a.test"))).clientAddress?.description == "127.0.0.1")
        }
        for encrypts in [false, true] {
            options.encryptsSubnet = encrypts
            let form = DNSPodForm.aes(id: "100000", key: Self.secret)
            let aes = DNSPodUpstream(form, at: [paid.endpoint], options: options, transport: paid.transport)
            let near = Question(try Host("near\(encrypts).test"), families: .v4, subnet: IPNetwork("203.0.113.0/24"))
            #expect(try await aes.answer(near).v4?.addresses.first?.description == "198.51.100.9")
        }
        let wrong = DNSPodUpstream(.aes(id: "100000", key: "wrong"), at: [paid.endpoint], transport: paid.transport)
        await #expect(throws: UpstreamError.self) { try await wrong.answer(Question(try Host("www.a.test"))) }
        await paid.stop()
    }

    @Test("an alias of a zone that was asked for may be cached for its TTL, as an answer and not as a lack of one")
    func aliasInAZone() async throws {
        let lab = try await ServerLab()
        let reply = try await lab.get("/resolve?name=alias.corp.test&type=CNAME")
        #expect(reply.fields[.cacheControl] == "max-age=60")
        await lab.stop()
    }

    @Test("an answer with the client's address is not for caches, which would give it to other clients")
    func answerWithClientAddress() async throws {
        let lab = try await ServerLab()
        #expect(try await lab.get("/d?dn=www.corp.test").fields[.cacheControl] == "max-age=300")
        let reply = try await lab.get("/d?dn=www.corp.test&clientip=1")
        #expect(reply.body == Array("192.0.2.10|127.0.0.1".utf8) && reply.fields[.cacheControl] == "no-store")
        await lab.stop()
    }

    @Test("Aliyun version 1 works signed and unsigned, and refused clients get the reason")
    func aliyun() async throws {
        let lab = try await Self.withAccounts()
        let service = try lab.aliyun()
        let signed = AliyunUpstream(
            account: "200000",
            secret: "another secret",
            service: service,
            transport: lab.transport
        )
        try await Self.expectAnswers(signed)
        let batch = try await signed.answers([try Host("www.a.test"), try Host("www.corp.test")], families: .v4)
        #expect(batch[try Host("www.corp.test")]?.v4?.addresses.first?.description == "192.0.2.10")
        // A name whose lookup failed is left out. An empty answer would be a denial.
        let part = try await signed.answers([try Host("broken.test"), try Host("www.a.test")], families: .v4)
        #expect(part.keys.map(\.text) == ["www.a.test"])
        let refused: [(String, AliyunUpstream)] = [
            (
                "InvalidSignature",
                AliyunUpstream(account: "200000", secret: "wrong", service: service, transport: lab.transport)
            ),
            (
                "UnsignedInterfaceDisabled",
                AliyunUpstream(account: "200000", service: service, transport: lab.transport)
            ),
            ("InvalidAccount", AliyunUpstream(account: "3", secret: "x", service: service, transport: lab.transport)),
        ]
        for (code, upstream) in refused {
            await #expect {
                try await upstream.answer(Question(try Host("www.a.test")))
            } throws: { error in
                "\(error)".contains(code)
            }
        }
        let expired = try await lab.get("/200000/sign_d?host=a.test&t=1&s=0")
        #expect(
            expired.status == 403 && String(decoding: expired.body, as: UTF8.self) == "{\"code\":\"SignatureExpired\"}"
        )
        await lab.stop()

        let open = try await ServerLab()
        try await Self.expectAnswers(
            AliyunUpstream(account: "1", service: try open.aliyun(), transport: open.transport)
        )
        await open.stop()
    }

    @Test("Aliyun's clients get the server's addresses and then use them")
    func schedule() async throws {
        let account = try ServerAccount(id: "200000", secret: "another secret")
        let lab = try await ServerLab { $0.accounts = [account] }
        let eightHours = Duration.seconds(8 * 3_600)
        for secret in ["another secret", "wrong"] {
            // The schedule from the first address names the address to ask from then on.
            let upstream = AliyunUpstream(
                account: "200000",
                secret: secret,
                service: try lab.aliyun(),
                transport: lab.transport
            )
            #expect(await upstream.reschedule() == (secret == "wrong" ? .seconds(30) : eightHours))
            if secret != "wrong" { try await Self.expectAnswers(upstream) }
        }
        // The vendor's own mobile clients do not sign this request.
        let unsigned = try await lab.get("/200000/ss?region=global&platform=ios&sdk_version=3.4.2")
        #expect(
            String(decoding: unsigned.body, as: UTF8.self)
                == "{\"service_ip\":[\"127.0.0.1\"],\"service_ip_port\":[\(lab.endpoint.port)]}"
        )
        for (target, code) in [
            ("/3/ss", "InvalidAccount"), ("/200000/ss?s=0", "MissingArgument"),
            ("/200000/ss?n=1&t=1&s=0", "SignatureExpired"),
        ] {
            let refused = try await lab.get(target)
            #expect(String(decoding: refused.body, as: UTF8.self) == "{\"code\":\"\(code)\"}")
        }
        await lab.stop()

        let balanced = try await ServerLab {
            $0.announced = try ["192.0.2.1:80", "192.0.2.2:8080", "[2001:db8::1]:80"].map {
                try Endpoint(parsing: $0, defaultPort: nil)
            }
        }
        #expect(
            String(decoding: try await balanced.get("/1/ss").body, as: UTF8.self)
                == "{\"service_ip\":[\"192.0.2.1\",\"192.0.2.2\"],\"service_ip_port\":[80,8080],"
                + "\"service_ipv6\":[\"2001:db8::1\"],\"service_ipv6_port\":[80]}"
        )
        await balanced.stop()
    }

    @Test("Aliyun version 2 works signed, and encrypted with CBC and GCM")
    func aliyun2() async throws {
        let lab = try await Self.withAccounts()
        let octets = try #require(Hex.decode(Self.key))
        for encryption in [nil, AliyunEncryption.cbc(key: octets), .gcm(key: octets)] {
            let upstream = try Aliyun2Upstream(
                account: "100000",
                secret: Self.secret,
                encryption: encryption,
                service: try lab.aliyun(),
                transport: lab.transport
            )
            try await Self.expectAnswers(upstream)
            let zone = try await upstream.answer(Question(try Host("nobody.corp.test"), families: .v4))
            #expect(zone.v4 == .absent(.noName, ttl: .seconds(300)))
            let half = try await upstream.answer(Question(try Host("half.test")))
            #expect(half.v4?.addresses.count == 2 && half.v6 == nil)
        }
        let wrong = try Aliyun2Upstream(
            account: "100000",
            secret: "00",
            service: try lab.aliyun(),
            transport: lab.transport
        )
        await #expect(throws: UpstreamError.self) { try await wrong.answer(Question(try Host("www.a.test"))) }
        await lab.stop()
    }
}
