// SPDX-License-Identifier: Apache-2.0

import CPrefetch

/// Buckets by the hash of their domain: a table with open addressing that answers for a hash by one line of the processor's
/// cache.
///
/// A line has six places: for each a mark, which tells most other hashes apart, and the bucket; and it counts the buckets that
/// belong to it and found it full, which are in the lines behind it. The free places of a line are its last ones. In a large jar
/// neither line nor bucket are in the cache: so the line can be asked for before it is needed, and its marks are compared at
/// once.
struct CookieIndex: ~Copyable {
    /// What a line says of a hash.
    struct Answer {
        /// A bucket that may be of that hash.
        let bucket: CookieBucket?
        /// Whether there is no other place to look: false where none of the line's buckets may be of that hash, and some that
        /// belong to it are elsewhere.
        let isFinal: Bool
    }

    private static var lineSize: Int { CookieBucket.lineSize }
    private static let placeCount = 6
    /// The count of a line stands behind its marks.
    private static let displacedOffset = 12
    private static let bucketOffset = 16
    /// A bit that all marks in use have.
    private static let isUsed: UInt16 = 0x8000

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

    /// How many buckets that belong to a line, or to one before it, passed it because it was full.
    @inline(__always)
    private func displaced(_ number: Int) -> UnsafeMutablePointer<UInt32> {
        (line(number) + Self.displacedOffset).assumingMemoryBound(to: UInt32.self)
    }

    @inline(__always)
    private func headers(_ number: Int) -> UnsafeMutablePointer<UnsafeMutablePointer<CookieBucket.Header>?> {
        Self.headers(in: line(number))
    }

    @inline(__always)
    private static func headers(
        in line: UnsafeMutableRawPointer
    ) -> UnsafeMutablePointer<UnsafeMutablePointer<CookieBucket.Header>?> {
        (line + bucketOffset).assumingMemoryBound(to: UnsafeMutablePointer<CookieBucket.Header>?.self)
    }

    /// The line that a hash belongs to; a number that an Int of 32 bits holds, too.
    @inline(__always)
    private static func home(_ hash: UInt32) -> Int { Int(hash & 0x3fff_ffff) }

    /// Bits of a hash by which no line is chosen as long as there are less than 65,536.
    @inline(__always)
    private static func mark(_ hash: UInt32) -> UInt16 { UInt16(hash >> 16) | isUsed }

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
        let place = place(of: Self.mark(hash), in: home)
        guard place < Self.placeCount, let header = headers(home)[place] else {
            return Answer(bucket: nil, isFinal: displaced(home).pointee == 0)
        }
        return Answer(bucket: CookieBucket(header), isFinal: true)
    }

    /// The first place of a line that has a mark, or one that no line has; four marks are compared by one operation.
    @inline(__always)
    private func place(of mark: UInt16, in number: Int) -> Int {
        let marks = UnsafeRawPointer(line(number))
        let (first, second) = (marks.load(as: UInt64.self), marks.load(fromByteOffset: 8, as: UInt64.self))
        let ones: UInt64 = 0x0001_0001_0001_0001
        let wanted = UInt64(mark) &* ones
        /// The highest bit of each quarter that is the mark. Of those behind the first one it may be set wrongly.
        func hits(_ marks: UInt64) -> UInt64 {
            let other = marks.littleEndian ^ wanted
            return (other &- ones) & ~other & (ones << 15)
        }
        let (early, late) = (hits(first).trailingZeroBitCount, hits(second).trailingZeroBitCount)
        // Without a branch, for none could be foreseen: 64 is "none of these four".
        return early >> 4 + early >> 6 * late >> 4
    }

    /// The first bucket of a hash for which the closure is true.
    func first(_ hash: UInt32, where isWanted: (CookieBucket) -> Bool) -> CookieBucket? {
        find(hash) { $0.header.pointee.hash == hash && isWanted($0) }?.bucket
    }

    /// The first bucket with the mark of a hash for which the closure is true, and where it is.
    @inline(__always)
    private func find(
        _ hash: UInt32,
        where isWanted: (CookieBucket) -> Bool
    ) -> (bucket: CookieBucket, number: Int, place: Int)? {
        var number = Self.home(hash)
        while true {
            // The mark first: it is at hand.
            for place in 0..<Self.placeCount where marks(number)[place] == Self.mark(hash) {
                guard let header = headers(number)[place], isWanted(CookieBucket(header)) else { continue }
                return (CookieBucket(header), number, place)
            }
            if displaced(number).pointee == 0 { return nil }
            number += 1
        }
    }

    // MARK: Changing

    /// Puts a bucket in.
    mutating func insert(_ bucket: CookieBucket) {
        if (used + 1) * 4 > (mask + 1) * Self.placeCount * 3 { grow() }
        put(bucket.header)
        used += 1
    }

    /// Says where a bucket that is in has moved to.
    mutating func replace(_ old: CookieBucket, with bucket: CookieBucket) {
        let hash = bucket.header.pointee.hash
        guard let (_, number, place) = find(hash, where: { $0.header == old.header }) else { return }
        headers(number)[place] = bucket.header
    }

    /// Takes out a bucket that is in.
    mutating func remove(_ bucket: CookieBucket) {
        let hash = bucket.header.pointee.hash
        guard let (_, number, place) = find(hash, where: { $0.header == bucket.header }) else { return }
        for passed in Self.home(hash)..<number { displaced(passed).pointee -= 1 }
        let last = (0..<Self.placeCount).last { headers(number)[$0] != nil } ?? place
        (marks(number)[place], headers(number)[place]) = (marks(number)[last], headers(number)[last])
        (marks(number)[last], headers(number)[last]) = (0, nil)
        used -= 1
    }

    private mutating func put(_ header: UnsafeMutablePointer<CookieBucket.Header>) {
        let hash = header.pointee.hash
        var number = Self.home(hash)
        while true {
            if let place = (0..<Self.placeCount).first(where: { headers(number)[$0] == nil }) {
                (marks(number)[place], headers(number)[place]) = (Self.mark(hash), header)
                return
            }
            displaced(number).pointee += 1
            number += 1
        }
    }

    private mutating func grow() {
        let (old, count) = (lines, mask + 1)
        mask = mask * 2 + 1
        lines = Self.makeLines(mask + 1)
        for number in 0..<count {
            let headers = Self.headers(in: old + number * Self.lineSize)
            for place in 0..<Self.placeCount { if let header = headers[place] { put(header) } }
        }
        old.deallocate()
    }
}
