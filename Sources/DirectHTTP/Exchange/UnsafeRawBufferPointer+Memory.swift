// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

// By many octets at once, where the standard library looks at one after the other.
extension UnsafeRawBufferPointer {
    /// The first index of an octet at or behind `start`.
    func firstIndex(of octet: UInt8, from start: Int) -> Int? {
        guard start < count, let base = baseAddress, let found = memchr(base + start, Int32(octet), count - start)
        else {
            return nil
        }
        return UnsafeRawPointer(found) - base
    }

    /// Whether these octets stand at an index.
    func contains(_ octets: [UInt8], at index: Int) -> Bool {
        guard count - index >= octets.count, let start = baseAddress else { return false }
        return octets.withUnsafeBytes { octets in
            octets.baseAddress.map { memcmp($0, start + index, octets.count) == 0 } ?? true
        }
    }
}
