// SPDX-License-Identifier: Apache-2.0

/// Numbers by hash: a table with open addressing that answers for a hash by one line of the processor's cache.
///
/// The line of a hash is where its numbers begin, and where they go on if the line is full. Most often neither line nor
/// slot is in the cache of a processor that serves a large jar, nor can the slot be foreseen: so all of a line are compared
/// at once, and only a full line without the hash leaves a question. Several numbers may have one hash.
struct CookieIndex: ~Copyable {
    /// A hash in the upper half, a number in the lower; 0 where it is free.
    private typealias Slot = UInt64

    /// What a line says of a hash.
    enum Answer {
        /// There is no number of it.
        static let nothing: UInt32 = 0
        /// The line is full, and a number may be beyond it.
        static let unclear = UInt32.max
    }

    private static let lineCount = 8

    private var slots: UnsafeMutablePointer<Slot>
    private var mask: Int
    private var used = 0

    init() {
        mask = 2 * Self.lineCount - 1
        slots = Self.makeSlots(mask + 1)
    }

    deinit {
        slots.deallocate()
    }

    private static func makeSlots(_ count: Int) -> UnsafeMutablePointer<Slot> {
        let slots = UnsafeMutableRawPointer.allocate(
            byteCount: count * MemoryLayout<Slot>.stride,
            alignment: lineCount * MemoryLayout<Slot>.stride
        ).bindMemory(to: Slot.self, capacity: count)
        slots.initialize(repeating: 0, count: count)
        return slots
    }

    /// The slot at which the search for a hash begins: the first of a line.
    @inline(__always)
    private func home(_ hash: UInt32) -> Int { Int(hash >> 1) & mask & ~(Self.lineCount - 1) }

    private func home(of slot: Slot) -> Int { home(UInt32(slot >> 32)) }

    /// What the line of a hash says: a number, ``Answer/nothing`` or ``Answer/unclear``.
    ///
    /// - Parameter hash: The hash, an odd number.
    @inline(__always)
    func look(for hash: UInt32) -> UInt32 {
        let line = slots + home(hash)
        let wanted = Slot(hash) << 32
        var least = Slot.max
        for slot in 0..<Self.lineCount { least = min(least, line[slot] ^ wanted) }
        if least <= Slot(UInt32.max) { return UInt32(least) }
        // The free slots of a line are its last ones.
        return line[Self.lineCount - 1] == 0 ? Answer.nothing : Answer.unclear
    }

    /// The first number of a hash for which the closure is true.
    func first(_ hash: UInt32, where isWanted: (UInt32) -> Bool) -> UInt32? {
        var slot = home(hash)
        while slots[slot] != 0 {
            let number = UInt32(truncatingIfNeeded: slots[slot])
            if slots[slot] >> 32 == hash, isWanted(number) { return number }
            slot = (slot + 1) & mask
        }
        return nil
    }

    /// Puts a number in.
    ///
    /// - Parameters:
    ///   - number: The number, neither ``Answer/nothing`` nor ``Answer/unclear``.
    ///   - hash: The hash, an odd number: then none is that of a free slot.
    mutating func insert(_ number: UInt32, hash: UInt32) {
        if (used + 1) * 2 > mask + 1 { grow() }
        place(Slot(hash) << 32 | Slot(number))
        used += 1
    }

    /// Takes out a number that is in.
    mutating func remove(_ number: UInt32, hash: UInt32) {
        var hole = home(hash)
        while slots[hole] != Slot(hash) << 32 | Slot(number) {
            guard slots[hole] != 0 else { return }
            hole = (hole + 1) & mask
        }
        // Later entries of the run move up, so that a search never meets a hole where there was none.
        var slot = (hole + 1) & mask
        while slots[slot] != 0 {
            if (slot - home(of: slots[slot])) & mask >= (slot - hole) & mask {
                slots[hole] = slots[slot]
                hole = slot
            }
            slot = (slot + 1) & mask
        }
        slots[hole] = 0
        used -= 1
    }

    private func place(_ entry: Slot) {
        var slot = home(of: entry)
        while slots[slot] != 0 { slot = (slot + 1) & mask }
        slots[slot] = entry
    }

    private mutating func grow() {
        let old = (slots: slots, mask: mask)
        mask = mask * 2 + 1
        slots = Self.makeSlots(mask + 1)
        for slot in 0...old.mask where old.slots[slot] != 0 { place(old.slots[slot]) }
        old.slots.deallocate()
    }
}
