// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import MetricsTestKit
import Names
import Testing

@testable import HTTPDNS

@Suite("Probes, metrics and hosts files")
struct MeasuringTests {
    @Test("a prefetch with probes puts endpoints that refuse connections last", .timeLimit(.minutes(1)))
    func probing() async throws {
        let dead = try RefusedEndpoint(address: "127.0.0.2")
        let port = dead.endpoint.port
        let site = try await RawServer.start(addresses: ["127.0.0.3"], port: port) { _ in }
        let upstream = ScriptedUpstream("one", .answer(v4("127.0.0.2 127.0.0.3", ttl: 300)))
        var configuration = ResolverConfiguration(upstreams: [upstream], system: nil)
        configuration.families = .v4
        configuration.check.allowsLocalAnswers = true
        configuration.network.monitor = nil
        let resolver = Resolver(configuration)
        let name = host("www.a.test")
        await resolver.prefetch([name])
        #expect(resolver.cached(name, port: port)?.addresses == addresses("127.0.0.2 127.0.0.3"))
        await resolver.prefetch([name], probing: port)
        #expect(resolver.cached(name, port: port)?.addresses == addresses("127.0.0.3 127.0.0.2"))
        // The probe says nothing about other ports.
        #expect(resolver.cached(name, port: 443)?.addresses == addresses("127.0.0.2 127.0.0.3"))
        #expect(upstream.questions.count == 1)
        await resolver.shutDown()
        await site.stop()
        dead.close()
    }

    @Test("questions and their durations are reported to swift-metrics, by upstream and outcome")
    func metrics() async throws {
        let metrics = TestMetrics()
        let bad = ScriptedUpstream("bad") { _ in .fail(UpstreamError(.unreachable, "is away")) }
        let good = ScriptedUpstream("good") { _ in .answer(v4("192.0.2.1", ttl: 300)) }
        var configuration = ResolverConfiguration(upstreams: [bad, good], system: nil)
        configuration.families = .v4
        configuration.metrics = ResolverMetrics(factory: metrics)
        let resolver = Resolver(configuration, clock: ManualClock())
        for name in ["a.test", "b.test", "b.test"] { _ = try await resolver.resolve(host(name)) }
        let failed = try metrics.expectCounter(
            "beeline_dns_questions",
            [("upstream", "bad"), ("outcome", "\(UpstreamError.Code.unreachable)")]
        )
        #expect(failed.totalValue == 2)
        let answered = try metrics.expectCounter(
            "beeline_dns_questions",
            [("upstream", "good"), ("outcome", "answer")]
        )
        #expect(answered.totalValue == 2)
        #expect(try metrics.expectTimer("beeline_dns_answer_time", [("upstream", "good")]).values.count == 2)
        configuration.metrics?.found(resolver.counts, since: CacheCounts())
        #expect(try metrics.expectCounter("beeline_dns_lookups", [("found", "cached")]).totalValue == 1)
        #expect(try metrics.expectCounter("beeline_dns_lookups", [("found", "missed")]).totalValue == 2)
        await resolver.shutDown()
    }

    @Test("a changed hosts file is read again, and a missing one is a failure")
    func hostsFile() async throws {
        let path = NSTemporaryDirectory() + "/beeline-hosts-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let upstream = HostsFileUpstream(path: path)
        let question = Question(host("db.test"), families: .v4)
        await #expect(throws: UpstreamError.self) { try await upstream.answer(question) }
        for text in ["127.0.0.9 db.test\n", "192.0.2.10 db.test # moved\n"] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            let address = String(text.prefix { $0 != " " })
            #expect(try await upstream.answer(question).v4?.addresses == addresses(address))
        }
        try FileManager.default.removeItem(atPath: path)
        await #expect(throws: UpstreamError.self) { try await upstream.answer(question) }
    }

    @Test("a hosts file that is a pipe is read only once, and its content is kept", .timeLimit(.minutes(1)))
    func hostsPipe() async throws {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data("192.0.2.7 pipe.test\n".utf8))
        try pipe.fileHandleForWriting.close()
        let upstream = HostsFileUpstream(path: "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)")
        let question = Question(host("pipe.test"), families: .v4)
        for _ in 0..<2 { #expect(try await upstream.answer(question).v4?.addresses == addresses("192.0.2.7")) }
    }

    @Test("the extra data of an answer reaches the caller")
    func extra() async throws {
        let upstream = ScriptedUpstream(
            "one",
            .answer(Answer(v4: .addresses(addresses("192.0.2.1"), ttl: .seconds(60)), extra: "{\"a\":1}"))
        )
        var configuration = ResolverConfiguration(upstreams: [upstream], system: nil)
        configuration.families = .v4
        let resolver = Resolver(configuration, clock: ManualClock())
        #expect(try await resolver.resolve(host("a.test")).extra == "{\"a\":1}")
        #expect(resolver.cached(host("a.test"))?.extra == "{\"a\":1}")
    }
}
