// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension Host {
    /// The index of the interface that ``zone`` means on this machine now; 0 where there is no zone, nil where no interface has
    /// that name.
    package var scope: UInt32? {
        guard let zone else { return 0 }
        let index = unsafe if_nametoindex(zone)
        guard index == 0 else { return index }
        return UInt32(zone).flatMap { $0 > 0 ? $0 : nil }
    }
}
