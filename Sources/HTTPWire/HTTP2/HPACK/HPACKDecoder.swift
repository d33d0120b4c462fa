// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// Decodes header blocks (RFC 7541). An error must end the connection, because the tables of both sides then differ.
struct HPACKDecoder {
    enum Failure: Error {
        /// The block is invalid (RFC 9113 §4.3: COMPRESSION_ERROR).
        case malformed
    }

    /// A limit that a block exceeds.
    enum Excess {
        /// The size of its fields, and perhaps their number too.
        case size
        /// Only the number of its fields.
        case count
    }

    /// The maximum size of the dynamic table, in bytes: the default of SETTINGS_HEADER_TABLE_SIZE.
    static let tableSize = 4_096

    /// The maximum total size of the fields of a block, in bytes, including 32 bytes of overhead per field.
    let maxListSize: Int
    /// The maximum number of fields of a block. Pseudo fields do not count, as the start line of HTTP/1 does not.
    let maxFields: Int
    /// The limit that the last block exceeded; nil if it exceeded none.
    private(set) var excess: Excess?
    /// The dynamic table, newest entry first.
    private var table = Deque<HPACKField>()
    private var size = 0
    private var maxSize = Self.tableSize
    /// Whether the last block refers to the table, so that its meaning depends on the table.
    private var readsTable = false
    /// The number of fields that the last block put into the table; nil if it also changed the table in another way.
    private var insertionCount: Int? = 0
    /// The output buffer of the Huffman decoder.
    private(set) var scratch: [UInt8] = []
    static let largestScratch = 4_096

    init(maxListSize: Int, maxFields: Int) {
        self.maxListSize = maxListSize
        self.maxFields = maxFields
    }

    /// Calls `body` with each field of a block, in order, up to the first one above a limit. The fields after it only update the
    /// table. The block's own size bounds this work.
    mutating func decode(_ block: UnsafeRawBufferPointer, _ body: (HPACKField) -> Void) throws(Failure) {
        (readsTable, insertionCount, excess) = (false, 0, nil)
        // An idle connection should hold little memory.
        defer { if scratch.count > Self.largestScratch { scratch = [] } }
        var index = 0
        var listSize = 0
        var count = 0
        while index < block.count {
            let first = block[index]
            let field: HPACKField
            if first & 0x80 != 0 {
                field = try entry(try integer(in: block, at: &index, prefix: 7))
            } else if first & 0xe0 == 0x20 {
                // A change of the table size must come first in a block (RFC 7541 §4.2).
                let wanted = try integer(in: block, at: &index, prefix: 5)
                guard listSize == 0, wanted <= Self.tableSize else { throw .malformed }
                insertionCount = nil
                maxSize = wanted
                evict(for: 0)
                continue
            } else {
                let isIndexed = first & 0x40 != 0
                field = try literal(block, &index, prefix: isIndexed ? 6 : 4)
                if isIndexed { insert(field) }
            }
            if !field.isPseudo { count += 1 }
            listSize += field.size
            if listSize > maxListSize {
                excess = .size
            } else if count > maxFields {
                excess = .count
            } else {
                body(field)
            }
        }
    }

    /// What the last block puts into the table if it comes again; nil if it must be decoded again.
    var insertions: [HPACKField]? {
        guard let count = insertionCount, count <= table.count, count == 0 || !readsTable else { return nil }
        return table.prefix(count).reversed()
    }

    /// Puts the fields of a block into the table, as decoding the block would.
    mutating func insert(_ fields: [HPACKField]) {
        for field in fields { insert(field) }
    }

    private func integer(in block: UnsafeRawBufferPointer, at index: inout Int, prefix: Int) throws(Failure) -> Int {
        guard let value = HPACKInteger.read(block, at: &index, prefix: prefix) else { throw .malformed }
        return value
    }

    private mutating func entry(_ index: Int) throws(Failure) -> HPACKField {
        let known = HPACKStaticTable.fields
        guard index > known.count else {
            guard index > 0 else { throw .malformed }
            return known[index - 1]
        }
        guard index - known.count <= table.count else { throw .malformed }
        readsTable = true
        return table[index - known.count - 1]
    }

    private mutating func literal(
        _ block: UnsafeRawBufferPointer,
        _ index: inout Int,
        prefix: Int
    ) throws(Failure) -> HPACKField {
        let nameIndex = try integer(in: block, at: &index, prefix: prefix)
        if nameIndex > 0 {
            let named = try entry(nameIndex)
            return try string(in: block, at: &index) { HPACKField(name: named, value: $0) }
        }
        // Copy the name: decoding the value may overwrite the scratch buffer.
        let name = try string(in: block, at: &index) { Array($0) }
        return try string(in: block, at: &index) { value in
            name.withUnsafeBytes { HPACKField(name: $0, value: value) }
        }
    }

    /// Decodes a string literal (RFC 7541 §5.2) and passes it to `body`.
    private mutating func string<Value>(
        in block: UnsafeRawBufferPointer,
        at index: inout Int,
        body: (UnsafeRawBufferPointer) -> Value
    ) throws(Failure) -> Value {
        guard index < block.count else { throw .malformed }
        let isCoded = block[index] & 0x80 != 0
        let length = try integer(in: block, at: &index, prefix: 7)
        guard length <= block.count - index else { throw .malformed }
        let octets = UnsafeRawBufferPointer(rebasing: block[index..<(index + length)])
        index += length
        guard isCoded else { return body(octets) }
        // The shortest code has five bits, so the decoded string has at most 8/5 of the encoded length.
        if scratch.count < length * 2 + 1 { scratch = [UInt8](repeating: 0, count: length * 2 + 1) }
        let value = scratch.withUnsafeMutableBytes { space -> Value? in
            guard let count = HPACKHuffman.decode(octets, into: space) else { return nil }
            return body(UnsafeRawBufferPointer(rebasing: space[..<count]))
        }
        guard let value else { throw .malformed }
        return value
    }

    private mutating func insert(_ field: HPACKField) {
        evict(for: field.size)
        // A field larger than the table empties it and is not stored (RFC 7541 §4.4).
        guard field.size <= maxSize else { return insertionCount = nil }
        table.prepend(field)
        size += field.size
        insertionCount? += 1
    }

    private mutating func evict(for space: Int) {
        while size + space > maxSize, let last = table.popLast() { size -= last.size }
    }
}
