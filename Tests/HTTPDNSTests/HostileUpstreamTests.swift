// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import NIOConcurrencyHelpers
import NIOPosix
import Names
import Testing

@testable import HTTPDNS

@Suite("Upstreams that are old, silent or hostile", .timeLimit(.minutes(2)))
struct HostileUpstreamTests {
    static let www = Question(host("www.example.com"), families: .v4)

    @Test("an old server that rejects EDNS and omits the question is asked again without EDNS")
    func formatErrorWithoutQuestion() async throws {
        let server = try await DNSServer.start(udp: { query in
            guard query.additionals.contains(where: { $0.type == .opt }) else {
                return [DNSServer.answer(query, "192.0.2.1")]
            }
            // FORMERR with a header only.
            let refusal = DNSMessage(id: query.id, flags: DNSMessage.Flags(bits: 0x8181), questions: [], answers: [])
            return [DNSServer.Datagram(octets: refusal.encoded() ?? [])]
        })
        let upstream = try DNSUpstream(at: [server.endpoint])
        #expect(try await upstream.answer(Self.www) == v4("192.0.2.1"))
        await server.stop()
    }

    @Test("a server whose datagrams are all broken is not called silent")
    func brokenDatagrams() async throws {
        let server = try await DNSServer.start(udp: { query in
            [DNSServer.Datagram(octets: Array(DNSServer.answer(query, "192.0.2.1").octets.dropLast()))]
        })
        let error = await #expect(throws: UpstreamError.self) {
            try await DNSUpstream(at: [server.endpoint]).answer(Self.www)
        }
        #expect(error?.code == .timeLimit)
        #expect(error?.message.contains("what arrived was broken") == true)
        await server.stop()
    }

    @Test("a question after a change of network does not wait for the old network's connection attempt")
    func dialAcrossNetworks() async throws {
        let hole = try await RawServer.start { connection in try await connection.hold() }
        let upstream = try DoTUpstream(host("dns.test"), at: [hole.endpoint.address], port: hole.port)
        let first = Task { try await upstream.answer(Self.www) }
        await until { hole.connections.accepted == 1 }
        upstream.networkChanged(to: Network(id: "work", families: .both))
        let second = Task { try await upstream.answer(Self.www) }
        await until { hole.connections.accepted == 2 }
        for task in [first, second] {
            task.cancel()
            await #expect(throws: UpstreamError.self) { try await task.value }
        }
        await hole.stop()
    }

    @Test("a 403 to DNSPod's plain form, which has no account, pauses the upstream only briefly")
    func portal() async throws {
        let transport = ScriptedTransport(.text("log in", status: 403))
        let upstream = DNSPodUpstream(at: [Endpoint(IPAddress(v4: 0xc000_0201), port: 80)], transport: transport)
        let error = await #expect(throws: UpstreamError.self) { try await upstream.answer(Self.www) }
        #expect(error?.code == .serverFailure)
    }

    @Test("a 407 to Aliyun's unsigned form pauses the upstream only briefly")
    func aliyunPortal() async throws {
        let transport = ScriptedTransport(.text("log in", status: 407))
        let service = AliyunService(at: addresses("192.0.2.101"), isSecure: false)
        let upstream = AliyunUpstream(account: "100000", service: service, transport: transport)
        let error = await #expect(throws: UpstreamError.self) { try await upstream.answer(Self.www) }
        #expect(error?.code == .serverFailure)
    }

    @Test(
        "a refused account without TLS, which a portal may send, pauses an upstream only briefly",
        arguments: ["log in", #"{"code":"InvalidAccount","msg":"no such account"}"#]
    )
    func portalBeforeAccounts(_ body: String) async throws {
        let place = [Endpoint(IPAddress(v4: 0xc000_0201), port: 80)]
        let aliyun = { (isSecure: Bool) in AliyunService(at: addresses("192.0.2.101"), isSecure: isSecure) }
        let makers: [(Bool, ScriptedTransport) throws -> (any Upstream)?] = [
            { $0 ? nil : DNSPodUpstream(.aes(id: "1", key: "0123456789abcdef"), at: place, transport: $1) },
            { $0 ? DNSPodUpstream(.token("t"), at: place, transport: $1) : nil },
            { AliyunUpstream(account: "1", secret: "s", service: aliyun($0), transport: $1) },
            { try Aliyun2Upstream(account: "1", secret: "00", service: aliyun($0), transport: $1) },
            { BaiduUpstream(account: "1", secret: "s", at: place, isSecure: $0, transport: $1) },
            { try VolcengineUpstream(account: "1", secret: "s", at: place, isSecure: $0, transport: $1) },
        ]
        for (index, make) in makers.enumerated() {
            for isSecure in [true, false] {
                let transport = ScriptedTransport(.text(body, status: 403))
                guard let upstream = try make(isSecure, transport) else { continue }
                let error = await #expect(throws: UpstreamError.self) { try await upstream.answer(Self.www) }
                #expect(error?.code == (isSecure ? .accountRefused : .serverFailure), "\(index)")
            }
        }
    }

    @Test("errors, which are kept and logged, shorten the text of a server")
    func longMessage() {
        let error = UpstreamError(.malformedAnswer, String(repeating: "x", count: 100_000))
        #expect(error.message.utf8.count < 500)
    }

    @Test("extra data of an answer counts towards the size of the cache")
    func extraIsCounted() {
        var cache = AnswerCache(maxEntries: 1_000, maxOctets: 100_000)
        let now = Moment(nanoseconds: 0)
        for index in 0..<100 {
            let extra = String(repeating: "x", count: 10_000)
            var entry = AnswerCache.Entry(provenance: Provenance(upstream: "one", kind: .service, extra: extra))
            (entry.v4, _) = ResolverConfiguration.Cache()
                .kept(v4("192.0.2.1"), of: Self.www.host, asked: .v4, now: now)
            let name = "n\(index).example"
            cache.store(entry, for: AnswerCache.Key(name, scope: 1, hash: AnswerCache.Key.hash(of: name)))
        }
        #expect(cache.count < 10)
    }

    @Test("no reported time makes the ranking trap")
    func reportedTimes() {
        var ranking = EndpointRanking(limits: .init())
        let endpoint = Endpoint(IPAddress(v4: 0xc000_0201), port: 443)
        let now = Moment(nanoseconds: 0)
        for time in [Duration.seconds(1), .nanoseconds(Int64.min), .seconds(Int64.max), .nanoseconds(Int64.min)] {
            ranking.succeeded(endpoint, after: time, now: now)
        }
        #expect(ranking.roundTrip(endpoint, now: now).map { $0 >= .zero } ?? false)
    }

    /// True while code runs in the caller's task, and so on the caller's thread.
    @TaskLocal private static var isCaller = false

    @Test("system lookups never run on a caller's thread, even before the thread pool has started")
    func lookUpsOnOwnThreads() async throws {
        let inline = NIOLockedValueBox(0)
        for _ in 0..<300 {
            let upstream = SystemUpstream(threads: 1) { _, _ in
                if Self.isCaller { inline.withLockedValue { $0 += 1 } }
                return .success(addresses("192.0.2.1"))
            }
            await Self.$isCaller.withValue(true) {
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 { group.addTask { _ = try? await upstream.answer(Self.www) } }
                }
            }
        }
        #expect(inline.withLockedValue { $0 } == 0)
    }

    @Test("work that the thread pool rejects is not done on the caller's thread")
    func handedBack() {
        // The threads of this pool are never started.
        let pool = NIOThreadPool(numberOfThreads: 1)
        let outcome = NIOLockedValueBox<Result<[IPAddress], UpstreamError>?>(nil)
        pool.submit { state in
            let result = BlockingWork.outcome(of: { .success(addresses("192.0.2.1")) }, in: state)
            outcome.withLockedValue { $0 = result }
        }
        #expect(outcome.withLockedValue { $0 }.map { (try? $0.get()) == nil } ?? false)
    }

    @Test("a cancelled caller does not wait for a hosts file that is a pipe without a writer")
    func silentPipe() async throws {
        let path = NSTemporaryDirectory() + "/beeline-pipe-\(UUID().uuidString)"
        try #require(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        let upstream = HostsFileUpstream(path: path)
        let question = Question(host("pipe.test"), families: .v4)
        let asked = Task { try await upstream.answer(question) }
        await until { upstream.waiting == 1 }
        asked.cancel()
        let error = await #expect(throws: UpstreamError.self) { try await asked.value }
        #expect(error?.code == .cancelled)
        // A writer that opens and closes the pipe releases the thread.
        let writer = open(path, O_RDWR | O_NONBLOCK)
        close(writer)
        await until { upstream.waiting == 0 }
    }
}
