// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What this process holds at a moment, for soaks that must show flat figures.
///
/// ```swift
/// let before = ProcessUsage.now
/// for _ in 0..<100_000 { … }
/// #expect(ProcessUsage.now.residentBytes < before.residentBytes + 8 << 20)
/// ```
public struct ProcessUsage: Hashable, Sendable {
    /// Open file descriptors.
    public let descriptors: Int
    /// Threads; nil where the system is not Linux.
    public let threads: Int?
    /// Memory that is resident, in bytes; nil where the system is not Linux.
    public let residentBytes: Int?

    /// What it holds now.
    public static var now: ProcessUsage {
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
