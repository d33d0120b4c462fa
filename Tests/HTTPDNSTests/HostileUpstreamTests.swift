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

    @Test("an old server that refuses EDNS and leaves the question out is asked without EDNS")
    func formatErrorWithoutQuestion() async throws {
        let server = try await DNSServer.start(udp: { query in
            guard query.additionals.contains(where: { $0.type == .opt }) else {
                return [DNSServer.answer(query, "192.0.2.1")]
            }
            // FORMERR, and nothing but the header.
            let refusal = DNSMessage(id: query.id, flags: DNSMessage.Flags(bits: 0x8181), questions: [], answers: [])
            return [DNSServer.Datagram(octets: refusal.encoded() ?? [])]
        })
        let upstream = try DNSUpstream(at: [server.endpoint])
        #expect(try await upstream.answer(Self.www) == v4("192.0.2.1"))
        await server.stop()
    }

    @Test("a connection that is being opened across a change of the network is not waited for")
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

    @Test("a 403 of DNSPod's plain form, which names no account, does not rest the upstream for long")
    func portal() async throws {
        let transport = ScriptedTransport(.text("log in", status: 403))
        let upstream = DNSPodUpstream(at: [Endpoint(IPAddress(v4: 0xc000_0201), port: 80)], transport: transport)
        let error = await #expect(throws: UpstreamError.self) { try await upstream.answer(Self.www) }
        #expect(error?.code == .serverFailure)
    }

    @Test("a 407 of Aliyun's unsigned form does not rest the upstream for long")
    func aliyunPortal() async throws {
        let transport = ScriptedTransport(.text("log in", status: 407))
        let service = AliyunService(at: addresses("192.0.2.101"), isSecure: false)
        let upstream = AliyunUpstream(account: "100000", service: service, transport: transport)
        let error = await #expect(throws: UpstreamError.self) { try await upstream.answer(Self.www) }
        #expect(error?.code == .serverFailure)
    }

    @Test("what a server says is cut in errors, which are kept and logged")
    func longMessage() {
        let error = UpstreamError(.malformedAnswer, String(repeating: "x", count: 100_000))
        #expect(error.message.utf8.count < 500)
    }

    @Test("what an upstream says besides addresses counts in the octets of the cache")
    func extraIsCounted() {
        var cache = AnswerCache(maxEntries: 1_000, maxOctets: 100_000)
        let now = Moment(nanoseconds: 0)
        for index in 0..<100 {
            let extra = String(repeating: "x", count: 10_000)
            var entry = AnswerCache.Entry(provenance: Provenance(upstream: "one", kind: .service, extra: extra))
            (entry.v4, _) = KeepingRules().kept(v4("192.0.2.1"), asked: .v4, now: now)
            let name = "n\(index).example"
            cache.store(AnswerCache.Key(name, realm: 1, hash: AnswerCache.Key.hash(of: name)), entry)
        }
        #expect(cache.count < 10)
    }

    @Test("no time that a program reports makes the ranking trap")
    func reportedTimes() {
        var ranking = EndpointRanking(limits: .init())
        let endpoint = Endpoint(IPAddress(v4: 0xc000_0201), port: 443)
        let now = Moment(nanoseconds: 0)
        for time in [Duration.seconds(1), .nanoseconds(Int64.min), .seconds(Int64.max), .nanoseconds(Int64.min)] {
            ranking.succeeded(endpoint, after: time, now: now)
        }
        #expect(ranking.roundTrip(endpoint, now: now).map { $0 >= .zero } ?? false)
    }

    /// Is set where a look-up would run on its caller's thread, as part of the caller's task.
    @TaskLocal private static var isCaller = false

    @Test("however many ask the system at once before its threads run, none looks up on its own thread")
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

    @Test("work that the threads hand back is not done on its caller's thread")
    func handedBack() {
        // Its threads were never started.
        let pool = NIOThreadPool(numberOfThreads: 1)
        let outcome = NIOLockedValueBox<Result<[IPAddress], UpstreamError>?>(nil)
        pool.submit { state in
            let result = BlockingWork.outcome(of: { .success(addresses("192.0.2.1")) }, in: state)
            outcome.withLockedValue { $0 = result }
        }
        #expect(outcome.withLockedValue { $0 }.map { (try? $0.get()) == nil } ?? false)
    }

    @Test("a hosts file that is a pipe without a writer holds no caller that is cancelled")
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
        // Lets the thread go: a writer comes, and is gone.
        let writer = open(path, O_RDWR | O_NONBLOCK)
        close(writer)
        await until { upstream.waiting == 0 }
    }
}
