// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import CookieJar

/// The index of a jar's domains against a set: hashes that crowd a few lines, so that lines are full, and numbers that come
/// and go.
struct CookieIndexTests {
    private struct Entry: Hashable {
        let hash: UInt32
        let number: UInt32
    }

    @Test(arguments: 1...2)
    func agreesWithASet(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var index = CookieIndex()
        var model: Set<Entry> = []
        // Equal but for bits that a small table does not look at; the first and the last line among them.
        let hashes = (0..<12).flatMap { high in [1, 3, 17, 0xffff, 0xffef].map { UInt32(high) << 24 | $0 } }
        for step in 1...2000 {
            let isGrowing = step % 1000 < 500
            if Int.random(in: 0..<10, using: &generator) < (isGrowing ? 7 : 2) {
                let entry = Entry(hash: hashes.randomElement(using: &generator) ?? 1, number: UInt32(step))
                index.insert(entry.number, hash: entry.hash)
                model.insert(entry)
            } else if let entry = model.randomElement(using: &generator) {
                index.remove(entry.number, hash: entry.hash)
                model.remove(entry)
            }
            guard step % 50 == 0 else { continue }
            for entry in model {
                #expect(index.first(entry.hash) { $0 == entry.number } == entry.number)
            }
            for hash in hashes {
                let numbers = Set(model.filter { $0.hash == hash }.map(\.number))
                var seen: Set<UInt32> = []
                #expect(index.first(hash) { seen.insert($0).inserted && false } == nil)
                #expect(seen == numbers, "step \(step)")
                switch index.look(for: hash) {
                case CookieIndex.Answer.nothing: #expect(numbers.isEmpty, "step \(step)")
                case CookieIndex.Answer.unclear: break
                case let number: #expect(numbers.contains(number), "step \(step)")
                }
            }
        }
    }
}
