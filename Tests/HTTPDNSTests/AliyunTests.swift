// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Names
import Testing

@testable import HTTPDNS

@Suite("Aliyun")
struct AliyunTests {
    static let place = AliyunService(at: addresses("192.0.2.101 192.0.2.102"), isSecure: false)
    static let time: Int64 = 1_700_000_000

    static func upstream(
        _ secret: String?,
        _ transport: ScriptedTransport,
        place: AliyunService = place
    ) -> AliyunUpstream {
        AliyunUpstream(
            account: "100000",
            secret: secret,
            service: place,
            transport: transport,
            clock: SigningClock { time }
        )
    }

    static func upstream(_ transport: ScriptedTransport, place: AliyunService = place) -> AliyunUpstream {
        upstream(nil, transport, place: place)
    }

    static func upstream2(_ transport: ScriptedTransport) throws -> Aliyun2Upstream {
        try upstream2(secret: nil, encryption: nil, transport: transport)
    }

    static func upstream2(
        secret: String?,
        encryption: AliyunEncryption? = nil,
        transport: ScriptedTransport,
        place: AliyunService = place
    ) throws -> Aliyun2Upstream {
        try Aliyun2Upstream(
            account: "100000",
            secret: secret,
            encryption: encryption,
            service: place,
            transport: transport,
            clock: SigningClock { time }
        )
    }

