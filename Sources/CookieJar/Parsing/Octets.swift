// SPDX-License-Identifier: Apache-2.0

/// Octets that somebody else holds for the time of a call.
typealias Octets = UnsafeBufferPointer<UInt8>

extension String {
    /// Calls `body` with the text in UTF-8; no copy, for a native string.
    @inline(__always)
    func withOctets<Result>(_ body: (Octets) throws -> Result) rethrows -> Result {
        if let result = try utf8.withContiguousStorageIfAvailable(body) { return result }
        var copy = self
        return try copy.withUTF8(body)
    }
}

extension UInt8 {
    static var dot: UInt8 { 0x2e }
    static var slash: UInt8 { 0x2f }
    static var colon: UInt8 { 0x3a }
    static var semicolon: UInt8 { 0x3b }
    static var equals: UInt8 { 0x3d }
    static var comma: UInt8 { 0x2c }
    static var space: UInt8 { 0x20 }
    static var tab: UInt8 { 0x09 }

    /// WSP of RFC 5234: space or horizontal tab.
    var isWhitespace: Bool { self == .space || self == .tab }
    /// The control characters that no cookie may hold (RFC 6265bis §5.7 step 3): all but horizontal tab.
    var isForbiddenControl: Bool { (self < 0x20 && self != .tab) || self == 0x7f }
    var isDigit: Bool { self &- 0x30 < 10 }
    var isLetter: Bool { (self | 0x20) &- 0x61 < 26 }
    var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}

extension UnsafeBufferPointer<UInt8> {
    /// The octets at `range`, as octets.
    @inline(__always)
    func part(_ range: Range<Int>) -> Octets {
        Octets(rebasing: self[range])
    }

    /// `range` without the spaces and tabs at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var range = range
        while !range.isEmpty, self[range.lowerBound].isWhitespace { range = (range.lowerBound + 1)..<range.upperBound }
        while !range.isEmpty, self[range.upperBound - 1].isWhitespace {
            range = range.lowerBound..<(range.upperBound - 1)
        }
        return range
    }

    /// The first place of `octet` in `range`.
    func first(_ octet: UInt8, in range: Range<Int>) -> Int? {
        var index = range.lowerBound
        while index < range.upperBound {
            if self[index] == octet { return index }
            index += 1
        }
        return nil
    }

    /// Whether the octets are the same.
    @inline(__always)
    func isSame(as other: Octets) -> Bool {
        count == other.count && startsSame(as: other)
    }

    /// Whether `prefix`, which must not be longer, is what the octets begin with.
    @inline(__always)
    func startsSame(as prefix: Octets) -> Bool {
        guard let own = UnsafeRawPointer(baseAddress), let other = UnsafeRawPointer(prefix.baseAddress) else {
            return prefix.isEmpty
        }
        var index = 0
        while index + 8 <= prefix.count {
            let words = (
                own.loadUnaligned(fromByteOffset: index, as: UInt64.self),
                other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            )
            if words.0 != words.1 { return false }
            index += 8
        }
        while index < prefix.count {
            if self[index] != prefix[index] { return false }
            index += 1
        }
        return true
    }

    /// Whether the octets begin with `prefix`, which is in lower case, whatever their own case.
    func startsCaseInsensitively(with prefix: StaticString) -> Bool {
        count >= prefix.utf8CodeUnitCount
            && (0..<prefix.utf8CodeUnitCount).allSatisfy { self[$0].lowercased == prefix.utf8Start[$0] }
    }

    /// Whether the octets are `word`, which is in lower case, whatever their own case.
    func isCaseInsensitively(_ word: StaticString) -> Bool {
        count == word.utf8CodeUnitCount && startsCaseInsensitively(with: word)
    }

    /// Whether there is a control character other than horizontal tab.
    var hasForbiddenControl: Bool {
        // One pass without a branch per octet: the compiler does many octets at a time.
        var found: UInt8 = 0
        for octet in self { found |= octet.isForbiddenControl ? 1 : 0 }
        return found != 0
    }

    /// Whether all octets are ASCII.
    var isASCII: Bool {
        var all: UInt8 = 0
        for octet in self { all |= octet }
        return all < 0x80
    }
}
