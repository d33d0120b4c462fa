// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Testing

@testable import BeelineCommand

/// An upstream that answers each name with 127.0.0.1 and this text of an HTTPS record, if there is one.
private struct RecordDouble: RecordUpstream {
    let name = "records"
    var record: String?

    func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        Answer(v4: .addresses([IPAddress(v4: 0x7f00_0001)], ttl: .seconds(60)), v6: .absent(.noRecord, ttl: nil))
    }

    func services(_ question: ServiceQuestion) async throws(UpstreamError) -> ServiceReply {
        let record = record.flatMap { HTTPSRecord(text: $0) }
        return ServiceReply(record.map { [$0] } ?? [], owner: question.name, ttl: .seconds(60))
    }
}

/// `beeline doctor` compares handshakes with and without Encrypted Client Hello.
@Suite("doctor and ECH", .timeLimit(.minutes(1)))
struct DoctorECHTests {
    private func examine(_ names: [String], isRotated: Bool, hasECH: Bool = true) async throws -> Diagnosis {
        let authority = try TestAuthority()
        let keys = try ServerECH(publicName: "cover.test")
        var settings = ServerTLS(try authority.certificate(for: names))
        settings.ech = keys
        let site = try await LoopbackOrigin.start(tls: settings, handler: Routes.standard)
        var tls = TLSSettings()
        tls.trustsSystemRoots = false
        tls.rootPEMs = [authority.rootPEM]
        if hasECH { tls.ech = .configured(try ECHConfigList(keys.configurations)) }
        if isRotated { try keys.rotate() }
        let answer = Answer(
            v4: .addresses([site.endpoint.address], ttl: .seconds(60)),
            v6: .absent(.noRecord, ttl: nil)
        )
        var configuration = ResolverConfiguration(upstreams: [ScriptedUpstream("one") { _ in .answer(answer) }])
        configuration.check.allowsLocalAnswers = true
        let resolver = Resolver(configuration)
        let examination = Examination(resolver: resolver, tls: tls, timeout: .seconds(60))
        let diagnosis = await examination.run(try HTTPURL("https://a.test:\(site.port)/"))
        await resolver.shutDown()
        await site.stop()
        return diagnosis
    }

    @Test("each address shows whether ECH worked", arguments: [true, false])
    func worked(hasECH: Bool) async throws {
        let diagnosis = try await examine(["a.test", "cover.test"], isRotated: true, hasECH: hasECH)
        let text = DoctorText(diagnosis).text
        let words = hasECH ? "ECH accepted, with the public name cover.test" : "ECH not offered"
        #expect(text.contains(words) && DoctorPage(diagnosis).text.contains(words))
        #expect(DoctorReport(diagnosis).places[0].ech == (hasECH ? "accepted" : "not offered"))
        #expect(DoctorReport(diagnosis).places[0].echPublicName == (hasECH ? "cover.test" : nil))
    }

    /// Examines a site with an HTTPS record of this text; `ECH` stands for its configurations. With `PORT`, which stands for its
    /// port, the port of the URL refuses connections.
    private func examine(record: String?, ech: TLSSettings.ECH = .automatic) async throws -> Diagnosis {
        let authority = try TestAuthority()
        let keys = try ServerECH(publicName: "cover.test")
        var settings = ServerTLS(try authority.certificate(for: ["a.test", "cover.test"]))
        settings.ech = keys
        let site = try await LoopbackOrigin.start(tls: settings, handler: Routes.standard)
        var tls = TLSSettings()
        tls.trustsSystemRoots = false
        tls.rootPEMs = [authority.rootPEM]
        tls.ech = ech
        let text = record?.replacing("ECH", with: "ech=\(Base64.encode(keys.configurations))")
            .replacing("PORT", with: "port=\(site.port)")
        var configuration = ResolverConfiguration(upstreams: [RecordDouble(record: text)])
        configuration.check.allowsLocalAnswers = true
        // A request would not wait for the record.
        configuration.limits.resolutionDelay = .zero
        let resolver = Resolver(configuration)
        let examination = Examination(resolver: resolver, tls: tls, timeout: .seconds(60))
        let refused = try RefusedEndpoint()
        let port = record?.contains("PORT") == true ? refused.endpoint.port : site.port
        let diagnosis = await examination.run(try HTTPURL("https://a.test:\(port)/"))
        await resolver.shutDown()
        await site.stop()
        return diagnosis
    }

