// SPDX-License-Identifier: Apache-2.0

import CPrefetch

/// The cookies of one domain field in one block of memory, in the order of the Cookie header.
///
/// The block is: the key (domain, partition), ``Header``, the records, the texts, and what look-ups seldom need: a birth and
/// a tag for each record. The handle leads to the header. So a look-up walks memory from front to back, and it knows where
/// header and records are before it has read either. A cookie costs its texts and 50 octets. A ``CookieTable`` owns the
/// block and must release it.
struct CookieBucket {
    /// The fixed part of a block.
    struct Header {
        var count: UInt32
        var capacity: UInt32
        var textCount: UInt32
        var textCapacity: UInt32
        var domainLength: UInt16
        var partitionLength: UInt16
        var hash: UInt32
        /// The next bucket of the site (``CookieTable``), as its number plus one; 0: the last.
        var next: UInt32
        /// The number of this bucket (``CookieTable``).
        var number: UInt32
    }

    let header: UnsafeMutablePointer<Header>

    /// The bucket of a block.
    init(_ header: UnsafeMutablePointer<Header>) {
        self.header = header
    }

    /// An empty bucket.
    init(domain: Octets, partition: Octets, hash: UInt32, number: UInt32, in arena: BlockArena) {
        let key = domain.count + partition.count
        header = Self.block(key: key, capacity: 0, textCapacity: 0, in: arena)
        header.initialize(
            to: Header(
                count: 0,
                capacity: 0,
                textCount: 0,
                textCapacity: 0,
                domainLength: UInt16(domain.count),
                partitionLength: UInt16(partition.count),
                hash: hash,
                next: 0,
                number: number
            )
        )
        Self.copy(domain, to: self.key)
        Self.copy(partition, to: self.key + domain.count)
    }

    /// Gives the block back.
    func release(to arena: BlockArena) {
        let (capacity, textCapacity) = (Int(header.pointee.capacity), Int(header.pointee.textCapacity))
        let size = Self.blockSize(key: keyCount, capacity: capacity, textCapacity: textCapacity)
        arena.release(base - Self.keySize(keyCount), size)
    }

    // MARK: Parts of the block

    /// So that the records are aligned.
    private static var headerSize: Int { 32 }
    /// Octets of a line of the processor's cache, of most processors.
    static var lineSize: Int { 64 }
    /// So much of a key is asked for together with the rest: most domains are shorter.
    private static var usualKeySize: Int { 24 }
    private static var recordSize: Int { MemoryLayout<CookieRecord>.stride }
    private static var birthSize: Int { MemoryLayout<CookieBirth>.stride }
    private static var tagSize: Int { MemoryLayout<UInt16>.stride }
    private static func keySize(_ count: Int) -> Int { (count + 7) & ~7 }

    private static func blockSize(key: Int, capacity: Int, textCapacity: Int) -> Int {
        // A text may be copied with what follows it.
        let behindTexts = max(capacity * (birthSize + tagSize), pieceSize)
        return keySize(key) + headerSize + capacity * recordSize + textCapacity + behindTexts
    }

    /// A block without its content, at its header.
    static func block(
        key: Int,
        capacity: Int,
        textCapacity: Int,
        in arena: BlockArena
    ) -> UnsafeMutablePointer<Header> {
        let start = arena.allocate(blockSize(key: key, capacity: capacity, textCapacity: textCapacity))
        return (start + keySize(key)).bindMemory(to: Header.self, capacity: 1)
    }

    /// What the offsets in the records count from.
    private var base: UnsafeMutableRawPointer { UnsafeMutableRawPointer(header) }

    var keyCount: Int { Int(header.pointee.domainLength) + Int(header.pointee.partitionLength) }

    var key: UnsafeMutablePointer<UInt8> {
        (base - Self.keySize(keyCount)).assumingMemoryBound(to: UInt8.self)
    }

    /// The records, in the order of the Cookie header.
    var records: UnsafeMutablePointer<CookieRecord> {
        (base + Self.headerSize).assumingMemoryBound(to: CookieRecord.self)
    }

    /// The offset of the first text.
    var textStart: Int { Self.headerSize + Int(header.pointee.capacity) * Self.recordSize }

    /// When each cookie came.
    var births: UnsafeMutablePointer<CookieBirth> {
        (base + textStart + Int(header.pointee.textCapacity)).assumingMemoryBound(to: CookieBirth.self)
    }

    /// A short hash of each cookie's name, so that one pass over a large bucket is quick.
    var tags: UnsafeMutablePointer<UInt16> {
        UnsafeMutableRawPointer(births + Int(header.pointee.capacity)).assumingMemoryBound(to: UInt16.self)
    }

    /// The text at an offset of a record.
    @inline(__always)
    func text(_ offset: Int) -> UnsafeMutablePointer<UInt8> {
        (base + offset).assumingMemoryBound(to: UInt8.self)
    }

    /// How many octets ``copyText(at:count:to:room:)`` copies at a time: as many as most cookies have.
    private static let pieceSize = MemoryLayout<SIMD64<UInt8>>.size

    /// Copies a text to memory of `room` octets, of which those behind the text are to be overwritten later.
    ///
    /// How long the text of a cookie is cannot be foreseen, and a copy of just that length branches on it. So it is copied
    /// in pieces of one length, and what follows it in the block with it.
    @inline(__always)
    func copyText(at offset: Int, count: Int, to place: UnsafeMutableRawPointer, room: Int) {
        let from = UnsafeRawPointer(base + offset)
        guard room >= (count + Self.pieceSize - 1) & ~(Self.pieceSize - 1) else {
            return place.copyMemory(from: from, byteCount: count)
        }
        var done = 0
        repeat {
            let piece = from.loadUnaligned(fromByteOffset: done, as: SIMD64<UInt8>.self)
            place.storeBytes(of: piece, toByteOffset: done, as: SIMD64<UInt8>.self)
            done &+= Self.pieceSize
        } while done < count
    }

    /// Asks for the first lines that a look-up reads, and does not wait for them. A processor takes hardly more requests at
    /// once before it waits after all, and the lines behind these it foresees.
    @inline(__always)
    func prefetch() {
        let start = base - Self.usualKeySize
        for line in 0..<12 { prefetch_line(start + line * Self.lineSize) }
    }

    var count: Int { Int(header.pointee.count) }
    var domain: Octets { Octets(start: key, count: Int(header.pointee.domainLength)) }
    var partition: Octets {
        Octets(start: key + Int(header.pointee.domainLength), count: Int(header.pointee.partitionLength))
    }

    func name(_ record: borrowing CookieRecord) -> Octets {
        Octets(start: text(Int(record.text)), count: Int(record.nameLength))
    }

    func value(_ record: borrowing CookieRecord) -> Octets {
        Octets(start: text(record.value), count: record.valueLength)
    }

    func path(_ record: borrowing CookieRecord) -> Octets {
        Octets(start: text(record.path), count: Int(record.pathLength))
    }
}
