// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The resources that this process holds, for soak tests that check for growth.
///
/// ```swift
/// let before = ProcessUsage.now
/// for _ in 0..<100_000 { … }
/// #expect(ProcessUsage.now.residentBytes < before.residentBytes + 8 << 20)
/// ```
package struct ProcessUsage: Hashable, Sendable {
    /// The number of open file descriptors.
    package let descriptors: Int
    /// The number of threads; nil on systems other than Linux.
    package let threads: Int?
    /// The resident memory in bytes; nil on systems other than Linux.
    package let residentBytes: Int?

    /// The current usage.
    package static var now: ProcessUsage {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        return ProcessUsage(
            descriptors: OpenDescriptors.count(),
            threads: field("Threads:", of: status),
            residentBytes: field("VmRSS:", of: status).map { $0 * 1024 }
        )
    }

    private static func field(_ name: String, of status: String) -> Int? {
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.dropFirst(name.count).split { !$0.isNumber }.first.flatMap { Int($0) }
    }
}
