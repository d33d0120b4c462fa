// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Testing

@testable import BeelineCommand

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
        let examination = Examination(resolver: resolver, tls: tls, patience: .seconds(60))
        let diagnosis = await examination.run(try HTTPURL("https://a.test:\(site.port)/"))
        await resolver.shutDown()
        await site.stop()
        return diagnosis
    }

    @Test("each address says whether ECH worked", arguments: [true, false])
    func worked(hasECH: Bool) async throws {
        let diagnosis = try await examine(["a.test", "cover.test"], isRotated: true, hasECH: hasECH)
        let text = DoctorText(diagnosis).text
        let words = hasECH ? "ECH accepted, with the public name cover.test" : "ECH not offered"
        #expect(text.contains(words) && DoctorPage(diagnosis).text.contains(words))
        #expect(DoctorReport(diagnosis).places[0].ech == (hasECH ? "accepted" : "not offered"))
        #expect(DoctorReport(diagnosis).places[0].echPublicName == (hasECH ? "cover.test" : nil))
    }

    @Test("a handshake that fails only with ECH is a finding")
    func broken() async throws {
        // The certificate is not for the public name, so that the new configuration cannot be trusted.
        let diagnosis = try await examine(["a.test"], isRotated: true)
        #expect(DoctorText(diagnosis).text.contains("ECH fails with the public name cover.test"))
        #expect(DoctorReport(diagnosis).places[0].ech == "broken")
        #expect(diagnosis.verdict.findings.contains { $0.contains("--ech false") })
    }
}
