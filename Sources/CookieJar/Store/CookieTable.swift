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
    /// A domain that a host is or is within.
    struct Domain {
        /// Where it begins in the host.
        fileprivate let start: Int32
        fileprivate let hash: UInt32
        /// The bucket that most likely is that of the domain.
        fileprivate var bucket: CookieBucket?

        /// Whether it is the host itself, and not a domain above it.
        var isHost: Bool { start == 0 }
    }

    /// The buckets by number; nil where a number is free.
    private(set) var buckets: [CookieBucket?] = []
    private var free: [Int] = []
    private var index = CookieIndex()
    private let arena = BlockArena()
    /// So that nobody can choose domains that fall on one slot.
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
    }

    deinit {
        for bucket in buckets { bucket?.release(to: arena) }
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

    private func find(_ domain: Octets, _ partition: Octets, hash: UInt32) -> CookieBucket? {
        index.first(hash) { $0.isOf(domain, partition) }
    }

    /// The number of the bucket of a domain.
    func find(_ domain: Octets, _ partition: Octets) -> Int? {
        find(domain, partition, hash: hash(domain, partition)).map { Int($0.header.pointee.number) }
    }

    /// How many domains of a host are looked for at once: more than hosts have, but for those made to be odd.
    private static let domainsAtOnce = 16

    /// Calls `body` with the domains that may have cookies for a host, the longest last; more than once for a host of very
    /// many labels.
    ///
    /// In a large jar most time is spent waiting for memory, and so nothing is waited for while there is something else to do:
    /// this asks for the lines of the index, ``known(_:)`` for the blocks that they lead to, and ``bucket(of:in:_:)`` reads.
    @inline(__always)
    func withDomains(
        of host: Octets,
        isAddress: Bool,
        partition: Octets,
        _ body: (UnsafeMutableBufferPointer<Domain>) -> Void
    ) {
        withUnsafeTemporaryAllocation(of: Domain.self, capacity: Self.domainsAtOnce) { domains in
            var hash = start(partition: partition)
            var end = host.count
            // A single label is a public suffix: no cookie is for the hosts below it.
            var isSingleLabel = host.last != .dot
            while end > 0 {
                var count = 0
                while end > 0, count < Self.domainsAtOnce {
                    end -= 1
                    hash = Self.step(hash, host[end])
                    guard end == 0 || (host[end - 1] == .dot && !isAddress) else { continue }
                    if end == 0 || !isSingleLabel {
                        domains[count] = Domain(start: Int32(end), hash: Self.finish(hash))
                        index.prefetch(domains[count].hash)
                        count += 1
                    }
                    isSingleLabel = false
                }
                body(UnsafeMutableBufferPointer(rebasing: domains[..<count]))
            }
        }
    }

    /// Those of the domains that the index knows.
    @inline(__always)
    func known(_ domains: UnsafeMutableBufferPointer<Domain>) -> UnsafeMutableBufferPointer<Domain> {
        var count = 0
        for place in domains.indices {
            var domain = domains[place]
            let answer = index.look(for: domain.hash)
            if answer.bucket == nil, answer.isFinal { continue }
            answer.bucket?.prefetch()
            domain.bucket = answer.bucket
            domains[count] = domain
            count += 1
        }
        return UnsafeMutableBufferPointer(rebasing: domains[..<count])
    }

    /// The bucket of a domain that the index knows.
    @inline(__always)
    func bucket(of domain: Domain, in host: Octets, _ partition: Octets) -> CookieBucket? {
        let name = host.part(Int(domain.start)..<host.count)
        if let bucket = domain.bucket, bucket.isOf(name, partition) { return bucket }
        // Another domain has the same mark, or the line of the index was full.
        return find(name, partition, hash: domain.hash)
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

    /// Gives `body` a bucket to change; it may move, to memory of the arena.
    mutating func withBucket<Result>(_ number: Int, _ body: (inout CookieBucket, BlockArena) -> Result) -> Result? {
        guard var bucket = buckets[number] else { return nil }
        let old = bucket
        defer {
            buckets[number] = bucket
            if bucket.header != old.header { index.replace(old, with: bucket) }
        }
        return body(&bucket, arena)
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
        let number = free.popLast() ?? buckets.count
        let bucket = CookieBucket(
            domain: domain,
            partition: partition,
            hash: hash(domain, partition),
            number: UInt32(number),
            in: arena
        )
        if number == buckets.count { buckets.append(bucket) } else { buckets[number] = bucket }
        index.insert(bucket)
        return number
    }

    private mutating func remove(_ number: Int) {
        guard let bucket = buckets[number] else { return }
        index.remove(bucket)
        bucket.release(to: arena)
        buckets[number] = nil
        free.append(number)
    }
}
