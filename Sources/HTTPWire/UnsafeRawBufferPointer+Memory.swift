// SPDX-License-Identifier: Apache-2.0

import LibC

// memchr compares many bytes at once; the standard library compares one at a time.
extension UnsafeRawBufferPointer {
    /// The first index at or after `start` that holds `octet`; nil if there is none.
    package func firstIndex(of octet: UInt8, from start: Int) -> Int? {
        guard start < count, let base = baseAddress, let found = memchr(base + start, Int32(octet), count - start)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }
}
