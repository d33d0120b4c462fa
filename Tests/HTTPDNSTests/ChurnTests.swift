// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Names
import Testing

@testable import HTTPDNS

/// Random insertions, removals and lookups of absent keys, compared with a plain model.
@Suite("Tables that lose entries", .timeLimit(.minutes(10)))
struct ChurnTests {
    struct Size: Sendable, CustomTestStringConvertible {
        var keys: Int
        var bound: Int
        /// The number of hashes that the keys share. nil gives each key its own hash.
        var hashes: Int?
        var testDescription: String { "\(keys) keys, room for \(bound), \(hashes.map(String.init) ?? "all") hashes" }
    }

    private static func marked(_ marker: Int) -> AnswerCache.Entry {
        var entry = AnswerCache.Entry(provenance: Provenance(upstream: "", kind: .service))
        entry.retryAt = Moment(nanoseconds: Int64(marker))
        return entry
    }

    @Test(
        "the answer cache matches the model",
        arguments: [
            Size(keys: 12, bound: 12), Size(keys: 40, bound: 9), Size(keys: 40, bound: 40, hashes: 3),
            Size(keys: 64, bound: 20, hashes: 1), Size(keys: 6_000, bound: 6_000), Size(keys: 6_000, bound: 2_000),
            Size(keys: 3_000, bound: 3_000, hashes: 100),
        ]
    )
    func answers(_ size: Size) async {
        var random = SeededRandom(seed: UInt64(size.keys))
        var cache = AnswerCache(maxEntries: size.bound, maxOctets: .max)
        // Adjacent hashes make long runs in the table, and the last runs wrap around its end.
        let keys = (0..<size.keys).map { index in
            AnswerCache.Key(
                "n\(index)",
                scope: 1,
                hash: size.hashes.map { index % $0 - 2 } ?? AnswerCache.Key.hash(of: "n\(index)")
            )
        }
        var model: [Int: Int] = [:]
        let isExact = size.bound >= size.keys
        for round in 0..<ChurnRounds.count {
            if round % 256 == 0 { await Task.yield() }
            let index = Int.random(in: 0..<size.keys, using: &random)
            let key = keys[index]
            switch Int.random(in: 0..<8, using: &random) {
            case 0...2:
                cache.store(Self.marked(round), for: key)
                model[index] = round
                #expect(cache.count <= size.bound)
            case 3, 4:
                let was = model.removeValue(forKey: index) != nil
                let removed = cache.remove(key)
                #expect(isExact ? removed == was : !removed || was)
            case 5:
                let absent = AnswerCache.Key("absent", scope: 1, hash: key.hash)
                let otherScope = AnswerCache.Key(key.name, scope: 2, hash: key.hash)
                #expect(cache.peek(absent) == nil && cache.peek(otherScope) == nil)
            default:
                let found = cache.find(key) { entry in
                    // An answer within its TTL.
                    if round % 2 == 0 { entry.uses &+= 1 }
                    return Int(entry.retryAt.nanoseconds)
                }
                #expect(isExact ? found == model[index] : found == nil || found == model[index])
            }
            if round % 4_096 == 0 || round == ChurnRounds.count - 1 { check(cache, model: model, isExact: isExact) }
        }
        for key in keys { cache.remove(key) }
        #expect(cache.count == 0 && cache.octets == 0 && cache.all().isEmpty)
    }

