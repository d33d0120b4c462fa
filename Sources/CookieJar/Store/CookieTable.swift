// SPDX-License-Identifier: Apache-2.0

/// The buckets of a store, found by domain and partition.
///
/// A ``CookieIndex`` leads from the hash of a domain to its bucket. The hash of a domain runs from its last octet to its
/// first, so one pass over a host gives the hash of each domain that it is within, and a look-up needs no public suffix
/// list.
///
/// The buckets of a site are chained: the bucket of the registrable domain, which exists as soon as one below it does,
/// leads to the others. Step 16 of RFC 6265bis §5.7 needs it, for it asks for cookies of all domains *below* another.
struct CookieTable: ~Copyable {
    /// A bucket that a request asks for.
    struct Found {
        let bucket: CookieBucket
        /// Where the bucket's domain begins in the host.
        fileprivate let start: Int32
        fileprivate let hash: UInt32

        /// Whether it is the host's own, and not that of a domain above it.
        var isOfHostItself: Bool { start == 0 }
    }

    /// A domain that cookies of a request may have.
    private struct Probe {
        let start: Int32
        let hash: UInt32
        /// What the index says.
        let answer: UInt32
    }

    /// The buckets by number; nil where a number is free.
    private(set) var buckets: [CookieBucket?] = []
    private var free: [Int] = []
    /// The numbers of the buckets plus one.
    private var index = CookieIndex()
    /// So that nobody can choose domains that fall on one slot.
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
    }

    deinit {
        for bucket in buckets { bucket?.release() }
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

    /// An odd number, as ``CookieIndex`` asks for.
    @inline(__always)
    static func finish(_ hash: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: hash ^ hash >> 29 ^ hash >> 47) | 1
    }

    private func hash(_ domain: Octets, _ partition: Octets) -> UInt32 {
        Self.finish(domain.reversed().reduce(start(partition: partition)) { Self.step($0, $1) })
    }

    // MARK: Finding

    /// The number of the bucket of a domain whose hash is known.
    private func find(_ domain: Octets, _ partition: Octets, hash: UInt32) -> Int? {
        index.first(hash) { buckets[Int($0) - 1]?.isOf(domain, partition) == true }.map { Int($0) - 1 }
    }

    func find(_ domain: Octets, _ partition: Octets) -> Int? {
        find(domain, partition, hash: hash(domain, partition))
    }

    /// How many domains of a host are looked for at once: more than hosts have, but for those made to be odd.
    private static let probesAtOnce = 16

    /// Calls `body` with the buckets of the domains that `host` is or is within, the longest last; more than once for a
    /// host of very many labels, and never with none.
    ///
    /// The index is asked for all domains before one answer is looked at, and the buckets that they lead to before the
    /// cookies of one: in a large jar most time is spent waiting for memory, and so it is waited for at once.
    @inline(__always)
    func withBuckets(
        of host: Octets,
        isAddress: Bool,
        partition: Octets,
        _ body: (UnsafeMutableBufferPointer<Found>.SubSequence) -> Void
    ) {
        withUnsafeTemporaryAllocation(of: Probe.self, capacity: Self.probesAtOnce) { probes in
            withUnsafeTemporaryAllocation(of: Found.self, capacity: Self.probesAtOnce) { found in
                var hash = start(partition: partition)
                var end = host.count
                // A single label is a public suffix: no cookie is for the hosts below it.
                var isSingleLabel = host.last != .dot
                while end > 0 {
                    var count = 0
                    while end > 0, count < Self.probesAtOnce {
                        end -= 1
                        hash = Self.step(hash, host[end])
                        guard end == 0 || (host[end - 1] == .dot && !isAddress) else { continue }
                        if end == 0 || !isSingleLabel {
                            let finished = Self.finish(hash)
                            let answer = index.look(for: finished)
                            probes[count] = Probe(start: Int32(end), hash: finished, answer: answer)
                            count += answer == CookieIndex.Answer.nothing ? 0 : 1
                        }
                        isSingleLabel = false
                    }
                    count = follow(UnsafeMutableBufferPointer(rebasing: probes[..<count]), to: found, host, partition)
                    if count > 0 { body(found[..<count]) }
                }
            }
        }
    }

    /// Finds the buckets of the probes, and says how many there are.
    @inline(__always)
    private func follow(
        _ probes: UnsafeMutableBufferPointer<Probe>,
        to found: UnsafeMutableBufferPointer<Found>,
        _ host: Octets,
        _ partition: Octets
    ) -> Int {
        var hits = 0
        for probe in probes {
            var number = Int(probe.answer) - 1
            if probe.answer == CookieIndex.Answer.unclear {
                let domain = host.part(Int(probe.start)..<host.count)
                guard let other = find(domain, partition, hash: probe.hash) else { continue }
                number = other
            }
            guard let bucket = buckets[number] else { continue }
            found[hits] = Found(bucket: bucket, start: probe.start, hash: probe.hash)
            hits += 1
        }
        var count = 0
        for place in 0..<hits {
            var hit = found[place]
            let domain = host.part(Int(hit.start)..<host.count)
            if !hit.bucket.isOf(domain, partition) {
                // Another domain has the same hash.
                guard let number = find(domain, partition, hash: hit.hash), let bucket = buckets[number] else {
                    continue
                }
                hit = Found(bucket: bucket, start: hit.start, hash: hit.hash)
            }
            found[count] = hit
            count += 1
        }
        return count
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
        let bucket = CookieBucket(domain: domain, partition: partition, hash: hash(domain, partition))
        let number = free.popLast() ?? buckets.count
        if number == buckets.count { buckets.append(bucket) } else { buckets[number] = bucket }
        index.insert(UInt32(number + 1), hash: bucket.header.pointee.hash)
        return number
    }

    private mutating func remove(_ number: Int) {
        guard let bucket = buckets[number] else { return }
        index.remove(UInt32(number + 1), hash: bucket.header.pointee.hash)
        bucket.release()
        buckets[number] = nil
        free.append(number)
    }
}
