// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOConcurrencyHelpers

/// Reads databases that this process may have open in SQLite, without releasing SQLite's locks.
///
/// SQLite locks with fcntl(2), and when a process closes any descriptor of a file, the system releases all its locks on that
/// file. So a descriptor is kept open while the process has the file open elsewhere, and is reused for the next read.
enum LockedFiles {
    private struct State {
        /// The descriptors that cannot be closed yet.
        var kept: [CInt] = []
        /// The number of calls of ``whileOpening(_:)``. A file that one of them opens may not be visible yet.
        var openings = 0

        mutating func closeUnlocked() {
            guard openings == 0, !kept.isEmpty else { return }
            let elsewhere = LockedFiles.openFiles(except: Set(kept))
            kept.removeAll { descriptor in
                let isLocked = FileIdentity(descriptor: descriptor).map(elsewhere.contains) ?? false
                if !isLocked { closeDescriptor(descriptor) }
                return !isLocked
            }
        }
    }

    private static let state = NIOLockedValueBox(State())

    /// Opens a file for reading.
    ///
    /// - Returns: A descriptor with an undefined file position; negative on an error, with `errno` set.
    static func open(_ path: String) -> CInt {
        let known = FileIdentity(path: path).flatMap { identity in
            state.withLockedValue { state in
                state.kept.firstIndex { FileIdentity(descriptor: $0) == identity }.map { state.kept.remove(at: $0) }
            }
        }
        return known ?? openDescriptor(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    }

    /// Closes a descriptor of ``open(_:)`` and any kept ones, as soon as that releases no lock.
    static func close(_ descriptor: CInt) {
        state.withLockedValue { state in
            state.kept.append(descriptor)
            state.closeUnlocked()
        }
    }

    /// Runs `body`, which opens a file in SQLite. No descriptor is closed meanwhile: SQLite might open and lock the file between
    /// the search for other descriptors and the close.
    static func whileOpening<Result>(_ body: () throws -> Result) rethrows -> Result {
        state.withLockedValue { $0.openings += 1 }
        defer {
            state.withLockedValue { state in
                state.openings -= 1
                state.closeUnlocked()
            }
        }
        return try body()
    }

    /// Returns the files that the other descriptors of this process are open on.
    private static func openFiles(except own: Set<CInt>) -> Set<FileIdentity> {
        // Without /dev/fd, try the descriptor numbers below a common limit.
        let names = FolderListing.names(in: "/dev/fd")?.compactMap { CInt($0) }
        return Set((names ?? Array(0..<1024)).filter { !own.contains($0) }.compactMap { FileIdentity(descriptor: $0) })
    }
}

/// Call open(2) and close(2), which methods would hide.
private func openDescriptor(_ path: String, _ flags: CInt) -> CInt { open(path, flags) }
private func closeDescriptor(_ descriptor: CInt) { close(descriptor) }
