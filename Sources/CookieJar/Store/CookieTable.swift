// SPDX-License-Identifier: Apache-2.0

/// The buckets of a store, found by domain and partition.
///
/// A hash table with open addressing over the domains. The hash of a domain runs from its last octet to its first, so one
/// pass over a host gives the hash of each domain that it is within, and a look-up needs no public suffix list.
///
/// The buckets of a site are chained: the bucket of the registrable domain, which exists as soon as one below it does,
/// leads to the others. Step 16 of RFC 6265bis §5.7 needs it, for it asks for cookies of all domains *below* another.
struct CookieTable: ~Copyable {
    private struct Slot {
        var hash: UInt32
        /// The bucket's number plus one; 0 where the slot is free.
        var bucket: UInt32

        static let free = Slot(hash: 0, bucket: 0)
    }

    /// A domain that cookies of a request may have.
    private struct Probe {
        /// Where the domain begins in the host.
        let start: Int32
        let hash: UInt32
        /// The slot at which a search begins.
        let slot: Slot
        /// The bucket that the slot leads to.
        var header: UnsafeMutablePointer<CookieBucket.Header>?
    }

    /// The buckets by number; nil where a number is free.
    private(set) var buckets: [CookieBucket?] = []
    private var free: [Int] = []
    private var slots: UnsafeMutablePointer<Slot>
    private var mask: Int
    private var used = 0
    /// So that nobody can choose domains that fall on one slot.
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
        mask = 15
        slots = .allocate(capacity: mask + 1)
        slots.initialize(repeating: .free, count: mask + 1)
    }

    deinit {
        for bucket in buckets { bucket?.release() }
        slots.deallocate()
    }

    // MARK: Hashing

    /// The hash of no octets in a partition; `step` adds octets from the last to the first.
    func start(partition: Octets) -> UInt64 {
        partition.reduce(seed) { Self.step($0, $1) }
    }

    @inline(__always)
    static func step(_ hash: UInt64, _ octet: UInt8) -> UInt64 {
        (hash ^ UInt64(octet)) &* 0x0000_0100_0000_01b3
    }

    @inline(__always)
    static func finish(_ hash: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: hash ^ hash >> 29 ^ hash >> 47)
    }

    private func hash(_ domain: Octets, _ partition: Octets) -> UInt32 {
        Self.finish(domain.reversed().reduce(start(partition: partition)) { Self.step($0, $1) })
    }

    // MARK: Finding

    /// The number of the bucket of a domain whose hash is known.
    @inline(__always)
    func find(_ domain: Octets, _ partition: Octets, hash: UInt32) -> Int? {
        var slot = Int(hash) & mask
        while slots[slot].bucket != 0 {
            if slots[slot].hash == hash {
                let number = Int(slots[slot].bucket) - 1
                if let bucket = buckets[number], bucket.isOf(domain, partition) { return number }
            }
            slot = (slot + 1) & mask
        }
        return nil
    }

    func find(_ domain: Octets, _ partition: Octets) -> Int? {
        find(domain, partition, hash: hash(domain, partition))
    }

    /// How many domains of a host are looked for at once: more than hosts have, but for those made to be odd.
    private static let probesAtOnce = 16

    /// Calls `body` with the bucket of each domain that `host` is or is within, the longest last.
    ///
    /// The slots of all domains are read before one is looked at, and the buckets that they lead to before the cookies of
    /// one: in a large jar most time is spent waiting for memory, and so it is waited for at once.
    @inline(__always)
    func forEachBucket(
        of host: Octets,
        isAddress: Bool,
        partition: Octets,
        _ body: (_ bucket: CookieBucket, _ isHostItself: Bool) -> Void
    ) {
        withUnsafeTemporaryAllocation(of: Probe.self, capacity: Self.probesAtOnce) { probes in
            var hash = start(partition: partition)
            var index = host.count
            // A single label is a public suffix: no cookie is for the hosts below it.
            var isSingleLabel = host.last != .dot
            while index > 0 {
                var count = 0
                while index > 0, count < Self.probesAtOnce {
                    index -= 1
                    hash = Self.step(hash, host[index])
                    guard index == 0 || (host[index - 1] == .dot && !isAddress) else { continue }
                    if index == 0 || !isSingleLabel {
                        let finished = Self.finish(hash)
                        let slot = slots[Int(finished) & mask]
                        probes[count] = Probe(
                            start: Int32(truncatingIfNeeded: index),
                            hash: finished,
                            slot: slot,
                            header: nil
                        )
                        count += 1
                    }
                    isSingleLabel = false
                }
                for place in 0..<verify(probes, count, host, partition) {
                    guard let header = probes[place].header else { continue }
                    body(CookieBucket(header), probes[place].start == 0)
                }
            }
        }
    }

    /// Keeps of the probes those that found their bucket, and says how many.
    @inline(__always)
    private func verify(
        _ probes: UnsafeMutableBufferPointer<Probe>,
        _ count: Int,
        _ host: Octets,
        _ partition: Octets
    ) -> Int {
        var hits = 0
        for place in 0..<count where probes[place].slot.bucket != 0 {
            var probe = probes[place]
            probe.header = buckets[Int(probe.slot.bucket) - 1]?.header
            probes[hits] = probe
            hits += 1
        }
        var found = 0
        for place in 0..<hits {
            var probe = probes[place]
            let domain = host.part(Int(probe.start)..<host.count)
            // Nearly always it is in the first slot, or nowhere.
            let isThere =
                probe.slot.hash == probe.hash && probe.header.map { CookieBucket($0).isOf(domain, partition) } == true
            if !isThere {
                guard let number = find(domain, partition, hash: probe.hash) else { continue }
                probe.header = buckets[number]?.header
            }
            probes[found] = probe
            found += 1
        }
        return found
    }

    /// Whether a bucket whose domain is `domain`, is above it or is below it meets a condition.
    func containsBucket(relatedTo domain: Octets, _ partition: Octets, where body: (CookieBucket) -> Bool) -> Bool {
        guard PublicSuffixList.registrableDomainStart(of: domain) != nil else {
            // A public suffix has no site whose buckets would be chained. It is rare that one has cookies at all.
            return buckets.contains { $0.map { $0.isRelated(to: domain, partition) && body($0) } ?? false }
        }
        let anchor = anchor(of: domain)
        var next = find(anchor, partition)
        while let number = next, let bucket = buckets[number] {
            if bucket.isRelated(to: domain, partition), body(bucket) { return true }
            next = bucket.header.pointee.next == 0 ? nil : Int(bucket.header.pointee.next) - 1
        }
        // The public suffix itself may have host-only cookies.
        for start in anchor.indices.dropFirst() where anchor[start - 1] == .dot {
            let above = find(anchor.part(start..<anchor.count), partition)
            if let above, let bucket = buckets[above], body(bucket) { return true }
        }
        return false
    }

    // MARK: Changing

    /// Gives `body` a bucket to change; it may move.
    mutating func withBucket<Result>(_ number: Int, _ body: (inout CookieBucket) -> Result) -> Result? {
        guard var bucket = buckets[number] else { return nil }
        defer { buckets[number] = bucket }
        return body(&bucket)
    }

    /// The number of the bucket of a domain, which is made if there is none.
    mutating func make(_ domain: Octets, _ partition: Octets) -> Int {
        if let number = find(domain, partition) { return number }
        let anchor = anchor(of: domain)
        let number = add(domain, partition)
        if anchor.count < domain.count {
            let head = find(anchor, partition) ?? add(anchor, partition)
            if let head = buckets[head]?.header, let own = buckets[number]?.header {
                own.pointee.next = head.pointee.next
                head.pointee.next = UInt32(number + 1)
            }
        }
        return number
    }

    /// Takes a bucket away if it has no cookies, and then that of its registrable domain if that has no use any more.
    mutating func removeIfEmpty(_ number: Int) {
        guard let bucket = buckets[number], bucket.count == 0 else { return }
        let anchor = anchor(of: bucket.domain)
        if anchor.count == bucket.domain.count {
            if bucket.header.pointee.next == 0 { remove(number) }
        } else if let head = find(anchor, bucket.partition), var previous = buckets[head] {
            while previous.header.pointee.next != UInt32(number + 1) {
                guard let next = buckets[Int(previous.header.pointee.next) - 1] else { return }
                previous = next
            }
            previous.header.pointee.next = bucket.header.pointee.next
            remove(number)
            if let last = buckets[head], last.count == 0, last.header.pointee.next == 0 { remove(head) }
        }
    }

    /// The registrable domain; the domain itself where there is none, and for an IPv4 address.
    private func anchor(of domain: Octets) -> Octets {
        if domain.allSatisfy({ $0.isDigit || $0 == .dot }) { return domain }
        return domain.part((PublicSuffixList.registrableDomainStart(of: domain) ?? 0)..<domain.count)
    }

    private mutating func add(_ domain: Octets, _ partition: Octets) -> Int {
        if (used + 1) * 2 > mask + 1 { grow() }
        let bucket = CookieBucket(domain: domain, partition: partition, hash: hash(domain, partition))
        let number = free.popLast() ?? buckets.count
        if number == buckets.count { buckets.append(bucket) } else { buckets[number] = bucket }
        place(number, hash: bucket.header.pointee.hash)
        used += 1
        return number
    }

    private func place(_ number: Int, hash: UInt32) {
        var slot = Int(hash) & mask
        while slots[slot].bucket != 0 { slot = (slot + 1) & mask }
        slots[slot] = Slot(hash: hash, bucket: UInt32(number + 1))
    }

    private mutating func grow() {
        let old = (slots, mask)
        mask = mask * 2 + 1
        slots = .allocate(capacity: mask + 1)
        slots.initialize(repeating: .free, count: mask + 1)
        for slot in 0...old.1 where old.0[slot].bucket != 0 {
            place(Int(old.0[slot].bucket) - 1, hash: old.0[slot].hash)
        }
        old.0.deallocate()
    }

    private mutating func remove(_ number: Int) {
        guard let bucket = buckets[number] else { return }
        var hole = Int(bucket.header.pointee.hash) & mask
        while slots[hole].bucket != UInt32(number + 1) { hole = (hole + 1) & mask }
        // Later entries of the run move up, so that a search never meets a hole where there was none.
        var slot = (hole + 1) & mask
        while slots[slot].bucket != 0 {
            let home = Int(slots[slot].hash) & mask
            if (slot - home) & mask >= (slot - hole) & mask {
                slots[hole] = slots[slot]
                hole = slot
            }
            slot = (slot + 1) & mask
        }
        slots[hole] = .free
        used -= 1
        bucket.release()
        buckets[number] = nil
        free.append(number)
    }
}
