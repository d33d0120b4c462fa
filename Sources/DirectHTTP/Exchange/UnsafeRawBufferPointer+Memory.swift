// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension UnsafeRawBufferPointer {
    /// Whether these octets stand at an index: by machine words, where `starts(with:)` looks at one octet after the other.
    func contains(_ octets: [UInt8], at index: Int) -> Bool {
        guard count - index >= octets.count, let start = baseAddress else { return false }
        return octets.withUnsafeBytes { octets in
            octets.baseAddress.map { memcmp($0, start + index, octets.count) == 0 } ?? true
        }
    }
}
