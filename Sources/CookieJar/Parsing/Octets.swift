// SPDX-License-Identifier: Apache-2.0

extension UInt8 {
    static var dot: UInt8 { 0x2e }
    static var slash: UInt8 { 0x2f }
    static var colon: UInt8 { 0x3a }
    static var semicolon: UInt8 { 0x3b }
    static var equals: UInt8 { 0x3d }
    static var comma: UInt8 { 0x2c }
    static var space: UInt8 { 0x20 }
    static var tab: UInt8 { 0x09 }

    /// Whether the octet is WSP of RFC 5234: space or horizontal tab.
    var isWhitespace: Bool { self == .space || self == .tab }
    /// Whether the octet is a control character that cookies must not contain (RFC 6265bis §5.7 step 3): all but horizontal tab.
    var isForbiddenControl: Bool { (self < 0x20 && self != .tab) || self == 0x7f }
    var isDigit: Bool { self &- 0x30 < 10 }
    var isLetter: Bool { (self | 0x20) &- 0x61 < 26 }
    var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}

// These functions take ranges, not slices. A slice holds a reference, and reference counting would dominate the cost of parsing.
extension [UInt8] {
    /// `range` without leading and trailing spaces and tabs.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start].isWhitespace { start += 1 }
        while start < end, self[end - 1].isWhitespace { end -= 1 }
        return start..<end
    }

    func first(_ octet: UInt8, in range: Range<Int>) -> Int? {
        for index in range where self[index] == octet { return index }
        return nil
    }

    /// Whether the octets at `range` equal `word`, ignoring case. `word` must be ASCII in lower case.
    func isCaseInsensitively(_ word: [UInt8], at range: Range<Int>) -> Bool {
        guard range.count == word.count else { return false }
        for (index, octet) in zip(range, word) where self[index].lowercased != octet { return false }
        return true
    }

    /// Whether there is a control character other than horizontal tab.
    var hasForbiddenControl: Bool { contains { $0.isForbiddenControl } }

    var isASCII: Bool { allSatisfy { $0 < 0x80 } }
}

extension Collection<UInt8> {
    /// Whether the octets start with `prefix`, ignoring case. `prefix` must be ASCII in lower case.
    func startsCaseInsensitively(with prefix: String) -> Bool {
        count >= prefix.utf8.count && zip(self, prefix.utf8).allSatisfy { $0.lowercased == $1 }
    }
}
