// SPDX-License-Identifier: Apache-2.0

/// Finding a domain's bucket, and one of its cookies.
extension CookieBucket {
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

    static func tag(_ name: Octets) -> UInt16 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for octet in name { hash = (hash ^ UInt64(octet)) &* 0x0000_0100_0000_01b3 }
        return UInt16(truncatingIfNeeded: hash ^ hash >> 32)
    }
}
