// SPDX-License-Identifier: Apache-2.0

import BeelineServer
import BeelineTesting
import HTTPDNS
import Names
import Testing

/// An upstream with one HTTPS record, for `www.a.test`.
private struct OneRecordUpstream: MessageUpstream {
    let name = "one"

    func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        throw UpstreamError(.lookupFailed, "SERVFAIL")
    }

    func response(to query: MessageQuery) async throws(UpstreamError) -> DNSMessage {
        let name = query.question.name
        if "\(name)" == "broken.test" { throw UpstreamError(.lookupFailed, "SERVFAIL") }
        var message = DNSMessage(questions: [query.question])
        message.flags.isResponse = true
        if "\(name)" == "www.a.test", let record = HTTPSRecord(text: "1 . alpn=h2 port=8443") {
            message.answers = [DNSRecord(name, ttl: 60, .other(.https, record.octets))]
        }
        return message
    }
}

@Suite("The server passes on questions for HTTPS records")
struct ServiceForwardingTests {
    @Test("records of the upstream are passed on in JSON and as DNS messages, and kept for their TTL")
    func forwarding() async throws {
        let lab = try await ServerLab(carrier: OneRecordUpstream())
        for _ in 0..<2 {
            let reply = try await lab.get("/resolve?name=www.a.test&type=65")
            let text = String(decoding: reply.body, as: UTF8.self)
            #expect(text.contains(#""type":65,"TTL":60,"data":"1 . alpn=h2 port=8443""#), "\(text)")
        }
        let doh = try DoHUpstream(
            try HTTPURL("https://dns.test:\(lab.endpoint.port)/dns-query"),
            at: [lab.endpoint.address],
            transport: lab.transport
        )
        let www = try await doh.services(ServiceQuestion(try #require(DNSName("www.a.test"))))
        #expect(www.records.map(\.port) == [8_443])
        let none = try await doh.services(ServiceQuestion(try #require(DNSName("none.a.test"))))
        #expect(none.records.isEmpty)
        await #expect {
            try await doh.services(ServiceQuestion(try #require(DNSName("broken.test"))))
        } throws: {
            ($0 as? UpstreamError)?.code == .lookupFailed
        }
        await lab.stop()
    }

    @Test("an upstream that carries addresses only is not asked")
    func addressesOnly() async throws {
        let lab = try await ServerLab()
        let text = String(decoding: try await lab.get("/resolve?name=www.a.test&type=65").body, as: UTF8.self)
        #expect(text.contains(#""Status":4"#) && lab.upstream.questions.isEmpty)
        await lab.stop()
    }
}
