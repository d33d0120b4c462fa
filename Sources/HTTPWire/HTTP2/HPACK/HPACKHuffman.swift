// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The Huffman code of HPACK (RFC 7541 §5.2 and Appendix B).
///
/// The code is canonical: codes of one length are consecutive in the order of their symbols, and those of the next length follow.
/// So the lengths define all codes. Symbol 256 is EOS and is never written.
enum HPACKHuffman {
    private static let lengths: [UInt8] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
        28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
        6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
        5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
        13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
        15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
        6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
        20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
        24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
        22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
        21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
        26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
        19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
        20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
        26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
        30,
    ]

    private static let longest = 30
    /// Codes of up to this many bits are decoded with one table lookup.
    private static let shortest = 8

    private struct Tables: Sendable {
        var codes = [(bits: UInt32, length: UInt32)](repeating: (0, 0), count: 257)
        /// Indexed by the next eight bits: symbol and length of a short code; length 0 if the code is longer.
        var short = [(symbol: UInt8, length: UInt8)](repeating: (0, 0), count: 256)
        /// Indexed by length: the first code, the index of its symbol in `symbols`, and the number of codes.
        var ranges = [(code: UInt32, index: Int, count: UInt32)](repeating: (0, 0, 0), count: longest + 1)
        var symbols: [UInt16] = []

        init() {
            var code: UInt32 = 0
            for length in 1...longest {
                code <<= 1
                ranges[length].code = code
                ranges[length].index = symbols.count
                for symbol in 0...256 where Int(lengths[symbol]) == length {
                    codes[symbol] = (code, UInt32(length))
                    symbols.append(UInt16(symbol))
                    if length <= shortest {
                        let spare = shortest - length
                        for low in 0..<(1 << spare) {
                            short[Int(code) << spare | low] = (UInt8(symbol), UInt8(length))
                        }
                    }
                    code += 1
                    ranges[length].count += 1
                }
            }
        }
    }

    private static let tables = Tables()

    /// Encodes bytes into `output`, which must be as large as the input. The last byte is padded with ones.
    ///
    /// - Returns: the number of bytes written; nil if the code is not shorter than the input.
    static func encode(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int? {
        tables.codes.withUnsafeBufferPointer { codes in
            var bits: UInt64 = 0
            var count: UInt64 = 0
            var written = 0
            for byte in bytes {
                let code = codes[Int(byte)]
                bits = bits &<< UInt64(code.length) | UInt64(code.bits)
                count &+= UInt64(code.length)
                if count >= 32 {
                    guard written &+ 4 < bytes.count else { return nil }
                    count &-= 32
                    let word = UInt32(truncatingIfNeeded: bits &>> count)
                    output.storeBytes(of: word.bigEndian, toByteOffset: written, as: UInt32.self)
                    written &+= 4
                }
            }
            let spare = (8 - count % 8) % 8
            bits = bits &<< spare | (1 &<< spare - 1)
            count += spare
            guard written + Int(count / 8) < bytes.count else { return nil }
            while count > 0 {
                count -= 8
                output[written] = UInt8(truncatingIfNeeded: bits &>> count)
                written += 1
            }
            return written
        }
    }

    /// Decodes a string into `output`, which must have room for two bytes per encoded byte and one more.
    ///
    /// - Returns: the number of bytes written; nil for an invalid code, for EOS, and for padding of more than seven bits or with
    ///   zeros.
    static func decode(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int? {
        let tables = tables
        return tables.short.withUnsafeBufferPointer { short in
            var bits: UInt64 = 0
            var count = 0
            var next = 0
            var written = 0
            while true {
                while count <= 56, next < bytes.count {
                    bits |= UInt64(bytes[next]) << UInt64(56 - count)
                    count += 8
                    next += 1
                }
                // Up to seven ones are not a complete code, so they are padding.
                if count < 8, count == 0 || bits >> UInt64(64 - count) == 1 << UInt64(count) - 1 { return written }
                var (symbol, length) = short[Int(bits >> 56)]
                if length == 0 {
                    guard let long = longCode(bits, tables) else { return nil }
                    (symbol, length) = long
                }
                guard Int(length) <= count, written < output.count else { return nil }
                output[written] = symbol
                written += 1
                bits <<= UInt64(length)
                count -= Int(length)
            }
        }
    }

    private static func longCode(_ bits: UInt64, _ tables: Tables) -> (symbol: UInt8, length: UInt8)? {
        for length in (shortest + 1)...longest {
            let range = tables.ranges[length]
            let code = UInt32(truncatingIfNeeded: bits >> UInt64(64 - length))
            guard code >= range.code, code - range.code < range.count else { continue }
            let symbol = tables.symbols[range.index + Int(code - range.code)]
            return symbol == 256 ? nil : (UInt8(symbol), UInt8(length))
        }
        return nil
    }
}
