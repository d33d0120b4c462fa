// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import Names
import Testing

@testable import BeelineServer

@Suite("Client tables that lose entries", .timeLimit(.minutes(10)))
struct ChurnTests {
    @Test("the counts of open connections per client match the model", arguments: [3, 2_000])
    func connections(_ clients: Int) async {
        var counts = ConnectionCounts()
        let (limit, clientLimit) = (clients * 2, 3)
        var random = SeededRandom(seed: UInt64(clients))
        var model: [Int: Int] = [:]
        var open = 0
        for round in 0..<ChurnRounds.count {
            if round % 256 == 0 { await Task.yield() }
            let index = Int.random(in: 0..<clients, using: &random)
            let client = IPAddress(v4: UInt32(index))
            if Bool.random(using: &random) {
                let isOpened = counts.add(client, limit: limit, clientLimit: clientLimit)
                #expect(isOpened == (open < limit && model[index, default: 0] < clientLimit))
                if isOpened { (model[index, default: 0], open) = (model[index, default: 0] + 1, open + 1) }
            } else if let own = model[index], own > 0 {
                counts.remove(client)
                (model[index], open) = (own - 1, open - 1)
            }
            #expect(counts.open == open)
        }
    }

    @Test("a cache of generations finds what was stored last, and is bounded", arguments: [10, 300])
    func generations(_ keys: Int) async {
        let bound = 40
        // Every fourth value costs more than a half may.
        let costOf = { @Sendable (value: Int) in value % 4 == 0 ? 1_000 : 1 }
        var cache = GenerationCache<Int, Int>(maxCount: bound, maxCost: 1_000, cost: costOf)
        var random = SeededRandom(seed: UInt64(keys))
        var model: [Int: Int] = [:]
        for round in 0..<ChurnRounds.count {
            if round % 256 == 0 { await Task.yield() }
            let key = Int.random(in: 0..<keys, using: &random)
            switch Int.random(in: 0..<200, using: &random) {
            case 0:
                cache.removeAll()
                model = [:]
            case 1..<100:
                cache.store(round, for: key)
                model[key] = round % 4 == 0 ? nil : round
                let found = cache.find(key)
                #expect(found == model[key])
            default:
                // An older value may have been dropped.
                if let found = cache.find(key) { #expect(found == model[key]) }
            }
            #expect(cache.count <= 2 * bound)
        }
    }

    @Test("the rate limits per client match the model", arguments: [(5, 10), (3_000, 5_000), (3_000, 200)])
    func limiter(_ clients: Int, _ bound: Int) async {
        var random = SeededRandom(seed: UInt64(clients + bound))
        // The time of a step refills less than one question.
        var limiter = RateLimiter(perSecond: 1, burst: 4, maxClients: bound)
        var model: [Int: (questions: Double, seen: Int64)] = [:]
        var now: Int64 = 0
        for round in 0..<ChurnRounds.count {
            if round % 256 == 0 { await Task.yield() }
            now += Int64.random(in: 0..<1_000_000_000, using: &random)
            let index = Int.random(in: 0..<clients, using: &random)
            var bucket = model[index] ?? (4, now)
            bucket.questions = min(4, bucket.questions + Double(now - bucket.seen) / 1e9)
            let isAllowed = bucket.questions >= 1
            model[index] = (isAllowed ? bucket.questions - 1 : bucket.questions, now)
            let allows = limiter.allows(IPAddress(v4: UInt32(index)), now: now)
            // A table that is too small may forget a client, which then has a full bucket again.
            #expect(bound < clients ? allows || !isAllowed : allows == isAllowed)
            if allows != isAllowed { model[index] = (3, now) }
            #expect(limiter.count <= bound)
        }
    }
}
