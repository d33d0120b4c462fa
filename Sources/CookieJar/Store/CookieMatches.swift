// SPDX-License-Identifier: Apache-2.0

/// The cookies that a request gets: places in a store, in memory of the stack as long as they are few.
struct CookieMatches: ~Copyable {
    struct Element {
        /// What the order of the Cookie header follows from, where both of two are ranked.
        let order: UInt64
        let record: UnsafeMutablePointer<CookieRecord>
        let bucket: CookieBucket

        /// Which of the bucket's cookies it is.
        var index: Int { record - bucket.records }

        /// The order of the Cookie header (RFC 6265bis §5.8.3 step 4): longer paths first, then earlier creation.
        @inline(__always)
        func precedes(_ other: Element) -> Bool {
            // Nearly all are ranked. Then there is no branch on what differs from cookie to cookie, for it cannot be foreseen.
            if !(CookieRecord.isRanked(order) && CookieRecord.isRanked(other.order)),
                record.pointee.pathLength == other.record.pointee.pathLength
            {
                return bucket.births[index].precedes(other.bucket.births[other.index])
            }
            return order < other.order
        }
    }

    private(set) var count = 0
    private var capacity: Int
    private var elements: UnsafeMutablePointer<Element>
    private var isOnHeap = false
    /// Octets of the Cookie header, once ``finish(at:)`` was called.
    private(set) var headerCount = 0

    /// As many as 1 KiB holds, which is what the stack gives without asking.
    private static let stackCapacity = 1024 / MemoryLayout<Element>.stride

    private init(_ elements: UnsafeMutablePointer<Element>, capacity: Int) {
        self.elements = elements
        self.capacity = capacity
    }

    deinit {
        if isOnHeap { elements.deallocate() }
    }

    /// Calls `body` with an empty list.
    @inline(__always)
    static func with<Result>(_ body: (inout CookieMatches) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: Element.self, capacity: stackCapacity) { memory in
            guard let base = memory.baseAddress else { preconditionFailure("no stack memory") }
            var matches = CookieMatches(base, capacity: stackCapacity)
            return body(&matches)
        }
    }

    subscript(index: Int) -> Element { elements[index] }

    /// Adds the cookies of a bucket that are live, have no flag of `excluded` and may match a path.
    ///
    /// There is no branch in the loop: which cookies match cannot be foreseen.
    @inline(__always)
    mutating func append(
        _ bucket: CookieBucket,
        without excluded: CookieRecord.Flags,
        after now: Int64,
        _ paths: PathPrefixes? = nil
    ) {
        var record = bucket.records
        let end = record + bucket.count
        while record < end {
            if count == capacity { grow() }
            var next = elements + count
            for _ in 0..<min(end - record, capacity - count) {
                next.pointee = Element(order: record.pointee.order, record: record, bucket: bucket)
                let isLive = record.pointee.expires > now ? 1 : 0
                next += isLive & record.pointee.flags.are(notIn: excluded) & (paths?.mayContain(record.pointee) ?? 1)
                record += 1
            }
            count = next - elements
        }
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 4)
        larger.update(from: elements, count: count)
        if isOnHeap { elements.deallocate() }
        (elements, capacity, isOnHeap) = (larger, capacity * 4, true)
    }

    /// Takes out the elements for which the closure is true.
    mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        removeAll(in: 0..<count, where: isUnwanted)
    }

    @inline(__always)
    private mutating func removeAll(in range: Range<Int>, where isUnwanted: (Element) -> Bool) {
        var kept = range.lowerBound
        for index in range where !isUnwanted(elements[index]) {
            elements[kept] = elements[index]
            kept += 1
        }
        guard kept < range.upperBound else { return }
        (elements + kept).update(from: elements + range.upperBound, count: count - range.upperBound)
        count -= range.upperBound - kept
    }

    /// Merges the elements before and from `middle` on, each in order, into one order.
    mutating func merge(from middle: Int) {
        guard middle > 0, middle < count,
            elements[middle].precedes(elements[middle - 1])
        else { return }
        withUnsafeTemporaryAllocation(of: Element.self, capacity: middle) { early in
            guard var left = early.baseAddress else { return }
            left.update(from: elements, count: middle)
            let leftEnd = left + middle
            var right = elements + middle
            let rightEnd = elements + count
            var place = elements
            while left < leftEnd, right < rightEnd {
                let takesRight = right.pointee.precedes(left.pointee) ? 1 : 0
                place.pointee = (takesRight != 0 ? right : left).pointee
                right += takesRight
                left += 1 - takesRight
                place += 1
            }
            // What remains on the right is in its place already.
            place.update(from: left, count: leftEnd - left)
        }
    }

    /// Brings the elements, which are in no order, into that of the Cookie header.
    mutating func sort() {
        var all = UnsafeMutableBufferPointer(start: elements, count: count)
        all.sort { $0.precedes($1) }
    }

    /// The cookies as values.
    var cookies: [Cookie] {
        (0..<count).map { Cookie(at: elements[$0].index, of: elements[$0].bucket) }
    }

    /// Takes out those from `start` on, which are in order, whose path only seemed to match.
    @inline(__always)
    mutating func verifyPaths(from start: Int, _ requestPath: Octets) {
        // Most paths are a slash, and of one octet there is no other. The longer ones are in front.
        var end = start
        while end < count, elements[end].record.pointee.pathLength > 1 { end += 1 }
        removeAll(in: start..<end) {
            !PathMatch.matches(requestPath, cookiePath: $0.bucket.path($0.record.pointee))
        }
    }

    /// Notes that all were sent (RFC 6265bis §5.8.3 step 5), and counts the octets of the Cookie header.
    @inline(__always)
    mutating func finish(at now: CookieTime) {
        let seconds = CookieRecord.seconds(now)
        headerCount = max(count - 1, 0) * 2
        for index in 0..<count {
            CookieRecord.access(elements[index].record, at: seconds)
            headerCount += Int(elements[index].record.pointee.pairLength)
        }
    }

    /// Writes the Cookie header (RFC 6265bis §5.8.3 step 6) to memory of ``headerCount`` octets.
    func writeHeader(to start: UnsafeMutablePointer<UInt8>) {
        var place = UnsafeMutableRawPointer(start)
        let end = place + headerCount
        for index in 0..<count {
            let (record, bucket) = (elements[index].record, elements[index].bucket)
            let length = Int(record.pointee.pairLength)
            bucket.copyText(at: Int(record.pointee.text), count: length, to: place, room: end - place)
            place += length
            guard place < end else { return }
            place.storeBytes(of: UInt8.semicolon, as: UInt8.self)
            place.storeBytes(of: UInt8.space, toByteOffset: 1, as: UInt8.self)
            place += 2
        }
    }
}
