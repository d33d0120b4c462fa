// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import CookieJar

/// The index of a jar's domains against a set: hashes that crowd a few lines, so that lines are full, and buckets that come, move
/// and go.
struct CookieIndexTests {
    /// The hash and the number of a bucket, which it keeps wherever it moves.
    private struct Entry: Hashable {
        let hash: UInt32
        let number: UInt32

        init(_ bucket: CookieBucket) {
            (hash, number) = (bucket.header.pointee.hash, bucket.header.pointee.number)
        }

        init(hash: UInt32, number: UInt32) {
            (self.hash, self.number) = (hash, number)
        }

        /// An empty bucket of the entry.
        func bucket(in arena: BlockArena) -> CookieBucket {
            "example.com".withOctets {
                CookieBucket(domain: $0, partition: Octets(start: nil, count: 0), hash: hash, number: number, in: arena)
            }
        }
    }

    @Test(arguments: 1...2)
    func agreesWithASet(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var index = CookieIndex()
        let arena = BlockArena()
        var model: [Entry: CookieBucket] = [:]
        // Equal but for bits that a small table does not look at; the first and the last line among them, and marks of nothing.
        let hashes = (0..<12).flatMap { high in [0, 3, 17, 0xffff, 0xffef].map { UInt32(high) << 22 | $0 } }
        for step in 1...3000 {
            let isGrowing = step % 1000 < 500
            if Int.random(in: 0..<10, using: &generator) < (isGrowing ? 7 : 2) {
                let entry = Entry(hash: hashes.randomElement(using: &generator) ?? 1, number: UInt32(step))
                let bucket = entry.bucket(in: arena)
                index.insert(bucket)
                model[entry] = bucket
            } else if let (entry, bucket) = model.randomElement(using: &generator) {
                if Bool.random(using: &generator) {
                    index.remove(bucket)
                    model[entry] = nil
                } else {
                    let moved = entry.bucket(in: arena)
                    index.replace(bucket, with: moved)
                    model[entry] = moved
                }
                bucket.release(to: arena)
            }
            guard step % 50 == 0 else { continue }
            for (entry, bucket) in model {
                #expect(index.first(entry.hash) { Entry($0) == entry }?.header == bucket.header)
            }
            for hash in hashes {
                let numbers = Set(model.keys.filter { $0.hash == hash }.map(\.number))
                var seen: Set<UInt32> = []
                #expect(index.first(hash) { seen.insert(Entry($0).number).inserted && false } == nil)
                #expect(seen == numbers, "step \(step)")
                let answer = index.look(for: hash)
                if let bucket = answer.bucket {
                    #expect(model[Entry(bucket)]?.header == bucket.header)
                    // It has the bits of the hash that a mark has.
                    #expect((bucket.header.pointee.hash ^ hash) & 0x7fff_0000 == 0, "step \(step)")
                } else if answer.isFinal {
                    #expect(numbers.isEmpty, "step \(step)")
                }
            }
        }
        for (_, bucket) in model {
            index.remove(bucket)
            bucket.release(to: arena)
        }
        // Then no line leads to the next.
        for hash in hashes { #expect(index.look(for: hash).bucket == nil && index.look(for: hash).isFinal) }
    }

    @Test func aBucketThatGrowsIsFoundWhereItIs() throws {
        let jar = CookieJar()
        for number in 0..<150 {
            try jar.set("n\(number)=\(String(repeating: "v", count: number * 8)); Path=/", "https://www.example.com/")
            try jar.set("n=1; Path=/", "https://host\(number).example.com/")
        }
        let header = try #require(try jar.get("https://www.example.com/"))
        #expect(header.split(separator: "; ").count == 150)
        for number in 0..<150 { #expect(try jar.get("https://host\(number).example.com/") == "n=1") }
    }
}
