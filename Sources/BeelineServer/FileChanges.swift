// SPDX-License-Identifier: Apache-2.0

import DirectHTTP

/// The versions of files that were read, to find out when the files must be read again.
struct FileChanges: Sendable {
    /// The version of each file by its path. Nil for a file that is not a regular file.
    typealias Stamps = [String: FileStamp?]

    let read: Stamps
    /// The stamps at the last check.
    private var seen: Stamps

    /// - Parameter stamps: The stamps before the files were read, so that a write during the reading counts as a change.
    init(read stamps: Stamps) { (read, seen) = (stamps, stamps) }

    static func stamps(of paths: some Sequence<String>) -> Stamps {
        Stamps(paths.map { ($0, FileStamp($0)) }) { first, _ in first }
    }

    /// Whether the files have changed since they were read, but not since the previous check: a program that writes a
    /// file may empty it first, and may pause.
    mutating func mustRead(_ stamps: Stamps) -> Bool {
        defer { seen = stamps }
        return stamps != read && stamps == seen
    }
}
