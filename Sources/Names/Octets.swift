// SPDX-License-Identifier: Apache-2.0

/// Borrows the octets of a text while a closure runs (``Swift/String/withOctets(_:)``). Every access is bounds-checked, also in
/// release builds. A value must not outlive its closure, so no type stores one.
@safe struct Octets: RandomAccessCollection {
    typealias SubSequence = Octets

    private let base: UnsafeBufferPointer<UInt8>
    let startIndex: Int
    let endIndex: Int

    fileprivate init(_ base: UnsafeBufferPointer<UInt8>) {
        unsafe self.base = unsafe base
        startIndex = 0
        endIndex = base.count
    }

    private init(_ base: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) {
        unsafe self.base = unsafe base
        startIndex = range.lowerBound
        endIndex = range.upperBound
    }

    subscript(position: Int) -> UInt8 {
        precondition(position >= startIndex && position < endIndex, "outside of the text")
        return unsafe base[position]
    }

    subscript(range: Range<Int>) -> Octets {
        precondition(range.lowerBound >= startIndex && range.upperBound <= endIndex, "outside of the text")
        return unsafe Octets(base, range)
    }

    /// The same octets with a start index of 0.
    var rebased: Octets { unsafe Octets(UnsafeBufferPointer(rebasing: base[startIndex..<endIndex])) }

    /// Eight octets from `position`, in memory order.
    func eight(at position: Int) -> UInt64 {
        precondition(position >= startIndex && position <= endIndex - 8, "outside of the text")
        return unsafe UnsafeRawBufferPointer(base).loadUnaligned(fromByteOffset: position, as: UInt64.self)
    }

    /// Lets the standard library copy all octets at once.
    func withContiguousStorageIfAvailable<R>(_ body: (UnsafeBufferPointer<UInt8>) throws -> R) rethrows -> R? {
        try unsafe body(UnsafeBufferPointer(rebasing: base[startIndex..<endIndex]))
    }
}

extension String {
    /// Calls `body` with the UTF-8 octets of this text.
    mutating func withOctets<R>(_ body: (Octets) throws -> R) rethrows -> R {
        try withUTF8 { try body(unsafe Octets($0)) }
    }

    /// Creates a string from the ASCII octets that `write` appends. It needs one allocation, or none if the string is short.
    ///
    /// - Parameter capacity: The maximum number of octets.
    init(capacity: Int, _ write: (inout OctetWriter) -> Void) {
        unsafe self.init(unsafeUninitializedCapacity: capacity) { buffer in
            var writer = unsafe OctetWriter(buffer)
            write(&writer)
            return writer.count
        }
    }
}

extension [UInt8] {
    /// Calls `body` with these octets.
    func withOctets<R>(_ body: (Octets) throws -> R) rethrows -> R {
        try unsafe withUnsafeBufferPointer { try body(unsafe Octets($0)) }
    }
}

/// Appends the octets of a text while ``Swift/String/init(capacity:_:)`` runs.
@safe struct OctetWriter {
    private let buffer: UnsafeMutableBufferPointer<UInt8>
    /// The number of octets written.
    private(set) var count = 0

    fileprivate init(_ buffer: UnsafeMutableBufferPointer<UInt8>) { unsafe self.buffer = buffer }

    mutating func append(_ octet: UInt8) {
        precondition(unsafe count < buffer.count, "more than there is room for")
        unsafe buffer[count] = octet
        count += 1
    }

    mutating func append(_ octets: Octets) {
        for octet in octets { append(octet) }
    }
}
