// SPDX-License-Identifier: Apache-2.0

import DequeModule
package import NIOCore

/// Encodes header blocks (RFC 7541).
package struct HPACKEncoder {
    package enum Indexing {
        /// Added to the dynamic table, so that an index can replace the field in later blocks.
        case incremental
        /// Not added to the table, because the value differs each time.
        case none
        /// Never added to a table, not even by intermediaries: a secret (RFC 7541 §7.1.3).
        case never
    }

    /// The maximum size of the dynamic table, in bytes. It is small, because it is searched for each field.
    static let tableSize = 4_096

    /// Paths longer than this, in bytes, are not Huffman coded.
    static let longPath = 64

    private struct Entry {
        let name: String
        let value: String
        var size: Int { name.utf8.count + value.utf8.count + 32 }
    }

    /// The dynamic table, newest entry first.
    private var table = Deque<Entry>()
    private var size = 0
    private var maxSize = Self.tableSize
    /// The smallest and the last table size since the last block, if the peer must be told of a change.
    private var pendingSizes: (smallest: Int, last: Int)?

    /// Applies the peer's SETTINGS_HEADER_TABLE_SIZE.
    mutating func setMaximumTableSize(_ wanted: Int) {
        let new = min(wanted, Self.tableSize)
        guard new != maxSize || pendingSizes != nil else { return }
        maxSize = new
        pendingSizes = (min(pendingSizes?.smallest ?? new, new), new)
        evict(for: 0)
    }

    /// Begins a block, with the pending changes of the table size (RFC 7541 §4.2).
    package mutating func begin(into buffer: inout ByteBuffer) {
        guard let sizes = pendingSizes else { return }
        pendingSizes = nil
        if sizes.smallest < sizes.last { HPACKInteger.write(sizes.smallest, prefix: 5, flags: 0x20, into: &buffer) }
        HPACKInteger.write(sizes.last, prefix: 5, flags: 0x20, into: &buffer)
    }

    /// Appends a field. `name` must be in lower case.
    package mutating func encode(_ name: String, value: String, indexing: Indexing, into buffer: inout ByteBuffer) {
        if indexing != .never, let index = index(of: name, value) {
            HPACKInteger.write(index, prefix: 7, flags: 0x80, into: &buffer)
            return
        }
        write(name: name, indexing: indexing, into: &buffer)
        Self.write(value, into: &buffer)
        if indexing == .incremental { insert(Entry(name: name, value: value)) }
    }

    /// Appends a field with a value of arbitrary bytes, without indexing it.
    package mutating func encode(
        _ name: String,
        octets: UnsafeRawBufferPointer,
        indexing: Indexing,
        into buffer: inout ByteBuffer
    ) {
        write(name: name, indexing: indexing == .never ? .never : .none, into: &buffer)
        Self.write(octets, compresses: true, into: &buffer)
    }

    /// Writes the kind of indexing and the name of a field, by its index if a table has it (RFC 7541 §6.2).
    private func write(name: String, indexing: Indexing, into buffer: inout ByteBuffer) {
        let (prefix, flags): (Int, UInt8) =
            switch indexing {
            case .incremental: (6, 0x40)
            case .none: (4, 0)
            case .never: (4, 0x10)
            }
        if let index = HPACKStaticTable.indices[name] ?? nameIndex(of: name) {
            HPACKInteger.write(index, prefix: prefix, flags: flags, into: &buffer)
        } else {
            buffer.writeInteger(flags)
            Self.write(name, into: &buffer)
        }
    }

    /// Appends a field of the static table by its index.
    package func encode(staticIndex index: Int, into buffer: inout ByteBuffer) {
        HPACKInteger.write(index, prefix: 7, flags: 0x80, into: &buffer)
    }

    /// Appends a path without indexing it, because paths are rarely repeated.
    ///
    /// Long paths are not Huffman coded. They usually contain encoded data, of which Huffman coding saves a fifth at most, and it
    /// costs both sides time. The length of the code would also reveal what the padding of a DNS query hides (RFC 8467).
    package func encode(path: String, into buffer: inout ByteBuffer) {
        if path == "/" { return encode(staticIndex: HPACKStaticTable.pathIndex, into: &buffer) }
        HPACKInteger.write(HPACKStaticTable.pathIndex, prefix: 4, flags: 0, into: &buffer)
        Self.write(path, compresses: path.utf8.count <= Self.longPath, into: &buffer)
    }

    private func index(of name: String, _ value: String) -> Int? {
        // A server's table has up to 60 dates, of the last seconds with responses. Comparing sizes first skips them.
        let wanted = Entry(name: name, value: value)
        if let index = table.firstIndex(where: { $0.size == wanted.size && $0.value == value && $0.name == name }) {
            return HPACKStaticTable.fields.count + 1 + index
        }
        return HPACKStaticTable.index(of: name, value)
    }

    private func nameIndex(of name: String) -> Int? {
        table.firstIndex { $0.name == name }.map { HPACKStaticTable.fields.count + 1 + $0 }
    }

    /// Writes a string literal (RFC 7541 §5.2), Huffman coded if `compresses` is set and the code is shorter.
    private static func write(_ text: String, compresses: Bool = true, into buffer: inout ByteBuffer) {
        var text = text
        text.withUTF8 { write(UnsafeRawBufferPointer($0), compresses: compresses, into: &buffer) }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, compresses: Bool, into buffer: inout ByteBuffer) {
        withUnsafeTemporaryAllocation(byteCount: bytes.count, alignment: 1) { code in
            if compresses, let length = HPACKHuffman.encode(bytes, into: code) {
                HPACKInteger.write(length, prefix: 7, flags: 0x80, into: &buffer)
                buffer.writeBytes(UnsafeRawBufferPointer(rebasing: code[..<length]))
            } else {
                HPACKInteger.write(bytes.count, prefix: 7, flags: 0, into: &buffer)
                buffer.writeBytes(bytes)
            }
        }
    }

    private mutating func insert(_ entry: Entry) {
        evict(for: entry.size)
        guard entry.size <= maxSize else { return }
        table.prepend(entry)
        size += entry.size
    }

    private mutating func evict(for space: Int) {
        while size + space > maxSize, let last = table.popLast() { size -= last.size }
    }
}
