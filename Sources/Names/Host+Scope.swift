// SPDX-License-Identifier: Apache-2.0

import LibC

extension Host {
    /// The current interface index of ``zone`` on this machine. 0 if there is no zone; nil if no interface has that name and it
    /// is not a positive number.
    package var scope: UInt32? {
        guard let zone else { return 0 }
        let index = unsafe if_nametoindex(zone)
        guard index == 0 else { return index }
        return UInt32(zone).flatMap { $0 > 0 ? $0 : nil }
    }
}
