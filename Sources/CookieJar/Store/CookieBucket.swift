// SPDX-License-Identifier: Apache-2.0

/// The cookies of one domain field in one block of memory, in the order of the Cookie header.
///
/// The block is: ``Header``, the key (domain, partition), the records, a birth and a tag for each record, the texts. So a
/// look-up walks memory from front to back, and a cookie costs its texts and 50 octets. The bucket is a handle: a
/// ``CookieTable`` owns the block and must release it.
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
    }

    private(set) var header: UnsafeMutablePointer<Header>

    /// The bucket of a block.
    init(_ header: UnsafeMutablePointer<Header>) {
        self.header = header
    }

    private static var headerSize: Int { MemoryLayout<Header>.stride }
    private static var recordSize: Int { MemoryLayout<CookieRecord>.stride }
    private static var birthSize: Int { MemoryLayout<CookieBirth>.stride }
    private static var tagSize: Int { MemoryLayout<UInt16>.stride }

    /// An empty bucket.
    init(domain: Octets, partition: Octets, hash: UInt32) {
        header = Self.block(key: domain.count + partition.count, capacity: 0, textCapacity: 0)
        header.initialize(
            to: Header(
                count: 0,
                capacity: 0,
                textCount: 0,
                textCapacity: 0,
                domainLength: UInt16(domain.count),
                partitionLength: UInt16(partition.count),
                hash: hash,
                next: 0
            )
        )
        Self.copy(domain, to: key)
        Self.copy(partition, to: key + domain.count)
    }

    /// Gives the block back.
    func release() {
        UnsafeMutableRawPointer(header).deallocate()
    }

    // MARK: Parts of the block

    private static func keySize(_ count: Int) -> Int { (count + 7) & ~7 }

    private static func block(key: Int, capacity: Int, textCapacity: Int) -> UnsafeMutablePointer<Header> {
        UnsafeMutableRawPointer.allocate(
            byteCount: headerSize + keySize(key) + capacity * (recordSize + birthSize + tagSize) + textCapacity,
            alignment: MemoryLayout<CookieRecord>.alignment
        ).bindMemory(to: Header.self, capacity: 1)
    }

    private var key: UnsafeMutablePointer<UInt8> {
        (UnsafeMutableRawPointer(header) + Self.headerSize).assumingMemoryBound(to: UInt8.self)
    }

    private var keyCount: Int { Int(header.pointee.domainLength) + Int(header.pointee.partitionLength) }

    /// The records, in the order of the Cookie header.
    var records: UnsafeMutablePointer<CookieRecord> {
        (UnsafeMutableRawPointer(header) + Self.headerSize + Self.keySize(keyCount))
            .assumingMemoryBound(to: CookieRecord.self)
    }

    /// When each cookie came.
    var births: UnsafeMutablePointer<CookieBirth> {
        UnsafeMutableRawPointer(records + Int(header.pointee.capacity)).assumingMemoryBound(to: CookieBirth.self)
    }

    /// A short hash of each cookie's name, so that one pass over a large bucket is quick.
    private var tags: UnsafeMutablePointer<UInt16> {
        UnsafeMutableRawPointer(births + Int(header.pointee.capacity)).assumingMemoryBound(to: UInt16.self)
    }

    /// What the offsets in the records count from.
    var texts: UnsafeMutablePointer<UInt8> {
        UnsafeMutableRawPointer(tags + Int(header.pointee.capacity)).assumingMemoryBound(to: UInt8.self)
    }

    var count: Int { Int(header.pointee.count) }
    var domain: Octets { Octets(start: key, count: Int(header.pointee.domainLength)) }
    var partition: Octets {
        Octets(start: key + Int(header.pointee.domainLength), count: Int(header.pointee.partitionLength))
    }

    /// Whether it is the bucket of a domain.
    @inline(__always)
    func isOf(_ domain: Octets, _ partition: Octets) -> Bool {
        self.domain.isSame(as: domain) && self.partition.isSame(as: partition)
    }

    /// Whether one of this domain and `other` is within the other one, in the same partition.
    func isRelated(to other: Octets, _ otherPartition: Octets) -> Bool {
        (DomainMatch.matches(other, isAddress: false, domain: domain)
            || DomainMatch.matches(domain, isAddress: false, domain: other)) && partition.isSame(as: otherPartition)
    }

    func name(_ record: borrowing CookieRecord) -> Octets {
        Octets(start: texts + Int(record.text), count: Int(record.nameLength))
    }

    func value(_ record: borrowing CookieRecord) -> Octets {
        Octets(start: texts + record.value, count: Int(record.valueLength))
    }

    /// `name=value`, or the value of a nameless cookie.
    func pair(_ record: borrowing CookieRecord) -> Octets {
        Octets(start: texts + Int(record.text), count: record.pairLength)
    }

    func path(_ record: borrowing CookieRecord) -> Octets {
        Octets(start: texts + Int(record.path), count: Int(record.pathLength))
    }

    // MARK: Finding

    /// The place of the cookie of this name, path and host-only flag (RFC 6265bis §5.7 step 23).
    func find(name: Octets, path: Octets, isHostOnly: Bool) -> Int? {
        let pathHash = PathPrefixes.hash(path)
        return first(named: name) { record in
            record.pathHash == pathHash && record.flags.contains(.hostOnly) == isHostOnly
                && self.path(record).isSame(as: path)
        }
    }

    /// The place of the first cookie of this name for which the closure is true.
    @inline(__always)
    func first(named name: Octets, where isWanted: (borrowing CookieRecord) -> Bool) -> Int? {
        let tag = Self.tag(name)
        var start = 0
        while let index = find(tag, from: start) {
            let record = records + index
            if isWanted(record.pointee), self.name(record.pointee).isSame(as: name) { return index }
            start = index + 1
        }
        return nil
    }

    /// The first place from `start` on that has a tag.
    private func find(_ wanted: UInt16, from start: Int) -> Int? {
        var next = tags + start
        let end = tags + count
        // Many at a time, for a bucket may be large.
        let all = SIMD32(repeating: wanted)
        while end - next >= 32, !any(UnsafeRawPointer(next).loadUnaligned(as: SIMD32<UInt16>.self) .== all) {
            next += 32
        }
        while next < end {
            if next.pointee == wanted { return next - tags }
            next += 1
        }
        return nil
    }

    private static func tag(_ name: Octets) -> UInt16 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for octet in name { hash = (hash ^ UInt64(octet)) &* 0x0000_0100_0000_01b3 }
        return UInt16(truncatingIfNeeded: hash ^ hash >> 32)
    }

    // MARK: Changing

    /// Inserts a cookie at its place in the order. `record`'s texts are filled in here.
    ///
    /// - Returns: That place.
    mutating func insert(_ record: CookieRecord, _ birth: CookieBirth, name: Octets, value: Octets, path: Octets) -> Int
    {
        var record = record
        record.nameLength = UInt16(name.count)
        record.valueLength = UInt16(value.count)
        record.pathLength = UInt16(path.count)
        record.pathHash = PathPrefixes.hash(path)
        reserve(records: 1, text: record.pairLength + path.count)
        let place = self.place(of: record, birth)
        if place > 0, self.path(records[place - 1]).isSame(as: path) {
            record.path = records[place - 1].path
        } else {
            record.path = append(path)
        }
        record.text = appendPair(name: name, value: value)
        (records + place + 1).update(from: records + place, count: count - place)
        (births + place + 1).update(from: births + place, count: count - place)
        (tags + place + 1).update(from: tags + place, count: count - place)
        records[place] = record
        births[place] = birth
        tags[place] = Self.tag(name)
        header.pointee.count += 1
        return place
    }

    /// Gives the cookie at `index` another value; name, path and place stay.
    mutating func replaceValue(at index: Int, with value: Octets) {
        let old = records[index]
        if value.count <= Int(old.valueLength) {
            Self.copy(value, to: texts + old.value)
            records[index].valueLength = UInt16(value.count)
            return
        }
        let nameLength = Int(old.nameLength)
        reserve(records: 0, text: nameLength + 1 + value.count)
        // Read again: reserving may have moved the texts.
        let start = appendPair(name: name(records[index]), value: value)
        records[index].text = start
        records[index].valueLength = UInt16(value.count)
    }

    /// Takes the cookie at `index` out.
    mutating func remove(at index: Int) {
        (records + index).update(from: records + index + 1, count: count - index - 1)
        (births + index).update(from: births + index + 1, count: count - index - 1)
        (tags + index).update(from: tags + index + 1, count: count - index - 1)
        header.pointee.count -= 1
    }

    /// Where a record goes: behind all that precede it.
    private func place(of record: CookieRecord, _ birth: CookieBirth) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            let other = records[middle].pathLength
            let isBefore = record.pathLength == other ? birth.precedes(births[middle]) : record.pathLength > other
            if isBefore { high = middle } else { low = middle + 1 }
        }
        return low
    }

    private func append(_ octets: Octets) -> UInt32 {
        let start = header.pointee.textCount
        Self.copy(octets, to: texts + Int(start))
        header.pointee.textCount += UInt32(octets.count)
        return start
    }

    private func appendPair(name: Octets, value: Octets) -> UInt32 {
        let start = append(name)
        if !name.isEmpty {
            texts[Int(header.pointee.textCount)] = .equals
            header.pointee.textCount += 1
        }
        _ = append(value)
        return start
    }

    /// Makes room. A block that is full moves to a larger one, and leaves its garbage behind.
    private mutating func reserve(records more: Int, text: Int) {
        let old = header.pointee
        if count + more <= Int(old.capacity), Int(old.textCount) + text <= Int(old.textCapacity) { return }
        let needed = count + more
        let live = liveTextCount
        rebuild(
            capacity: needed <= Int(old.capacity) ? Int(old.capacity) : max(needed + needed / 2, 2),
            textCapacity: live + text + (live + text) / 2
        )
    }

    /// What the texts take when each is written once, as ``rebuild(capacity:textCapacity:)`` writes them.
    private var liveTextCount: Int {
        (0..<count).reduce(0) { sum, index in
            sum + records[index].pairLength + (sharesPath(index) ? 0 : Int(records[index].pathLength))
        }
    }

    private func sharesPath(_ index: Int) -> Bool {
        index > 0 && path(records[index - 1]).isSame(as: path(records[index]))
    }

    private mutating func rebuild(capacity: Int, textCapacity: Int) {
        let old = self
        header = Self.block(key: keyCount, capacity: capacity, textCapacity: textCapacity)
        header.initialize(to: old.header.pointee)
        header.pointee.capacity = UInt32(capacity)
        header.pointee.textCapacity = UInt32(textCapacity)
        header.pointee.textCount = 0
        Self.copy(Octets(start: old.key, count: keyCount), to: key)
        records.update(from: old.records, count: count)
        births.update(from: old.births, count: count)
        tags.update(from: old.tags, count: count)
        for index in 0..<count {
            let record = old.records[index]
            records[index].path = old.sharesPath(index) ? records[index - 1].path : append(old.path(record))
            records[index].text = appendPair(name: old.name(record), value: old.value(record))
        }
        old.release()
    }

    private static func copy(_ octets: Octets, to start: UnsafeMutablePointer<UInt8>) {
        if let from = octets.baseAddress { start.update(from: from, count: octets.count) }
    }
}
