// SPDX-License-Identifier: Apache-2.0

/// brotli and zstd streams of blocks that are not compressed.
extension Compression {
    /// A brotli stream (RFC 7932 §9): a window of 64 KiB, then blocks of at most 64 KiB.
    static func storedBrotli(_ bytes: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 1 << 16) {
            let block = bytes[start..<min(bytes.count, start + 1 << 16)]
            // Not the last block (1 bit), a length of four nibbles (2 bits), the length less one, stored (1 bit). The first
            // block follows the bit 0, a window of 64 KiB.
            let head = (UInt32(block.count - 1) << 3 | 1 << 19) << (start == 0 ? 1 : 0)
            out += littleEndian(head).prefix(3) + block
        }
        // The last block, which is empty (2 bits), after the window's bit if there is no other block.
        return out + [bytes.isEmpty ? 0b110 : 0b11]
    }

    /// A zstd frame (RFC 8878 §3.1.1) with a window of 128 KiB and blocks of at most that size.
    static func storedZstandard(_ bytes: [UInt8]) -> [UInt8] {
        var out = frameHead
        for start in stride(from: 0, to: bytes.count, by: 1 << 17) {
            let block = bytes[start..<min(bytes.count, start + 1 << 17)]
            out += littleEndian(UInt32(block.count) << 3).prefix(3) + block
        }
        return out + [1, 0, 0]
    }

    /// `count` zero bytes as a zstd frame of blocks that repeat one byte: a decompression bomb.
    package static func zstandardZeros(count: Int) -> [UInt8] {
        var out = frameHead
        for start in stride(from: 0, to: count, by: 1 << 17) {
            out += littleEndian(UInt32(min(count - start, 1 << 17)) << 3 | 0b010).prefix(3) + [0]
        }
        return out + [1, 0, 0]
    }

    /// The magic number, no content size, and the window.
    private static var frameHead: [UInt8] { [0x28, 0xb5, 0x2f, 0xfd, 0, 0x38] }
}
