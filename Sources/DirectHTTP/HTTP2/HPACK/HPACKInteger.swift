// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The integers of HPACK (RFC 7541 §5.1): as much as fits into the low bits of the first octet, then seven bits an octet.
enum HPACKInteger {
    /// More than any length or index that could be meant: larger numbers are refused.
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

    /// Reads an integer at `index`, which is moved behind it; nil where it has no end or is too large.
    static func read(_ bytes: UnsafeRawBufferPointer, at index: inout Int, prefix: Int) -> Int? {
        guard index < bytes.count else { return nil }
        let limit = 1 << prefix - 1
        let first = Int(bytes[index]) & limit
        index += 1
        guard first == limit else { return first }
        // Five octets hold 35 bits, and an Int may have 32.
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
