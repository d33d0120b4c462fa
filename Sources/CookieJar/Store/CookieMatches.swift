// SPDX-License-Identifier: Apache-2.0

/// The cookies that a request gets: places in a store, in memory of the stack as long as they are few.
struct CookieMatches: ~Copyable {
    struct Element {
        let record: UnsafeMutablePointer<CookieRecord>
        let texts: UnsafeMutablePointer<UInt8>
        let bucket: CookieBucket

        var pair: Octets { Octets(start: texts + Int(record.pointee.text), count: record.pointee.pairLength) }
    }

    private(set) var count = 0
    private var capacity: Int
    private var elements: UnsafeMutablePointer<Element>
    private var isOnHeap = false

    private init(_ memory: UnsafeMutableBufferPointer<Element>, base: UnsafeMutablePointer<Element>) {
        elements = base
        capacity = memory.count
    }

    deinit {
        if isOnHeap { elements.deallocate() }
    }

    /// Calls `body` with an empty list.
    @inline(__always)
    static func with<Result>(_ body: (inout CookieMatches) -> Result) -> Result {
        // 1 KiB is what the stack gives without asking.
        withUnsafeTemporaryAllocation(of: Element.self, capacity: 1024 / MemoryLayout<Element>.stride) { memory in
            guard let base = memory.baseAddress else { preconditionFailure("no stack memory") }
            var matches = CookieMatches(memory, base: base)
            return body(&matches)
        }
    }

    subscript(index: Int) -> Element { elements[index] }

    @inline(__always)
    mutating func append(_ element: Element) {
        if count == capacity { grow() }
        elements[count] = element
        count += 1
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 4)
        larger.update(from: elements, count: count)
        if isOnHeap { elements.deallocate() }
        (elements, capacity, isOnHeap) = (larger, capacity * 4, true)
    }

    /// Merges the elements before and from `middle` on, each in order, into one order.
    mutating func merge(from middle: Int) {
        guard middle > 0, middle < count,
            elements[middle].record.pointee.precedes(elements[middle - 1].record.pointee)
        else { return }
        let early = UnsafeMutablePointer<Element>.allocate(capacity: middle)
        defer { early.deallocate() }
        early.update(from: elements, count: middle)
        var (left, right, place) = (0, middle, 0)
        while left < middle {
            if right < count, elements[right].record.pointee.precedes(early[left].record.pointee) {
                elements[place] = elements[right]
                right += 1
            } else {
                elements[place] = early[left]
                left += 1
            }
            place += 1
        }
    }

    /// Octets of the Cookie header.
    var headerCount: Int {
        (0..<count).reduce(max(count - 1, 0) * 2) { $0 + elements[$1].record.pointee.pairLength }
    }

    /// Writes the Cookie header (RFC 6265bis §5.8.3 step 6) to memory of `headerCount` octets.
    func writeHeader(to start: UnsafeMutablePointer<UInt8>) {
        var place = start
        for index in 0..<count {
            if index > 0 {
                place[0] = .semicolon
                place[1] = .space
                place += 2
            }
            let pair = elements[index].pair
            if let from = pair.baseAddress { place.update(from: from, count: pair.count) }
            place += pair.count
        }
    }
}
