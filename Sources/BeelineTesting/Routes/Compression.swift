// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Compresses test data: as DEFLATE (RFC 1951) with the fixed code and only runs of one byte, or stores it as it is. The encoders
/// are minimal but valid, and independent of the client's libraries.
package enum Compression: String, Hashable, Sendable, CaseIterable {
    /// RFC 1952.
    case gzip
    /// The zlib format (RFC 1950), which RFC 9110 §8.4.1.2 calls deflate.
    case deflate
    /// RFC 7932, in blocks that are not compressed.
    case brotli = "br"
    /// RFC 8878, in blocks that are not compressed.
    case zstandard = "zstd"

    /// Compresses the bytes.
    package func compress(_ bytes: [UInt8]) -> [UInt8] {
        switch self {
        case .gzip:
            [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255] + Self.raw(bytes)
                + Self.littleEndian(Self.crc32(bytes)) + Self.littleEndian(UInt32(truncatingIfNeeded: bytes.count))
        case .deflate:
            [0x78, 0x01] + Self.raw(bytes) + Self.littleEndian(Self.adler32(bytes)).reversed()
        case .brotli: Self.storedBrotli(bytes)
        case .zstandard: Self.storedZstandard(bytes)
        }
    }

    /// `count` zero bytes in zlib format, generated without allocating them: a decompression bomb.
    package static func zeros(count: Int) -> [UInt8] {
        var out = BitWriter()
        out.write(0b011, bits: 3)
        if count > 0 { out.writeLiteral(0) }
        let (matches, rest) = max(0, count - 1).quotientAndRemainder(dividingBy: 258)
        for _ in 0..<rest { out.writeLiteral(0) }
        for _ in 0..<matches % 8 { out.writeLongestMatch() }
        // Eight matches take exactly thirteen bytes, so the pattern repeats.
        for cycle in 0..<min(2, matches / 8) {
            let start = out.bytes.count
            for _ in 0..<8 { out.writeLongestMatch() }
            guard cycle == 1 else { continue }
            let period = Array(out.bytes[start...])
            for _ in 2..<max(2, matches / 8) { out.bytes += period }
        }
        out.writeLiteral(256)
        // Adler-32 of zeros: the low half stays 1, and the high half is the count.
        return [0x78, 0x01] + out.finish() + littleEndian(UInt32(max(0, count) % 65_521) << 16 | 1).reversed()
    }

    /// DEFLATE without a wrapper: one final block of the fixed code (RFC 1951 §3.2.6).
    private static func raw(_ bytes: [UInt8]) -> [UInt8] {
        var out = BitWriter()
        out.write(0b011, bits: 3)
        var index = 0
        while index < bytes.count {
            out.writeLiteral(Int(bytes[index]))
            var run = bytes[(index + 1)...].prefix { $0 == bytes[index] }.count
            index += 1 + run
            while run >= 258 {
                out.writeLongestMatch()
                run -= 258
            }
            for _ in 0..<run { out.writeLiteral(Int(bytes[index - 1])) }
        }
        out.writeLiteral(256)
        return out.finish()
    }

    static func littleEndian(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(value >> (8 * UInt32($0)) & 255) }
    }

    /// The CRC-32 of RFC 1952 §8.
    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        let table = (0..<256 as Range<UInt32>).map { byte in
            var value = byte
            for _ in 0..<8 { value = value & 1 == 1 ? (value >> 1) ^ 0xedb8_8320 : value >> 1 }
            return value
        }
        var crc: UInt32 = 0xffff_ffff
        for byte in bytes { crc = (crc >> 8) ^ table[Int((crc ^ UInt32(byte)) & 255)] }
        return ~crc
    }

    /// The Adler-32 checksum of RFC 1950 §8.2.
    private static func adler32(_ bytes: [UInt8]) -> UInt32 {
        var low: UInt32 = 1
        var high: UInt32 = 0
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return high << 16 | low
    }

    private struct BitWriter {
        var bytes: [UInt8] = []
        private var pending: UInt32 = 0
        private var count = 0

        /// Writes the least significant bit first (RFC 1951 §3.1.1).
        mutating func write(_ value: Int, bits: Int) {
            pending |= UInt32(value) << UInt32(count)
            count += bits
            while count >= 8 {
                bytes.append(UInt8(pending & 255))
                pending >>= 8
                count -= 8
            }
        }

        /// Writes a Huffman code, which starts with the most significant bit.
        mutating func writeLiteral(_ symbol: Int) {
            let (code, bits) =
                switch symbol {
                case ..<144: (0x30 + symbol, 8)
                case ..<256: (0x190 + symbol - 144, 9)
                case ..<280: (symbol - 256, 7)
                default: (0xc0 + symbol - 280, 8)
                }
            write((0..<bits).reduce(0) { $0 | (code >> $1 & 1) << (bits - 1 - $1) }, bits: bits)
        }

        /// Writes a match of 258 bytes, the longest of RFC 1951, at distance 1: repeats the last byte.
        mutating func writeLongestMatch() {
            writeLiteral(285)
            write(0, bits: 5)
        }

        mutating func finish() -> [UInt8] {
            if count > 0 { write(0, bits: 8 - count) }
            return bytes
        }
    }
}

extension Reply {
    /// A copy of the reply with a compressed body and a matching Content-Encoding. Waits in the body are dropped.
    package func compressed(_ coding: Compression) -> Reply {
        var reply = self
        let bytes = body.flatMap { piece -> [UInt8] in
            switch piece.kind {
            case .bytes(let bytes): bytes
            case .zeros(let count): [UInt8](repeating: 0, count: count)
            case .wait: []
            }
        }
        reply.body = [.bytes(coding.compress(bytes))]
        reply.fields[.contentEncoding] = coding.rawValue
        return reply
    }
}
