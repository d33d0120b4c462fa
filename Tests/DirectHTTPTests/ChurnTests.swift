// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOCore
import Names
import Testing

@testable import DirectHTTP
@testable import HTTPWire
@testable import TLSInternals

/// Random insertions, deletions and lookups of absent keys, compared with a plain model.
@Suite("Connection tables under random insertions and deletions", .timeLimit(.minutes(10)))
struct ChurnTests {
    @Test("the HPACK tables of both sides stay equal through insertions, evictions and resizes", arguments: [8, 3_000])
    func headerTables(_ names: Int) async throws {
        var random = SeededRandom(seed: UInt64(names))
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder(maxListSize: 1 << 20, maxFields: 1_000)
        var fields = 0
        while fields < ChurnRounds.count {
            await Task.yield()
            if Int.random(in: 0..<50, using: &random) == 0 {
                encoder.setMaximumTableSize(Int.random(in: 0...5_000, using: &random))
            }
            var block = ByteBuffer()
            encoder.begin(into: &block)
            var sent: [String] = []
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                let name = "x-name-\(Int.random(in: 0..<names, using: &random))"
                let value = String(repeating: "v", count: Int.random(in: 0..<40, using: &random))
                let indexing: HPACKEncoder.Indexing =
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: .none
                    case 1: .never
                    default: .incremental
                    }
                encoder.encode(name, value: value, indexing: indexing, into: &block)
                sent.append("\(name): \(value)")
            }
            let read = try #require(HPACKTests.decode(block, with: &decoder))
            #expect(read == sent)
            fields += sent.count
        }
    }

    @Test("the table of TLS sessions agrees with its model", arguments: [3, 128, 1_000])
    func sessions(_ names: Int) async {
        typealias Table = TLSSessionTable<Int>
        var random = SeededRandom(seed: UInt64(names))
        var table = Table()
        // The least recently used name comes first.
        var model: [(name: Int, sessions: [Int])] = []
        for round in 0..<ChurnRounds.count {
            if round % 256 == 0 { await Task.yield() }
            let name = Int.random(in: 0..<names, using: &random)
            let place = model.firstIndex { $0.name == name }
            switch Int.random(in: 0..<7, using: &random) {
            case 0...2:
                var known = place.map { model.remove(at: $0) } ?? (name: name, sessions: [])
                if place == nil, model.count == Table.maxNames { model.removeFirst() }
                known.sessions = (known.sessions + [round]).suffix(Table.sessionsPerName)
                model.append(known)
                table.keep(round, for: "\(name)")
            case 3:
                if let place { model.remove(at: place) }
                table.forget("\(name)")
            case 4:
                let taken = table.take(for: "absent")
                #expect(taken == nil)
            default:
                var expected: Int?
                if let place {
                    model.append(model.remove(at: place))
                    expected = model[model.count - 1].sessions.popLast()
                }
                let taken = table.take(for: "\(name)")
                #expect(taken == expected)
            }
            #expect(table.count == model.count)
        }
    }

    @Test("the table of hosts that require TLS agrees with its model", arguments: [(5, 3), (200, 50), (200, 1_000)])
    func hosts(_ count: Int, _ bound: Int) async throws {
        var random = SeededRandom(seed: UInt64(count + bound))
        var table = HSTSTable(maxEntries: bound)
        // The first that was recorded comes first.
        var model: [HSTSEntry] = []
        let hosts = try (0..<count).map { try Host("h\($0).test") }
        var now: Int64 = 1_000
        for round in 0..<ChurnRounds.count {
            if round % 256 == 0 { await Task.yield() }
            now += Int64.random(in: 0..<3, using: &random)
            let host = hosts[Int.random(in: 0..<count, using: &random)]
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                table.remove(host.text)
                model.removeAll { $0.host == host.text }
            case 1:
                let end = try #require(StrictTransportSecurity(fieldValue: "max-age=0"))
                table.record(end, of: host, now: now)
                model.removeAll { $0.host == host.text }
            case 2...4:
                let age = Int64.random(in: 1...500, using: &random)
                let policy = try #require(StrictTransportSecurity(fieldValue: "max-age=\(age)"))
                table.record(policy, of: host, now: now)
                model.removeAll { $0.host == host.text }
                model.append(try #require(HSTSEntry(host: host, includesSubdomains: false, expiresAt: now + age)))
                if model.count > bound { model.removeAll { $0.expiresAt <= now } }
                if model.count > bound { model.removeFirst() }
            default:
                let isKnown = model.contains { $0.host == host.text && $0.expiresAt > now }
                let requiresTLS = table.requiresTLS(host.text, now: now)
                #expect(requiresTLS == isKnown)
            }
            if round % 64 == 0 {
                let entries = table.entries(now: now)
                let expected = model.filter { $0.expiresAt > now }
                #expect(entries == expected)
            }
        }
    }

    @Test("the memory of failed endpoints agrees with its model", arguments: [(6, 10), (300, 1_000), (300, 40)])
    func endpoints(_ count: Int, _ bound: Int) async throws {
        var random = SeededRandom(seed: UInt64(count + bound))
        var settings = DialSettings()
        settings.rememberedFailures = bound
        var memory = EndpointMemory(settings)
        let pause = TimeAmount(settings.failurePause)
        let origin = Origin(scheme: .https, host: try Host("a.test"))
        let good = Endpoint(IPAddress(v4: 0x0a00_0001), port: 1)
        var model: [Int: (count: Int, until: NIODeadline)] = [:]
        var now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
        for round in 0..<ChurnRounds.count {
            if round % 256 == 0 { await Task.yield() }
            now = now + .milliseconds(Int64.random(in: 0..<500, using: &random))
            let index = Int.random(in: 0..<count, using: &random)
            let endpoint = Endpoint(IPAddress(v4: 0xc000_0200 + UInt32(index)), port: 443)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                memory.record(Attempt(endpoint: endpoint, outcome: .connected), of: origin, now: now)
                model[index] = nil
            case 1:
                memory.record(Attempt(endpoint: endpoint, outcome: .failed(.connectFailed, "")), of: origin, now: now)
                let known = model[index].flatMap { $0.until + pause > now ? $0.count : nil } ?? 0
                let factor = min(1 << min(known, 30), EndpointMemory.maxFactor)
                model[index] = (known + 1, now + pause * factor)
            default:
                let isLast = memory.ordered([endpoint, good], for: origin, now: now) == [good, endpoint]
                let rests = model[index].map { $0.until > now } ?? false
                // If the bound is below the number of endpoints, a failure may be forgotten.
                #expect(bound < count ? !isLast || rests : isLast == rests)
            }
            #expect(memory.count <= bound)
        }
    }

    // MARK: Pool

    private final class Line: Sendable {}
    private typealias Pool = PoolState<Int, Line>

    /// The callers of a pool, and the invariants of the pool.
    private struct Play {
        var pool: Pool
        let limit: Int
        /// The connections that callers were told to open, by origin.
        var openings: [Int] = []
        /// The connections that serve one caller each.
        var lent: [(origin: Int, line: Line)] = []
        var waiting: [(origin: Int, waiter: Int)] = []
        var closed = 0

        mutating func take(_ wakes: [Pool.Wake], _ origin: Int) {
            for wake in wakes {
                take(wake.lease, origin)
                let place = waiting.firstIndex { $0.waiter == wake.waiter && $0.origin == origin }
                #expect(place != nil, "woken twice, or after it left")
                if let place { waiting.remove(at: place) }
            }
        }

        mutating func take(_ lease: Pool.Lease, _ origin: Int) {
            switch lease {
            case .reuse(let line):
                #expect(!lent.contains { $0.line === line })
                lent.append((origin, line))
            case .open: openings.append(origin)
            case .wait(let waiter): waiting.append((origin, waiter))
            case .full:
                let waiters = waiting.count { $0.origin == origin }
                #expect(waiters == 5)
            }
        }
    }

    @Test("the pool lends no connection twice, loses no place, and wakes all waiters", arguments: [1, 200])
    func pool(_ origins: Int) async {
        var random = SeededRandom(seed: UInt64(origins))
        var play = Play(pool: Pool(connectionsPerOrigin: 3, waitersPerOrigin: 5, maxIdle: origins), limit: 3)
        for round in 0..<ChurnRounds.count {
            if round % 256 == 0 { await Task.yield() }
            let origin = Int.random(in: 0..<origins, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3:
                let lease = play.pool.lease(
                    origin,
                    fresh: false,
                    mayShare: false,
                    isPreferred: { _ in true }
                )
                play.take(lease, origin)
            case 4, 5:
                guard !play.openings.isEmpty else { break }
                let opened = play.openings.remove(at: Int.random(in: 0..<play.openings.count, using: &random))
                if Int.random(in: 0..<4, using: &random) == 0 {
                    play.take(play.pool.openingFailed(opened), opened)
                } else {
                    let line = Line()
                    play.lent.append((opened, line))
                    play.take(play.pool.opened(line, key: opened, capacity: nil), opened)
                }
            case 6...8:
                guard !play.lent.isEmpty else { break }
                let (from, line) = play.lent.remove(at: Int.random(in: 0..<play.lent.count, using: &random))
                if Int.random(in: 0..<4, using: &random) == 0 {
                    play.take(play.pool.closed(line, key: from, isShared: false), from)
                } else {
                    let released = play.pool.release(line, key: from, isShared: false)
                    play.take(released.wakes, from)
                    if !released.keep { play.take(play.pool.closed(line, key: from, isShared: false), from) }
                }
            default:
                guard !play.waiting.isEmpty else { break }
                let leaving = play.waiting.remove(at: Int.random(in: 0..<play.waiting.count, using: &random))
                let left = play.pool.leave(leaving.waiter, key: leaving.origin)
                let leftTwice = play.pool.leave(leaving.waiter, key: leaving.origin)
                #expect(left && !leftTwice)
            }
            let opening = play.openings.count { $0 == origin }
            let own = play.lent.count { $0.origin == origin } + opening
            #expect(own <= play.limit && play.pool.idleCount <= origins)
            // A free place is kept from a waiter only until an opening connection shows the origin's protocol.
            #expect(own == play.limit || opening > 0 || !play.waiting.contains { $0.origin == origin })
        }
        for opening in play.openings { play.take(play.pool.openingFailed(opening), opening) }
    }
}
