// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import CookieJar

/// The memory of a jar's blocks: no two are in one place, and what is released is used again.
struct BlockArenaTests {
    @Test func aBlockKeepsWhatIsWrittenToItUntilItIsReleased() {
        var generator = SeededGenerator(seed: 1)
        let arena = BlockArena()
        var blocks: [(start: UnsafeMutableRawPointer, length: Int, content: UInt8)] = []
        for step in 0..<20_000 {
            if blocks.count < 200 || Bool.random(using: &generator) {
                // Of each order of magnitude as many, some of them too long for the arena's pieces.
                let length = 1 << Int.random(in: 0..<17, using: &generator) + Int.random(in: 0..<200, using: &generator)
                let start = arena.allocate(length)
                #expect(Int(bitPattern: start) % 16 == 0)
                let content = UInt8(truncatingIfNeeded: step)
                start.initializeMemory(as: UInt8.self, repeating: content, count: length)
                blocks.append((start, length, content))
            } else {
                let block = blocks.remove(at: Int.random(in: blocks.indices, using: &generator))
                let octets = UnsafeRawBufferPointer(start: block.start, count: block.length)
                #expect(octets.allSatisfy { $0 == block.content })
                arena.release(block.start, block.length)
            }
        }
        for block in blocks { arena.release(block.start, block.length) }
        #expect(arena.pieces.isEmpty, "memory is given back when no block is in use")
    }

    @Test(arguments: [40, 700, 20_000])
    func whatIsReleasedIsUsedAgain(_ length: Int) {
        let arena = BlockArena()
        let last = arena.allocate(length)
        var places: Set<UnsafeMutableRawPointer> = []
        for round in 0..<3 {
            let blocks = (0..<500).map { _ in arena.allocate(length) }
            if round == 0 { places = Set(blocks) }
            #expect(places.count == 500 && Set(blocks) == places)
            for block in blocks { arena.release(block, length) }
        }
        arena.release(last, length)
    }

    @Test func aClassIsOfOneLengthWhichIsLittleMoreThanIsAskedFor() {
        var last = (index: -1, length: 0)
        for length in 1...BlockArena.longestBlock {
            let found = BlockArena.class(of: length)
            #expect(found.length >= length && found.length <= max(64, length + max(length / 8, 15)))
            if found != last {
                #expect(found.index > last.index && found.length > last.length && last.length < length)
                last = found
            }
        }
    }
}
