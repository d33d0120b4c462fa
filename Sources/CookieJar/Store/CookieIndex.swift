// SPDX-License-Identifier: Apache-2.0

import CPrefetch

/// Buckets by the hash of their domain: a table with open addressing that answers for a hash by one line of the processor's
/// cache.
///
/// A line has six places: for each a mark, which tells most other hashes apart and says how much memory to ask for, and the
/// bucket. A hash belongs to one line, and to those behind it as long as they are full. The free places of a line are its last
/// ones. In a large jar neither line nor bucket are in the cache: so the line can be asked for before it is needed, and its
/// marks are compared at once.
struct CookieIndex: ~Copyable {
    /// What a line says of a hash.
    struct Answer {
        /// A bucket that may be of that hash.
        let bucket: CookieBucket?
        /// How many lines its look-up reads.
        let lines: Int
        /// Whether there is no other place to look: false where the line is full and none of its buckets may be of that hash.
        let isFinal: Bool
    }

    private static var lineSize: Int { CookieBucket.lineSize }
    private static let placeCount = 6
    /// The places of a line begin behind its marks, which fill a quarter of it.
    private static let bucketOffset = 16
    /// The part of a mark that counts lines; the rest is a part of the hash. No mark in use is 0.
    private static let linesMask: UInt16 = 31

    private var lines: UnsafeMutableRawPointer
    private var mask: Int
    private var used = 0

    init() {
        mask = 1
        lines = Self.makeLines(mask + 1)
    }

    deinit {
        lines.deallocate()
    }

    private static func makeLines(_ count: Int) -> UnsafeMutableRawPointer {
        let lines = UnsafeMutableRawPointer.allocate(byteCount: count * lineSize, alignment: lineSize)
        lines.initializeMemory(as: UInt8.self, repeating: 0, count: count * lineSize)
        return lines
    }

    // MARK: Parts of a line

    @inline(__always)
    private func line(_ number: Int) -> UnsafeMutableRawPointer { lines + (number & mask) * Self.lineSize }

    @inline(__always)
    private func marks(_ number: Int) -> UnsafeMutablePointer<UInt16> {
        line(number).assumingMemoryBound(to: UInt16.self)
    }

    @inline(__always)
    private func headers(_ number: Int) -> UnsafeMutablePointer<UnsafeMutablePointer<CookieBucket.Header>?> {
        (line(number) + Self.bucketOffset).assumingMemoryBound(to: UnsafeMutablePointer<CookieBucket.Header>?.self)
    }

    /// The line that a hash belongs to.
    @inline(__always)
    private static func home(_ hash: UInt32) -> Int { Int(hash) }

    /// The mark of a hash without lines: of bits by which no line is chosen as long as there are less than two million.
    @inline(__always)
    private static func tag(_ hash: UInt32) -> UInt16 { UInt16(hash >> 16) & ~linesMask }

    private static func mark(_ bucket: CookieBucket) -> UInt16 {
        tag(bucket.header.pointee.hash) | UInt16(min(bucket.lineCount, Int(linesMask)))
    }

    private func isFull(_ number: Int) -> Bool { marks(number)[Self.placeCount - 1] != 0 }

    // MARK: Finding

    /// Asks for the line of a hash, which ``look(for:)`` will read.
    @inline(__always)
    func prefetch(_ hash: UInt32) {
        prefetch_line(line(Self.home(hash)))
    }

    /// What the line of a hash says.
    @inline(__always)
    func look(for hash: UInt32) -> Answer {
        let home = Self.home(hash)
        let place = place(of: Self.tag(hash), in: home)
        // Where no place has the tag, it is one without a mark or none.
        guard place < Self.placeCount, let header = headers(home)[place] else {
            return Answer(bucket: nil, lines: 0, isFinal: !isFull(home))
        }
        let lines = Int(marks(home)[place] & Self.linesMask)
        return Answer(bucket: CookieBucket(header), lines: lines, isFinal: true)
    }