    static let single = #"""
        {"host":"www.aliyun.com","ips":["192.0.2.1"],"ipsv6":["2001:db8::1"],"ttl":57,"origin_ttl":120,
         "client_ip":"203.0.113.9"}
        """#

    // MARK: Version 1

    @Test("version 1 requests carry the families, the signature and the subnet")
    func requests() async throws {
        let question = { (families: Families) in Question(host("www.aliyun.com"), families: families) }
        var transport = ScriptedTransport(.text(Self.single), .text(Self.single))
        _ = try await Self.upstream(transport).answer(question(.both))
        _ = try await Self.upstream(transport).answer(question(.v6))
        #expect(
            transport.requests.map(\.target) == [
                "/100000/d?host=www.aliyun.com&query=4%2C6", "/100000/d?host=www.aliyun.com&query=6",
            ]
        )
        #expect(transport.requests[0].origin.description == "http://192.0.2.101")
        transport = ScriptedTransport(.text(Self.single))
        var asked = question(.v4)
        asked.subnet = IPNetwork("203.0.113.0/24")
        _ = try await Self.upstream("secret", transport).answer(asked)
        let signature = Digests.signature("www.aliyun.com", secret: "secret", time: Self.time + 600)
        #expect(
            transport.requests.map(\.target) == [
                "/100000/sign_d?host=www.aliyun.com&query=4&ip=203.0.113.0&t=1700000600&s=\(signature)"
            ]
        )
    }

    @Test("a version 1 answer holds both families, one TTL, the client's address and the extra data")
    func answer() async throws {
        let answer = try await Self.upstream(ScriptedTransport(.text(Self.single)))
            .answer(Question(host("www.aliyun.com")))
        #expect(
            answer
                == Answer(
                    v4: .addresses(addresses("192.0.2.1"), ttl: .seconds(57)),
                    v6: .addresses(addresses("2001:db8::1"), ttl: .seconds(57)),
                    clientAddress: address("203.0.113.9")
                )
        )
        let extra = #"{"host":"www.aliyun.com","ips":[],"ttl":60,"extra":"{&quot;a&quot;:1 &amp;lt;}"}"#
        let none = try await Self.upstream(ScriptedTransport(.text(extra)))
            .answer(Question(host("www.aliyun.com"), families: .v4))
        #expect(none.v4 == .absent(.noRecord, ttl: nil))
        #expect(none.extra == #"{"a":1 &lt;}"#)
    }

    @Test("one question asks for several names, and both forms of its answer are read")
    func batch() async throws {
        let body = #"""
            {"dns":[{"host":"a.example","client_ip":"203.0.113.9","ips":["192.0.2.1"],"type":1,"ttl":106},
                    {"host":"a.example","client_ip":"203.0.113.9","ips":["2001:db8::1"],"type":28,"ttl":60},
                    {"host":"b.example","ips":["192.0.2.2"],"ttl":30}]}
            """#
        let transport = ScriptedTransport(.text(body))
        let hosts = [host("a.example"), host("b.example"), host("c.example")]
        let answers = try await Self.upstream("secret", transport).answers(hosts, families: .v4)
        #expect(answers[hosts[0]]?.v4 == .addresses(addresses("192.0.2.1"), ttl: .seconds(106)))
        #expect(answers[hosts[0]]?.v6 == .addresses(addresses("2001:db8::1"), ttl: .seconds(60)))
        #expect(answers[hosts[1]]?.v4 == .addresses(addresses("192.0.2.2"), ttl: .seconds(30)))
        #expect(answers[hosts[2]] == nil)
        let target = try #require(transport.requests.first?.target)
        #expect(target.hasPrefix("/100000/sign_resolve?host=a.example%2Cb.example%2Cc.example&t=1700000600&s="))
    }

    @Test("a question for several names and both families is not sent, so that no name loses its IPv6 addresses")
    func batchOfBothFamilies() async throws {
        let transport = ScriptedTransport()
        #expect(try await Self.upstream(transport).answers([host("a.example")], families: .both).isEmpty)
        #expect(transport.requests.isEmpty)
    }

    @Test(
        "each error code of the service has its own error",
        arguments: [
            ("SignatureExpired", 403, UpstreamError.Code.signatureExpired), ("InvalidSignature", 403, .accountRefused),
            ("InvalidDuration", 403, .signatureExpired), ("UnsignedInterfaceDisabled", 403, .accountRefused),
            ("InvalidAccount", 403, .accountRefused), ("AccountNotExists", 400, .accountRefused),
            ("ServiceLevelDeny", 403, .rateLimited), ("InvalidHost", 400, .questionRefused),
            ("MissingArgument", 400, .questionRefused), ("LimitExceeded", 400, .questionRefused),
            ("MethodNotAllowed", 405, .questionRefused), ("InternalError", 500, .serverFailure),
            ("LookupFailed", 500, .lookupFailed), ("SomethingNew", 400, .serverFailure),
            ("InvalidAccount", 200, .accountRefused),
        ]
    )
    func errors(_ code: String, _ status: Int, _ meaning: UpstreamError.Code) async throws {
        let reply = ScriptedTransport.Reply.text("{\"code\":\"\(code)\"}", status: status)
        let place = AliyunService(at: Self.place.addresses)
        for version in [1, 2] {
            // The service may be asked at another address after some errors; here that address replies the same.
            let transport = ScriptedTransport(reply, reply)
            let upstream: any Upstream =
                version == 1
                ? Self.upstream(transport, place: place)
                : try Self.upstream2(secret: nil, transport: transport, place: place)
            let error = await #expect(throws: UpstreamError.self) {
                try await upstream.answer(Question(host("www.aliyun.com"), families: .v4))
            }
            #expect(error?.code == meaning)
            #expect(transport.requests.count == (meaning.reaction == .tryElsewhere ? 2 : 1))
        }
    }

    @Test(
        "invalid replies are refused",
        arguments: [
            "", "<html>", "[]", "{}", #"{"host":"evil.example","ips":["192.0.2.1"],"ttl":1}"#,
            #"{"host":"www.aliyun.com","ips":["not an address"]}"#, #"{"host":"www.aliyun.com","ips":["2001:db8::1"]}"#,
            #"{"host":"www.aliyun.com","ips":"none"}"#, #"{"host":"www.aliyun.com","ips":[1]}"#,
        ]
    )
    func noAnswer(_ body: String) async {
        let transport = ScriptedTransport(.text(body), .text(body))
        let error = await #expect(throws: UpstreamError.self) {
            try await Self.upstream(transport).answer(Question(host("www.aliyun.com"), families: .v4))
        }
        #expect(error?.code == .malformedAnswer || error?.code == .wrongAnswer)
    }

    @Test("when one address fails, the next address is asked and stays in use")
    func failover() async throws {
        let transport = ScriptedTransport(
            .failure(UpstreamError(.unreachable, "refused")),
            .text(Self.single),
            .text(Self.single)
        )
        let upstream = Self.upstream(transport)
        for _ in 0..<2 { _ = try await upstream.answer(Question(host("www.aliyun.com"), families: .v4)) }
        #expect(
            transport.requests.map { $0.endpoints[0].description } == [
                "192.0.2.101:80", "192.0.2.102:80", "192.0.2.102:80",
            ]
        )
        #expect(transport.requests.map { $0.timeLimit == nil } == [false, true, false])
    }

    @Test("the TLS certificate may match any of the service's known names")
    func certificateNames() async throws {
        let transport = ScriptedTransport(
            .failure(UpstreamError(.untrusted, "another name")),
            .text(Self.single),
            .text(Self.single)
        )
        let upstream = Self.upstream(transport, place: AliyunService(at: addresses("192.0.2.101")))
        for _ in 0..<2 { _ = try await upstream.answer(Question(host("www.aliyun.com"), families: .v4)) }
        #expect(
            transport.requests.map(\.origin.description) == [
                "https://resolvers.httpdns.aliyuncs.com", "https://203.107.1.1", "https://203.107.1.1",
            ]
        )
        #expect(transport.requests.allSatisfy { $0.endpoints.map(\.description) == ["192.0.2.101:443"] })
    }

    @Test("after an expired signature, the clock is set by the reply and the question is sent again")
    func clockIsCorrected() async throws {
        let expired = UpstreamReply(
            status: 403,
            fields: [.date: "Sun, 06 Nov 1994 08:49:37 GMT"],
            body: Array(#"{"code":"SignatureExpired"}"#.utf8)
        )
        let transport = ScriptedTransport(.success(expired), .text(Self.single), .text(Self.single))
        let upstream = Self.upstream("secret", transport)
        for _ in 0..<2 { _ = try await upstream.answer(Question(host("www.aliyun.com"), families: .v4)) }
        let times = transport.requests.map { $0.target.split(separator: "&").first { $0.hasPrefix("t=") } }
        #expect(times == ["t=1700000600", "t=784112377", "t=784112377"])
    }

    @Test("a question whose signature expired is not sent again when the clocks agree")
    func clockIsRight() async {
        let expired = UpstreamReply(
            status: 403,
            fields: [.date: "Tue, 14 Nov 2023 22:13:20 GMT"],
            body: Array(#"{"code":"SignatureExpired"}"#.utf8)
        )
        let transport = ScriptedTransport(.success(expired), .success(expired))
        let error = await #expect(throws: UpstreamError.self) {
            try await Self.upstream("secret", transport).answer(Question(host("www.aliyun.com"), families: .v4))
        }
        #expect(error?.code == .signatureExpired)
    }

    // MARK: Version 2

    static let content = #"""
        {"cip":"203.0.113.9","answers":[{"dn":"www.example.com",
         "v4":{"ips":["192.0.2.1","192.0.2.2"],"ttl":60,"extra":"x"},
         "v6":{"ips":[],"ttl":30,"no_ip_code":"RRNotExist"}}]}
        """#

    @Test("a signed version 2 question is sent unencrypted, and its answer is read")
    func version2() async throws {
        let transport = ScriptedTransport(.text(#"{"code":"success","mode":0,"data":\#(Self.content)}"#))
        let upstream = try Self.upstream2(
            secret: "000102030405060708090a0b0c0d0e0f",
            encryption: nil,
            transport: transport
        )
        let answer = try await upstream.answer(Question(host("www.example.com")))
        #expect(
            answer
                == Answer(
                    v4: .addresses(addresses("192.0.2.1 192.0.2.2"), ttl: .seconds(60)),
                    v6: .absent(.noRecord, ttl: .seconds(30)),
                    clientAddress: address("203.0.113.9"),
                    extra: "x"
                )
        )
        #expect(
            transport.requests.first?.target
                == "/v2/d?dn=www.example.com&exp=1700000600&id=100000&m=0&q=4%2C6"
                + "&s=13a3ab3b4ce220bc8253481e51e9156ca8b39e05cd2803168543304e7de1a15b&v=1.0"
        )
    }

    @Test("an unsigned version 2 question has no expiry time")
    func unsigned() async throws {
        let transport = ScriptedTransport(.text(#"{"code":"success","data":\#(Self.content)}"#))
        _ = try await Self.upstream2(secret: nil, encryption: nil, transport: transport).answer(
            Question(host("www.example.com"))
        )
        #expect(transport.requests.first?.target == "/v2/d?dn=www.example.com&id=100000&m=0&q=4%2C6&v=1.0")
    }

    @Test("an encrypted question is hexadecimal, and its encrypted answer is base64", arguments: [1, 2])
    func encrypted(_ mode: Int) async throws {
        let key = SigningTests.key
        let cipher = try #require(AESCipher(mode == 1 ? .cbc : .gcm, key: key))
        let sealed = Base64.urlSafe(try cipher.seal(Array(Self.content.utf8)))
            .replacing("-", with: "+").replacing("_", with: "/")
        let transport = ScriptedTransport(.text(#"{"code":"success","mode":\#(mode),"data":"\#(sealed)"}"#))
        let upstream = try Self.upstream2(
            secret: nil,
            encryption: mode == 1 ? .cbc(key: key) : .gcm(key: key),
            transport: transport
        )
        let answer = try await upstream.answer(Question(host("www.example.com")))
        #expect(answer.v4?.addresses == addresses("192.0.2.1 192.0.2.2"))
        let target = try #require(transport.requests.first?.target)
        #expect(target.hasPrefix("/v2/d?enc=") && target.hasSuffix("&id=100000&m=\(mode)&v=1.0"))
        let enc = try #require(target.dropFirst("/v2/d?enc=".count).split(separator: "&").first)
        #expect(Hex.decode(enc).flatMap(cipher.open) == SigningTests.question)
    }

    @Test("an unencrypted answer to an encrypted question is refused")
    func downgrade() async throws {
        for body in [
            #"{"code":"success","mode":0,"data":\#(Self.content)}"#, #"{"code":"success","data":"AAAA"}"#,
            #"{"code":"success"}"#,
        ] {
            let transport = ScriptedTransport(.text(body), .text(body))
            let upstream = try Self.upstream2(
                secret: nil,
                encryption: .gcm(key: SigningTests.key),
                transport: transport
            )
            let error = await #expect(throws: UpstreamError.self) {
                try await upstream.answer(Question(host("www.example.com")))
            }
            #expect(error?.code == .malformedAnswer)
        }
    }

    @Test(
        "a missing address counts as a denial only with a denial code",
        arguments: [
            ("RRNotExist", Answer.Records.absent(.noRecord, ttl: .seconds(30))),
            ("DomainNotExist", .absent(.noName, ttl: .seconds(30))), ("Other", .absent(.noRecord, ttl: nil)),
        ]
    )
    func absence(_ code: String, _ records: Answer.Records) throws {
        let body = #"{"answers":[{"dn":"a","v4":{"ips":[],"ttl":30,"no_ip_code":"\#(code)"}}]}"#
        let json = try #require(JSONValue(Array(body.utf8)))
        #expect(try AliyunAnswer.version2(json, hosts: [host("a")], families: .v4)[host("a")]?.v4 == records)
    }

    @Test("keys and secrets of a wrong form are refused at once")
    func misconfigured() {
        #expect(throws: UpstreamError.self) {
            try Self.upstream2(secret: "not hex", encryption: nil, transport: ScriptedTransport())
        }
        #expect(throws: UpstreamError.self) {
            try Self.upstream2(secret: "", encryption: nil, transport: ScriptedTransport())
        }
        #expect(throws: UpstreamError.self) {
            try Self.upstream2(secret: nil, encryption: .cbc(key: [1]), transport: ScriptedTransport())
        }
    }

    // MARK: Scheduling

    @Test("the schedule request is signed, and later questions go to the address that it returns")
    func schedule() async throws {
        let transport = ScriptedTransport(
            .text(#"{"service_ip":["192.0.2.7"],"service_ip_port":[8080],"service_ipv6":["2001:db8::7"]}"#),
            .text(Self.single)
        )
        let upstream = Self.upstream("secret", transport)
        #expect(await upstream.reschedule() == .seconds(8 * 3_600))
        _ = try await upstream.answer(Question(host("www.aliyun.com"), families: .v4))
        #expect(transport.requests[1].origin.description == "http://192.0.2.7:8080")
        let target = transport.requests[0].target
        #expect(target.hasPrefix("/100000/ss?region=global&n="))
        #expect(target.contains("&t=1700000000&s="))
        #expect(
            AliyunSchedule.target(account: "1", secret: "secret", region: "cn", nonce: "ab", time: 5)
                == "/1/ss?region=cn&n=ab&t=5&s=\(Digests.md5("ab-secret-5"))"
        )
        let escaped = AliyunSchedule.target(account: "team 1/b", secret: nil, region: "cn", nonce: "ab", time: 5)
        #expect(escaped == "/team%201%2Fb/ss?region=cn", "the account is escaped as in lookups")
    }

    @Test("if the addresses from scheduling fail, the configured addresses are asked at once")
    func scheduledAddressesAreDead() async throws {
        let transport = ScriptedTransport(
            .text(#"{"service_ip":["192.0.2.7"]}"#),
            .failure(UpstreamError(.unreachable, "no route to the host")),
            .text(Self.single)
        )
        let upstream = Self.upstream(transport)
        _ = await upstream.reschedule()
        _ = try await upstream.answer(Question(host("www.aliyun.com"), families: .v4))
        #expect(
            transport.requests.dropFirst().map(\.origin.description) == ["http://192.0.2.7", "http://192.0.2.101"]
        )
    }

    @Test("a service that reports itself disabled is not asked until it reports itself enabled")
    func switchedOff() async throws {
        let transport = ScriptedTransport(
            .text(#"{"service_ip":[],"service_status":"disable"}"#),
            .text(#"{"service_ip":[]}"#),
            .text(Self.single)
        )
        let upstream = Self.upstream(transport)
        _ = await upstream.reschedule()
        let error = await #expect(throws: UpstreamError.self) {
            try await upstream.answer(Question(host("www.aliyun.com"), families: .v4))
        }
        #expect(error?.code == .unsupported)
        _ = await upstream.reschedule()
        _ = try await upstream.answer(Question(host("www.aliyun.com"), families: .v4))
    }

    @Test("a failed schedule request is retried after longer pauses and keeps the old addresses")
    func scheduleFails() async throws {
        let broken = ScriptedTransport.Reply.text(#"{"service_ip":["x"]}"#)
        let transport = ScriptedTransport(broken, broken, broken, broken, .text(Self.single))
        let upstream = Self.upstream(transport)
        #expect(await upstream.reschedule() == .seconds(30))
        #expect(await upstream.reschedule() == .seconds(60))
        _ = try await upstream.answer(Question(host("www.aliyun.com"), families: .v4))
        #expect(transport.requests.last?.origin.description == "http://192.0.2.101")
    }

    @Test("an error about a secret or a key names the upstream, because several may be configured")
    func badSecret() {
        let transport = ScriptedTransport()
        for (secret, key) in [("s3cret", nil), ("00", [1, 2, 3] as [UInt8])] as [(String, [UInt8]?)] {
            let error = #expect(throws: UpstreamError.self) {
                try Aliyun2Upstream(
                    account: "100000",
                    secret: secret,
                    encryption: key.map { .cbc(key: $0) },
                    transport: transport
                )
            }
            #expect(error?.message.hasPrefix("aliyun2:100000: ") == true)
        }
    }

    @Test("no answer makes the reader trap")
    func fuzz() {
        var fuzz = Fuzz(seed: 203)
        let seeds = [Self.single, Self.content, #"{"service_ip":["192.0.2.7"],"service_ip_port":[80]}"#]
            .map { Array($0.utf8) }
        for _ in 0..<Fuzz.rounds / 2 {
            guard let json = JSONValue(fuzz.mutate(seeds)) else { continue }
            _ = try? AliyunAnswer.single(json, host: host("www.aliyun.com"), families: .both)
            _ = try? AliyunAnswer.batch(json, hosts: [host("www.aliyun.com")], families: .both)
            _ = try? AliyunAnswer.version2(json, hosts: [host("www.example.com")], families: .both)
            _ = try? AliyunSchedule(json, isSecure: false)
        }
    }
}