    /// `doctor` said of every handshake without ECH that the site publishes no configuration.
    @Test("doctor names the reason why a handshake had no ECH")
    func reasons() async throws {
        let cases: [(String?, TLSSettings.ECH, String)] = [
            ("1 a.test. ECH", .automatic, "ECH accepted, with the public name cover.test"),
            ("1 a.test. ECH", .off, "ECH not offered: it is turned off"),
            ("1 a.test. alpn=h2", .automatic, "ECH not offered: no resolver returned a configuration of the site"),
            (nil, .automatic, "ECH not offered: no resolver returned a configuration of the site"),
            ("1 a.test. ech=AAAA", .automatic, "ECH not offered: the settings do not allow"),
        ]
        for (record, ech, words) in cases {
            let text = DoctorText(try await examine(record: record, ech: ech)).text
            #expect(text.contains(words), "\(record ?? "-") \(ech): \(text)")
        }
        let notAsked = try await examine(["a.test"], isRotated: false, hasECH: false)
        #expect(DoctorText(notAsked).text.contains("ECH not offered: no resolver was asked for HTTPS records"))
    }

    @Test("the endpoint of an HTTPS record is dialled, too, and requests use it")
    func recordEndpoint() async throws {
        let diagnosis = try await examine(record: "1 a.test. PORT ECH")
        #expect(diagnosis.places.map(\.serves) == [true, false])
        #expect(diagnosis.places.first?.namedBy == ["the HTTPS record"])
        #expect(diagnosis.places.first?.ech == .outcome(.accepted(publicName: "cover.test")))
        #expect(diagnosis.verdict.status == .ok)
    }

    @Test("with required ECH, an address without a configuration is not reported as a silent server")
    func required() async throws {
        let diagnosis = try await examine(record: nil, ech: .required)
        #expect(diagnosis.verdict.status == .echFailed)
        #expect(diagnosis.verdict.findings.contains { $0.contains("cannot be used: ECH is required") })
        #expect(diagnosis.verdict.findings.contains { $0.contains("--ech ecl:@FILE") })
    }

    @Test("errors name the options, not the settings of the library")
    func wording() {
        let failure = CommandFailure(BeelineError(.echFailed, "no list: \(ECHRemedy.configure.rawValue)"))
        #expect(failure.message == "no list: write --ech ecl:@FILE, with a list of the site, or --ech true")
        let silent = CommandFailure(BeelineError(.connectTimeout, "no answer; \(ECHRemedy.turnOff.rawValue)"))
        #expect(silent.message.hasPrefix("no answer; --ech false shows the server name instead"))
        let upgraded = CommandFailure(BeelineError(.tooManyRedirects, "a loop: \(HTTPSRecordRemedy.keepHTTP)"))
        #expect(upgraded.message == "a loop: --no-https-records keeps http")
        for (cause, isHelped) in [("no trusted issuer signed", true), ("is not for the public name b.test", false)] {
            let refused = CommandFailure(BeelineError(.certificateRejected, "showed a certificate that \(cause)"))
            #expect(refused.message.contains("--cacert FILE") == isHelped)
        }
    }

    @Test("a handshake that fails only with ECH is a finding")
    func broken() async throws {
        // The certificate is not for the public name, so that the new configuration cannot be trusted.
        let diagnosis = try await examine(["a.test"], isRotated: true)
        #expect(DoctorText(diagnosis).text.contains("ECH fails with the public name cover.test"))
        #expect(DoctorReport(diagnosis).places[0].ech == "broken")
        #expect(diagnosis.verdict.findings.contains { $0.contains("beeline fetch --ech false") })
    }
}
