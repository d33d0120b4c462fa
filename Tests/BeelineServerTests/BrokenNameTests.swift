// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import Names
import Testing

@testable import BeelineServer

@Suite("Names that cannot be looked up", .timeLimit(.minutes(1)))
struct BrokenNameTests {
    @Test(
        "three names that no upstream can look up do not make a client leave the server",
        arguments: ["dnspod", "aliyun", "aliyun2"]
    )
    func healthOfTheServer(_ form: String) async throws {
        let names = ScriptedUpstream("names") { question in
            guard !question.host.text.hasPrefix("broken") else {
                return .fail(UpstreamError(.lookupFailed, "SERVFAIL"))
            }
            return .answer(Answer(v4: .addresses([IPAddress(v4: 0xc633_6401)], ttl: .seconds(60)), v6: nil))
        }
        let lab = try await ServerLab(carrier: names) { $0.tls = nil }
        let (endpoint, transport) = (lab.endpoint, lab.transport)
        let service = AliyunService(at: [endpoint.address], port: endpoint.port, isSecure: false)
        let server: any Upstream =
            switch form {
            case "dnspod": DNSPodUpstream(at: [endpoint], transport: transport)
            case "aliyun": AliyunUpstream(account: "1", service: service, transport: transport)
            default: try Aliyun2Upstream(account: "1", service: service, transport: transport)
            }
        let second = ScriptedUpstream("second") { _ in .fail(UpstreamError(.unreachable, "is away")) }
        var settings = ResolverConfiguration(upstreams: [server, second], system: nil)
        settings.families = .v4
        settings.network.monitor = nil
        let client = Resolver(settings)
        for number in 0..<4 {
            let error = await #expect(throws: ResolutionError.self) {
                try await client.resolve(Host("broken\(number).test"))
            }
            #expect(error?.failures.first?.error.code.reaction == .doNotRepeat, "\(error?.description ?? "-")")
        }
        #expect(try await client.resolve(Host("good.test")).upstream == server.name)
        await client.shutDown()
        await lab.stop()
    }
}
