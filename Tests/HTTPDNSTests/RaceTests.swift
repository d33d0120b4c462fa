// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Names
import Testing

@testable import HTTPDNS

@Suite("Concurrent changes in the resolver", .timeLimit(.minutes(2)))
struct RaceTests {
    static let www = host("www.example.com")

    @Test("failures of questions from the previous network do not count against an upstream")
    func healthOfAnotherNetwork() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one", .silence, .answer(v4("192.0.2.1")))
        let resolver = KeepingTests.resolver([upstream], clock: clock) { $0.limits.failuresUntilDown = 1 }
        let lost = Task { try await resolver.resolve(Self.www) }
        await until { upstream.questions.count == 1 && clock.sleeperCount == 1 }
        await resolver.networkChanged(to: Network(id: "work", families: .both))
        clock.advance(by: .seconds(2))
        await #expect(throws: ResolutionError.self) { try await lost.value }
        #expect(try await resolver.resolve(host("other.example")).source == .fresh)
    }

    @Test("a timeout does not count against an upstream that has answered another question since")
    func slowNameOfAGoodUpstream() async throws {
        let clock = ManualClock()
        let slow = host("slow.example")
        let upstream = ScriptedUpstream("one") { $0.host == slow ? .silence : .answer(v4("192.0.2.1")) }
        let resolver = KeepingTests.resolver([upstream], clock: clock) { $0.limits.failuresUntilDown = 1 }
        let lost = Task { try await resolver.resolve(slow) }
        await until { upstream.questions.count == 1 && clock.sleeperCount == 1 }
        clock.advance(by: .seconds(1))
        _ = try await resolver.resolve(Self.www)
        clock.advance(by: .seconds(1))
        await #expect(throws: ResolutionError.self) { try await lost.value }
        #expect(try await resolver.resolve(host("other.example")).source == .fresh)
    }

    @Test("names in use are refreshed in the next network after a moment without a network")
    func namesAcrossNoNetwork() async throws {
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1")) }
        let resolver = KeepingTests.resolver([upstream], clock: ManualClock())
        await resolver.networkChanged(to: Network(id: "home", families: .both))
        for _ in 0..<3 { _ = try await resolver.resolve(Self.www) }
        await resolver.networkChanged(to: .unknown)
        #expect(upstream.questions.count == 1)
        await resolver.networkChanged(to: Network(id: "work", families: .both))
        #expect(upstream.questions.count == 2)
    }

    @Test("names in use are refreshed in the network that follows an unreachable one")
    func namesAcrossPortal() async throws {
        let answers = NIOLockedValueBox(true)
        let upstream = ScriptedUpstream("one") { _ in
            answers.withLockedValue { $0 } ? .answer(v4("192.0.2.1")) : .fail(UpstreamError(.unreachable, "a portal"))
        }
        let resolver = KeepingTests.resolver([upstream], clock: ManualClock())
        await resolver.networkChanged(to: Network(id: "home", families: .both))
        for _ in 0..<3 { _ = try await resolver.resolve(Self.www) }
        answers.withLockedValue { $0 = false }
        await resolver.networkChanged(to: Network(id: "portal", families: .both))
        #expect(resolver.cached(Self.www) == nil)
        answers.withLockedValue { $0 = true }
        await resolver.networkChanged(to: Network(id: "cellular", families: .both))
        #expect(resolver.cached(Self.www) != nil)
    }

    @Test("a failure because of too many open questions is not kept")
    func busyIsNotKept() async throws {
        let isBusy = NIOLockedValueBox(true)
        let upstream = ScriptedUpstream("one") { _ in
            isBusy.withLockedValue { $0 } ? .fail(UpstreamError(.busy, "no room")) : .answer(v4("192.0.2.1"))
        }
        let resolver = KeepingTests.resolver([upstream], clock: ManualClock())
        await #expect(throws: ResolutionError.self) { _ = try await resolver.resolve(Self.www) }
        isBusy.withLockedValue { $0 = false }
        #expect(try await resolver.resolve(Self.www).addresses == addresses("192.0.2.1"))
    }

    @Test("unanswered questions do not block an upstream's connection")
    func manyPending() throws {
        let channel = EmbeddedChannel()
        let handler = DNSStreamHandler(secured: nil, silence: .seconds(1))
        try channel.pipeline.syncOperations.addHandler(handler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 853)).wait()
        let promises = (0..<1_024).map { _ in channel.eventLoop.makePromise(of: [UInt8].self) }
        for promise in promises { handler.ask({ [UInt8($0 >> 8), UInt8($0 & 0xff)] }, promise: promise) }
        var sent = 0
        while try channel.readOutbound(as: ByteBuffer.self) != nil { sent += 1 }
        #expect(sent == promises.count)
        for promise in promises { promise.fail(UpstreamError(.cancelled, "cancelled")) }
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("an error message is bounded in octets, even when one letter has many combining marks")
    func longMessage() {
        let error = UpstreamError(.malformedAnswer, "e" + String(repeating: "\u{301}", count: 60_000))
        #expect(error.message.utf8.count <= UpstreamError.maxMessage + 8)
    }

    @Test("too many open questions of our own do not count against the upstream")
    func busyIsOurs() {
        var health = UpstreamHealth(count: 1, failuresUntilDown: 3, limits: .init())
        let busy = UpstreamSchedule.Event.failed(upstream: 0, .v4, UpstreamError(.busy, "100 queries wait"))
        for _ in 0..<5 { health.record(busy, after: .zero, now: Moment(nanoseconds: 0)) }
        #expect(health.choose(among: [0], now: Moment(nanoseconds: 0)).upstreams == [0])
    }

    /// A batch upstream that answers when the gate opens.
    final class HeldBatch: BatchUpstream {
        let name = "batch"
        let maxNames = 1
        let gate = Gate()

        func answer(_ question: Question) async throws(UpstreamError) -> Answer { v4("192.0.2.9") }

        func answers(_ hosts: [Host], families: Families) async throws(UpstreamError) -> [Host: Answer] {
            do { try await gate.wait() } catch { throw UpstreamError(.cancelled, "cancelled") }
            return Dictionary(uniqueKeysWithValues: hosts.map { ($0, v4("192.0.2.1")) })
        }
    }

    @Test("a shutdown ends a running prefetch without waiting for its time limit")
    func shutdownInPrefetch() async throws {
        let upstream = HeldBatch()
        // The clock stands still, so no time limit expires.
        let resolver = KeepingTests.resolver([upstream], clock: ManualClock())
        let prefetch = Task { await resolver.prefetch([host("a.test"), host("b.test")]) }
        try await upstream.gate.arrivals(atLeast: 1)
        try await withTimeLimit(.seconds(20), for: { "the shutdown" }) { await resolver.shutDown() }
        await prefetch.value
        #expect(resolver.state.withLockedValue { $0.onClose.isEmpty })
    }

    @Test("a cancelled prefetch does not count against the upstream")
    func cancelledPrefetch() async throws {
        let batch = HeldBatch()
        let resolver = KeepingTests.resolver([batch], clock: ManualClock())
        let prefetch = Task { await resolver.prefetch((0..<6).map { host("n\($0).example") }) }
        try await batch.gate.arrivals(atLeast: 1)
        prefetch.cancel()
        await prefetch.value
        #expect(try await resolver.resolve(Self.www).source == .fresh)
    }

    @Test("work on many names ends with its task, and with the resolver", arguments: [true, false])
    func cancelledForEach(_ isCancelled: Bool) async throws {
        let resolver = KeepingTests.resolver([ScriptedUpstream("one")], clock: ManualClock()) {
            $0.limits.prefetchWidth = 1
        }
        let gate = Gate()
        let done = NIOLockedValueBox(0)
        let work = Task {
            await resolver.forEach(Array(0..<100)) { _ in
                done.withLockedValue { $0 += 1 }
                try? await gate.wait()
            }
        }
        try await gate.arrivals(atLeast: 1)
        if isCancelled { work.cancel() } else { await resolver.shutDown() }
        gate.open()
        await work.value
        #expect(done.withLockedValue { $0 } == 1)
        await resolver.shutDown()
    }

    @Test("a comparison asks no upstream after the resolver was shut down")
    func askAllAfterShutdown() async {
        let upstream = ScriptedUpstream("one")
        let resolver = KeepingTests.resolver([upstream], clock: ManualClock())
        await resolver.shutDown()
        let reports = await resolver.askAll(Self.www)
        #expect(upstream.questions.isEmpty)
        #expect(reports.count == 1)
        #expect(throws: UpstreamError.self) { for report in reports { _ = try report.result.get() } }
    }

    @Test("concurrent network changes leave the resolver in a single network")
    func concurrentChanges() async {
        let resolver = KeepingTests.resolver([ScriptedUpstream("one")], clock: ManualClock())
        var mismatches = 0
        for _ in 0..<3_000 {
            await withTaskGroup(of: Void.self) { group in
                for id in 0..<4 {
                    group.addTask { await resolver.networkChanged(to: Network(id: "\(id)", families: .v4)) }
                }
            }
            let (network, scopes) = resolver.state.withLockedValue { ($0.machine.ranking.network, $0.machine.scopes) }
            if network.id != scopes.all.last?.id { mismatches += 1 }
        }
        #expect(mismatches == 0)
        await resolver.shutDown()
    }

    @Test("the answers of a prefetch belong to the network in which it was started")
    func prefetchAcrossNetworks() async throws {
        let batch = HeldBatch()
        let resolver = KeepingTests.resolver([batch], clock: ManualClock())
        let names = (0..<2).map { host("n\($0).example") }
        let prefetch = Task { await resolver.prefetch(names) }
        try await batch.gate.arrivals(atLeast: 2)
        await resolver.networkChanged(to: Network(id: "work", families: .both))
        batch.gate.open()
        await prefetch.value
        #expect(resolver.cached(names[0])?.addresses != addresses("192.0.2.1"))
        await resolver.shutDown()
    }

    @Test("a second change of network is noticed while names are still being refreshed after the first")
    func changeWhileAsking() async throws {
        let clock = ManualClock()
        let monitor = NetworkTests.ScriptedMonitor()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")), .silence, .silence, .silence)
        let resolver = KeepingTests.resolver([upstream], clock: clock) { $0.network.monitor = monitor }
        let running = Task { await resolver.run() }
        await until { resolver.network.id == "home" }
        for _ in 0..<3 { _ = try await resolver.resolve(Self.www) }
        for id in ["dead", "work"] {
            monitor.change(to: Network(id: id, families: .both))
            await until { clock.nextDeadline.map { $0 <= clock.now.advanced(by: .milliseconds(500)) } ?? false }
            clock.advance(by: .milliseconds(500))
            await until { resolver.network.id == id }
            if id == "dead" { await until { upstream.questions.count == 2 } }
        }
        await resolver.shutDown()
        await running.value
    }

    @Test("a cancelled caller and a shutdown cancel both questions of a hedge", arguments: [true, false])
    func hedgeIsCancelled(isCancelled: Bool) async throws {
        let clock = ManualClock()
        let upstreams = ["one", "two"].map { ScriptedUpstream($0) { _ in .silence } }
        let resolver = KeepingTests.resolver(upstreams, clock: clock) { $0.order = .hedge }
        let lookup = Task { try await resolver.resolve(Self.www) }
        await until { upstreams[0].questions.count == 1 && clock.sleeperCount == 1 }
        clock.advance(by: .milliseconds(250))
        await until { upstreams[1].questions.count == 1 }
        if isCancelled { lookup.cancel() } else { await resolver.shutDown() }
        let error = await #expect(throws: ResolutionError.self) { try await lookup.value }
        #expect(error?.code == (isCancelled ? .cancelled : .shutDown))
        await resolver.waitUntilIdle()
        #expect(upstreams.map(\.cancelled) == [1, 1])
        #expect(resolver.state.withLockedValue { $0.questions.isEmpty })
        await resolver.shutDown()
    }

    /// Shared answers that are empty, and to which sharing takes until it is cancelled.
    private struct StuckAnswers: SharedAnswers {
        let gate = Gate()

        func answer(to question: Question, from upstream: String) async -> Answer? { nil }
        func share(_ answer: Answer, to question: Question, from upstream: String) async { try? await gate.wait() }
    }

    @Test("a shutdown cancels the sharing of an answer, which belongs to no lookup any more")
    func shutdownWhileSharing() async throws {
        let shared = StuckAnswers()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")))
        let resolver = KeepingTests.resolver([upstream], clock: ManualClock()) { $0.cache.shared = shared }
        _ = try await resolver.resolve(Self.www)
        try await shared.gate.arrivals(atLeast: 1)
        try await withTimeLimit(.seconds(20), for: { "the shutdown" }) { await resolver.shutDown() }
    }

    /// Records the networks that it is told.
    private final class Listener: Upstream, NetworkAware {
        let name = "listener"
        let heard = NIOLockedValueBox<[String]>([])

        func answer(_ question: Question) async throws(UpstreamError) -> Answer { v4("192.0.2.1") }
        func networkChanged(to network: Network) { heard.withLockedValue { $0.append(network.id) } }
    }

    @Test("a network change during the announcement of another one is announced after it")
    func announcements() async {
        let listener = Listener()
        let box = NIOLockedValueBox<Resolver?>(nil)
        let resolver = KeepingTests.resolver([listener], clock: ManualClock()) {
            $0.network.onChange = { network in
                guard network.id == "older", let resolver = box.withLockedValue({ $0 }) else { return }
                resolver.handle(.networkChanged(Network(id: "newer", families: .both)), now: resolver.time.now())
            }
        }
        box.withLockedValue { $0 = resolver }
        await resolver.networkChanged(to: Network(id: "older", families: .both))
        #expect(listener.heard.withLockedValue { $0 } == ["older", "newer"])
        #expect(resolver.network.id == "newer")
        box.withLockedValue { $0 = nil }
        await resolver.shutDown()
    }

    @Test("an older network change that ends last does not hide that the newer network's NAT64 prefixes are unknown")
    func olderChangeEndsLast() async throws {
        let gate = Gate()
        let silent = UpstreamError(.unreachable, "no network")
        let system = ScriptedUpstream("system", kind: .system, .hold(gate, Answer()), .fail(silent))
        let resolver = KeepingTests.resolver([ScriptedUpstream("one")], clock: ManualClock()) { $0.system = system }
        let older = Task { await resolver.networkChanged(to: Network(id: "older", families: .v6)) }
        try await gate.arrivals(atLeast: 1)
        await resolver.networkChanged(to: Network(id: "newer", families: .v6))
        #expect(resolver.state.withLockedValue { $0.background.lacksNAT64 })
        gate.open()
        await older.value
        #expect(resolver.state.withLockedValue { $0.background.lacksNAT64 })
        await resolver.shutDown()
    }
}
