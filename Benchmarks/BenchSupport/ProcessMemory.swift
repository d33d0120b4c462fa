// SPDX-License-Identifier: Apache-2.0

import LibC

/// What the system says about this process's memory.
package enum ProcessMemory {
    /// A figure of `/proc/self/status` in KiB, such as `VmRSS` or `VmHWM`; 0 where there is no such file.
    package static func kibibytes(_ key: String) -> Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 256)
        while fgets(&buffer, Int32(buffer.count), file) != nil {
            let line = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if line.hasPrefix(key + ":") { return Int(line.filter(\.isNumber)) ?? 0 }
        }
        return 0
    }
}
