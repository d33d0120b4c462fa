// SPDX-License-Identifier: Apache-2.0

/// Looks up the packed Unicode data of `IDNAData`. Each lookup is a binary search in read-only memory and needs no setup.
enum IDNATables {
    /// The UTS #46 status of a scalar.
    enum Mapping {
        case valid
        case disallowed
        case ignored
        /// Replaced by this text of the pool.
        case mapped(PoolText)
        /// Replaced by one scalar.
        case scalar(UInt32)
    }

    /// The bidirectional classes that RFC 5893 distinguishes; all other classes are `otherNeutral`.
    enum BidiClass: UInt32 {
        case left, right, arabicLetter, arabicNumber, europeanNumber, europeanSeparator, commonSeparator
        case europeanTerminator, otherNeutral, boundaryNeutral, nonspacingMark
    }

    /// The joining types of RFC 5892 Appendix A.1; `other` includes non-joining and join-causing.
    enum JoiningType: UInt32 {
        case other, left, right, dual, transparent
    }

    /// The properties of a scalar that the label rules use.
    struct Properties {
        fileprivate let bits: UInt32

        var combiningClass: UInt32 { bits >> 8 }
        var bidi: BidiClass { BidiClass(rawValue: bits >> 4 & 15) ?? .otherNeutral }
        var joining: JoiningType { JoiningType(rawValue: bits >> 1 & 7) ?? .other }
        var isMark: Bool { bits & 1 == 1 }
        /// A virama is a mark of combining class 9 (RFC 5892 Appendix A.1).
        var isVirama: Bool { combiningClass == 9 }
    }

    static func mapping(of scalar: UInt32) -> Mapping {
        let table = PackedTable(IDNAData.mapping, width: 9)
        let row = table.lastRow { table.value($0, at: 0, digits: 4) <= scalar }
        let value = table.value(row, at: 5, digits: 4)
        return switch table.value(row, at: 4, digits: 1) {
        case 0: .valid
        case 2: .ignored
        case 3: .mapped(PoolText(offset: Int(value)))
        // A negative offset is stored modulo 2^24.
        case 4: .scalar((scalar &+ value) & 0xff_ffff)
        default: .disallowed
        }
    }

    static func properties(of scalar: UInt32) -> Properties {
        let table = PackedTable(IDNAData.properties, width: 7)
        let row = table.lastRow { table.value($0, at: 0, digits: 4) <= scalar }
        return Properties(bits: table.value(row, at: 4, digits: 3))
    }

    /// The full canonical decomposition of a scalar; nil if it has none. Does not cover Hangul syllables.
    static func decomposition(of scalar: UInt32) -> PoolText? {
        let table = PackedTable(IDNAData.decompositions, width: 7)
        let row = table.lastRow { table.value($0, at: 0, digits: 4) <= scalar }
        guard table.value(row, at: 0, digits: 4) == scalar else { return nil }
        return PoolText(offset: Int(table.value(row, at: 4, digits: 3)))
    }

    /// The primary composite of two scalars; nil if there is none. Does not cover Hangul.
    static func composition(of first: UInt32, _ second: UInt32) -> UInt32? {
        let table = PackedTable(IDNAData.compositions, width: 12)
        let pair = { (row: Int) in
            UInt64(table.value(row, at: 0, digits: 4)) << 24 | UInt64(table.value(row, at: 4, digits: 4))
        }
        let wanted = UInt64(first) << 24 | UInt64(second)
        let row = table.lastRow { pair($0) <= wanted }
        return pair(row) == wanted ? table.value(row, at: 8, digits: 4) : nil
    }
}

/// A sequence of scalars in the pool: 24 bits for each scalar; bit 23 marks the last one.
struct PoolText: Sequence, IteratorProtocol {
    private var offset: Int?

    init(offset: Int) {
        self.offset = offset
    }

    mutating func next() -> UInt32? {
        guard let offset else { return nil }
        let value = PackedTable(IDNAData.pool, width: 4).value(offset, at: 0, digits: 4)
        self.offset = value >> 23 == 1 ? nil : offset + 1
        return value & 0x1f_ffff
    }
}

/// Fixed-width rows in a string literal, with six bits in each character.
private struct PackedTable {
    private let text: StaticString
    private let width: Int
    private let count: Int

    init(_ text: StaticString, width: Int) {
        self.text = text
        self.width = width
        count = text.utf8CodeUnitCount / width
    }

    /// Reads a number of `digits` characters at a column of a row. Reading in place is safe because a literal is never freed
    /// and the bounds are checked.
    func value(_ row: Int, at column: Int, digits: Int) -> UInt32 {
        var value: UInt32 = 0
        let first = row * width + column
        precondition(first >= 0 && first + digits <= text.utf8CodeUnitCount, "outside of the table")
        let start = unsafe text.utf8Start
        for index in first..<first + digits {
            value = value << 6 | UInt32(unsafe start[index] &- 0x30)
        }
        return value
    }

    /// The last row for which `holds` is true, or the first row if there is none. `holds` must be true for every row before
    /// that row.
    func lastRow(where holds: (Int) -> Bool) -> Int {
        var low = 0
        var high = count
        while high - low > 1 {
            let middle = (low + high) / 2
            if holds(middle) { low = middle } else { high = middle }
        }
        return low
    }
}
