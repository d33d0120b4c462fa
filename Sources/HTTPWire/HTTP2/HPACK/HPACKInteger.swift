// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// HPACK integers (RFC 7541 §5.1): a prefix in the low bits of the first byte, then seven bits per byte.
enum HPACKInteger {
    /// The largest accepted integer, beyond any valid length or index.
    static let maximum = 1 << 28

    static func write(_ value: Int, prefix: Int, flags: UInt8, into buffer: inout ByteBuffer) {
        let limit = 1 << prefix - 1
        guard value >= limit else {
            buffer.writeInteger(flags | UInt8(value))
            return
        }
        buffer.writeInteger(flags | UInt8(limit))
        var rest = value - limit
        while rest >= 128 {
            buffer.writeInteger(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        buffer.writeInteger(UInt8(rest))
    }

    /// Reads an integer at `index` and advances it; nil if the integer is incomplete or too large.
    static func read(_ bytes: UnsafeRawBufferPointer, at index: inout Int, prefix: Int) -> Int? {
        guard index < bytes.count else { return nil }
        let limit = 1 << prefix - 1
        let first = Int(bytes[index]) & limit
        index += 1
        guard first == limit else { return first }
        // Five bytes hold 35 bits, and Int may have only 32.
        var value = Int64(first)
        var shift = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            value += Int64(byte & 127) << shift
            guard value <= maximum else { return nil }
            if byte < 128 { return Int(value) }
            shift += 7
            guard shift <= 28 else { return nil }
        }
        return nil
    }
}