    private func check(_ cache: AnswerCache, model: [Int: Int], isExact: Bool) {
        let all = cache.all()
        #expect(all.count == cache.count && Set(all.map(\.key.name)).count == all.count)
        if isExact { #expect(all.count == model.count) }
        for (key, entry) in all {
            let index = Int(key.name.dropFirst()) ?? -1
            #expect(model[index] == Int(entry.retryAt.nanoseconds) && cache.peek(key) != nil)
        }
    }

    @Test("the table of lookups under way matches the model", arguments: [5, 2_000])
    func lookups(_ names: Int) async throws {
        var random = SeededRandom(seed: UInt64(names))
        let hosts = try (0..<names).map { try Host("n\($0).test") }
        let request = hosts.map { LookupRequest(host: $0, families: .both) }
        let plan = UpstreamSchedule.Plan(candidates: [], atOnce: 1, limit: .seconds(5), resolutionDelay: .zero)
        var table = OngoingLookups()
        var model: [Int: LookupID] = [:]
        for round in 0..<ChurnRounds.count {
            if round % 256 == 0 { await Task.yield() }
            let index = Int.random(in: 0..<names, using: &random)
            let key = LookupKey(request[index], scope: 1)
            #expect(table[key] == model[index])
            #expect(table[LookupKey(request[index], scope: 2)] == nil)
            if let lookup = model[index] {
                guard Bool.random(using: &random) else { continue }
                let (first, second) = (table.remove(lookup), table.remove(lookup))
                #expect(first?.context.request.host == hosts[index] && second == nil && table[lookup] == nil)
                model[index] = nil
            } else {
                let context = LookupContext(
                    request: request[index],
                    scope: 1,
                    network: "",
                    isTrusted: false,
                    isFresh: false,
                    generation: 0
                )
                let schedule = UpstreamSchedule(plan, families: .both, now: Moment(nanoseconds: 0))
                model[index] = table.start(Lookup(key: key, context: context, schedule: schedule))
            }
            #expect(table.count == model.count)
        }
    }

    @Test("the table of networks and scopes matches the model", arguments: [10, 100])
    func scopes(_ networks: Int) async {
        var random = SeededRandom(seed: UInt64(networks))
        var table = CacheScopeTable()
        // The least recently entered network comes first.
        var model: [(id: String, scope: CacheScope)] = [("", 1)]
        for round in 0..<ChurnRounds.count {
            if round % 256 == 0 { await Task.yield() }
            let id = "network\(Int.random(in: 0..<networks, using: &random))"
            let forgotten = table.enter(id)
            if let known = model.firstIndex(where: { $0.id == id }) {
                model.append(model.remove(at: known))
            } else {
                model.append((id, table.current))
            }
            #expect(forgotten == (model.count > CacheScopeTable.maxNetworks ? model.removeFirst().scope : nil))
            #expect(table.all.map(\.scope) == model.map(\.scope))
        }
        #expect(Set(model.map(\.scope)).count == model.count)
    }

    @Test("the ranking remembers the endpoints that failed", arguments: [(8, 16), (400, 1_000), (400, 100)])
    func ranking(_ endpoints: Int, _ bound: Int) async {
        var random = SeededRandom(seed: UInt64(endpoints + bound))
        var limits = ResolverConfiguration.Ranking()
        limits.maxEndpoints = bound
        var ranking = EndpointRanking(limits: limits)
        var model: [Int: (failures: Int, until: Moment)] = [:]
        var now = Moment(nanoseconds: 0)
        for round in 0..<ChurnRounds.count {
            if round % 256 == 0 { await Task.yield() }
            let index = Int.random(in: 0..<endpoints, using: &random)
            let endpoint = Endpoint(IPAddress(v4: 0xc000_0200 + UInt32(index)), port: 443)
            now = now + .milliseconds(Int.random(in: 0..<200, using: &random))
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                let failures = (model[index]?.failures ?? 0) + 1
                model[index] = (failures, now + min(.seconds(30) * (1 << min(failures - 1, 10)), .seconds(600)))
                ranking.failed(endpoint, now: now)
            case 1:
                model[index] = nil
                ranking.succeeded(endpoint, after: .zero, now: now)
            default:
                let isDemoted = ranking.isDemoted(endpoint, now: now)
                let expected = model[index].map { $0.until > now } ?? false
                // A table that is too small may forget a failure.
                #expect(bound < endpoints ? !isDemoted || expected : isDemoted == expected)
                #expect(!ranking.isDemoted(Endpoint(endpoint.address, port: 80), now: now))
            }
            #expect(ranking.count <= bound)
        }
    }
}
