// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("Answer cache")
struct AnswerCacheTests {
    static func key(_ name: String, scope: UInt32 = 1) -> AnswerCache.Key {
        AnswerCache.Key(name, scope: scope, hash: AnswerCache.Key.hash(of: name))
    }

    static func entry(_ marker: Int, addresses count: Int = 1) -> AnswerCache.Entry {
        var entry = AnswerCache.Entry(provenance: Provenance(upstream: "\(marker)", kind: .service))
        entry.v4 = AnswerCache.Part(
            addresses: (0..<count).map { IPAddress(v4: UInt32($0)) },
            absence: nil,
            storedAt: .past,
            expiresAt: .never
        )
        return entry
    }

    static func marker(_ cache: inout AnswerCache, _ name: String, scope: UInt32 = 1) -> Int? {
        cache.find(key(name, scope: scope)) { Int($0.provenance.upstream) } ?? nil
    }

    @Test("a full cache removes the least recently used entry")
    func evictsOldest() {
        var cache = AnswerCache(maxEntries: 3, maxOctets: .max)
        for (index, name) in ["a", "b", "c"].enumerated() { cache.store(Self.entry(index), for: Self.key(name)) }
        #expect(Self.marker(&cache, "a") == 0)
        cache.store(Self.entry(3), for: Self.key("d"))
        #expect(cache.all().map(\.key.name) == ["d", "a", "c"])
        cache.store(Self.entry(9), for: Self.key("c"))
        cache.store(Self.entry(4), for: Self.key("e"))
        #expect(cache.all().map(\.key.name) == ["e", "c", "d"])
        #expect(Self.marker(&cache, "c") == 9)
    }

    @Test("names in use stay in the cache during a flood of other names")
    func flood() {
        var cache = AnswerCache(maxEntries: 800, maxOctets: .max)
        let used = (0..<10).map { "used\($0)" }
        for (index, name) in used.enumerated() { cache.store(Self.entry(index), for: Self.key(name)) }
        for index in 0..<20_000 {
            cache.store(Self.entry(index), for: Self.key("other\(index)"))
            if index % 600 == 0 { for name in used { _ = Self.marker(&cache, name) } }
        }
        #expect(used.map { Self.marker(&cache, $0) } == Array(0..<10))
        #expect(cache.count == 800)
    }

    private static func use(_ cache: inout AnswerCache, _ name: String) -> Bool {
        cache.find(key(name)) { $0.uses &+= 1 } != nil
    }

    @Test("a flood of names that are asked once does not evict names that were asked again")
    func floodOfUnusedNames() {
        var cache = AnswerCache(maxEntries: 100, maxOctets: .max)
        let used = (0..<75).map { "used\($0)" }
        for name in used {
            cache.store(Self.entry(0), for: Self.key(name))
            #expect(Self.use(&cache, name))
        }
        for index in 0..<20_000 { cache.store(Self.entry(index), for: Self.key("other\(index)")) }
        #expect(cache.count == 100)
        #expect(used.allSatisfy { cache.peek(Self.key($0)) != nil })
        #expect((19_975..<20_000).allSatisfy { cache.peek(Self.key("other\($0)")) != nil })
    }

    @Test("names that were asked again leave a quarter of the cache to new names, in entries and in octets")
    func roomForNewNames() {
        for (entries, octets) in [(100, Int.max), (Int.max, 40_000)] {
            var cache = AnswerCache(maxEntries: entries, maxOctets: octets)
            for index in 0..<1_000 {
                cache.store(Self.entry(index), for: Self.key("used\(index)"))
                #expect(Self.use(&cache, "used\(index)"))
            }
            // The oldest names that were asked again are evicted like others.
            #expect(cache.peek(Self.key("used0")) == nil && cache.peek(Self.key("used999")) != nil)
            #expect(cache.count <= 100 + 100 && cache.octets <= octets)
            for index in 0..<20 { cache.store(Self.entry(index), for: Self.key("new\(index)")) }
            #expect((0..<20).allSatisfy { cache.peek(Self.key("new\($0)")) != nil })
        }
    }

    @Test("the cache keeps one entry for each name and scope")
    func scopes() {
        var cache = AnswerCache(maxEntries: 9, maxOctets: .max)
        cache.store(Self.entry(0), for: Self.key("a", scope: 0))
        cache.store(Self.entry(1), for: Self.key("a", scope: 1))
        #expect(Self.marker(&cache, "a", scope: 0) == 0)
        #expect(Self.marker(&cache, "a", scope: 1) == 1)
        #expect(Self.marker(&cache, "a", scope: 2) == nil)
    }

    @Test("the cache has a bound in octets, and long answers take more of it")
    func boundsOctets() {
        var cache = AnswerCache(maxEntries: 1_000, maxOctets: 10_000)
        for index in 0..<1_000 { cache.store(Self.entry(index), for: Self.key("name\(index)")) }
        #expect(cache.octets <= 10_000)
        let short = cache.count
        for index in 0..<1_000 { cache.store(Self.entry(index, addresses: 20), for: Self.key("name\(index)")) }
        #expect(cache.octets <= 10_000)
        #expect(cache.count < short / 2)
        #expect(cache.count > 0)
    }

    @Test("the cache behaves like a dictionary with a list of recent use")
    func model() {
        var fuzz = Fuzz(seed: 1)
        var cache = AnswerCache(maxEntries: 50, maxOctets: .max)
        var order: [String] = []
        var markers: [String: Int] = [:]
        // A lookup does not move an entry that is among the six most recently used.
        var links = 0
        var linkedAt: [String: Int] = [:]
        func link(_ name: String) {
            guard order.first != name else { return }
            order.removeAll { $0 == name }
            order.insert(name, at: 0)
            links += 1
            linkedAt[name] = links
        }
        for step in 0..<20_000 {
            let name = "n\(fuzz.below(80))"
            switch fuzz.below(4) {
            case 0:
                let known = markers[name]
                #expect(Self.marker(&cache, name) == known)
                if known != nil, let at = linkedAt[name], links - at > 6 { link(name) }
            case 1, 2:
                cache.store(Self.entry(step), for: Self.key(name))
                markers[name] = step
                link(name)
                if order.count > 50 { markers[order.removeLast()] = nil }
            default:
                #expect(cache.remove(Self.key(name)) == (markers[name] != nil))
                markers[name] = nil
                order.removeAll { $0 == name }
            }
            #expect(cache.count == order.count)
        }
        #expect(cache.all().map(\.key.name) == order)
        cache.removeAll { key, _ in key.name.hasSuffix("1") }
        #expect(cache.all().map(\.key.name) == order.filter { !$0.hasSuffix("1") })
        cache.removeAll()
        #expect(cache.count == 0)
        #expect(cache.octets == 0)
    }
}