    /// The first place of a line that has a tag; four marks are compared by one operation.
    @inline(__always)
    private func place(of tag: UInt16, in number: Int) -> Int {
        let marks = UnsafeRawPointer(line(number))
        let (first, second) = (marks.load(as: UInt64.self), marks.load(fromByteOffset: 8, as: UInt64.self))
        let ones: UInt64 = 0x0001_0001_0001_0001
        let wanted = UInt64(tag) &* ones
        /// The highest bit of each quarter that has the tag. Of those behind the first one it may be set wrongly.
        func hits(_ marks: UInt64) -> UInt64 {
            let other = (marks.littleEndian ^ wanted) & (ones &* UInt64(~Self.linesMask))
            return (other &- ones) & ~other & (ones << 15)
        }
        let (early, late) = (hits(first).trailingZeroBitCount, hits(second).trailingZeroBitCount)
        // Without a branch, for none could be foreseen: 64 is "none of these four".
        return early >> 4 + early >> 6 * late >> 4
    }

    /// The first bucket of a hash for which the closure is true.
    func first(_ hash: UInt32, where isWanted: (CookieBucket) -> Bool) -> CookieBucket? {
        var number = Self.home(hash)
        while true {
            for place in 0..<Self.placeCount {
                guard let header = headers(number)[place] else { return nil }
                // The mark first: it is at hand.
                let isAlike = marks(number)[place] & ~Self.linesMask == Self.tag(hash)
                if isAlike, header.pointee.hash == hash, isWanted(CookieBucket(header)) { return CookieBucket(header) }
            }
            number += 1
        }
    }

    // MARK: Changing

    /// Puts a bucket in.
    mutating func insert(_ bucket: CookieBucket) {
        // A half is free: so few lines are full.
        if (used + 1) * 2 > (mask + 1) * Self.placeCount { grow() }
        put(bucket)
        used += 1
    }

    /// Says where a bucket that is in is now, or how large.
    mutating func replace(_ old: CookieBucket, with bucket: CookieBucket) {
        guard let (number, place) = find(old.header, hash: bucket.header.pointee.hash) else { return }
        set(bucket, number, place)
    }

    /// Takes out a bucket that is in.
    mutating func remove(_ bucket: CookieBucket) {
        guard let (number, place) = find(bucket.header, hash: bucket.header.pointee.hash) else { return }
        let wasFull = isFull(number)
        let last = (0..<Self.placeCount).last { headers(number)[$0] != nil } ?? place
        if let moved = headers(number)[last] { set(CookieBucket(moved), number, place) }
        set(nil, number, last)
        used -= 1
        if wasFull { putAgain(behind: number) }
    }

    /// Puts the buckets of the lines behind one that is full no more in again: some may belong there.
    private mutating func putAgain(behind number: Int) {
        var buckets: [CookieBucket] = []
        var number = number
        var wasFull = true
        while wasFull {
            number += 1
            wasFull = isFull(number)
            buckets += takeOut(number)
        }
        for bucket in buckets { put(bucket) }
    }

    /// Empties a line.
    private mutating func takeOut(_ number: Int) -> [CookieBucket] {
        (0..<Self.placeCount).compactMap { place in
            defer { set(nil, number, place) }
            return headers(number)[place].map { CookieBucket($0) }
        }
    }

    private func find(_ header: UnsafeMutablePointer<CookieBucket.Header>, hash: UInt32) -> (number: Int, place: Int)? {
        var number = Self.home(hash)
        while true {
            for place in 0..<Self.placeCount where headers(number)[place] == header { return (number, place) }
            guard isFull(number) else { return nil }
            number += 1
        }
    }

    private mutating func put(_ bucket: CookieBucket) {
        var number = Self.home(bucket.header.pointee.hash)
        while isFull(number) { number += 1 }
        guard let place = (0..<Self.placeCount).first(where: { headers(number)[$0] == nil }) else { return }
        set(bucket, number, place)
    }

    private mutating func set(_ bucket: CookieBucket?, _ number: Int, _ place: Int) {
        marks(number)[place] = bucket.map(Self.mark) ?? 0
        headers(number)[place] = bucket?.header
    }

    private mutating func grow() {
        let buckets = (0...mask).flatMap { takeOut($0) }
        lines.deallocate()
        mask = mask * 2 + 1
        lines = Self.makeLines(mask + 1)
        for bucket in buckets { put(bucket) }
    }
}
