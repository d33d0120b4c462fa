// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Reads databases that this process may have open in SQLite, without ending SQLite's locks.
///
/// SQLite locks by fcntl(2), and the first descriptor of a file that a process closes ends all of its locks on that file. So a
/// descriptor is kept as long as the process has the file open elsewhere, and used again for the next reading.
enum LockedFiles {
    /// Descriptors that cannot be closed yet.
    private static let kept = NIOLockedValueBox<[CInt]>([])

    /// Opens a file for reading.
    ///
    /// - Returns: Its descriptor, whose position says nothing; below zero where `errno` says why there is none.
    static func open(_ path: String) -> CInt {
        let known = FileIdentity(path: path).flatMap { identity in
            kept.withLockedValue { kept in
                kept.firstIndex { FileIdentity(descriptor: $0) == identity }.map { kept.remove(at: $0) }
            }
        }
        return known ?? openDescriptor(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    }

    /// Closes a descriptor from ``open(_:)``, now or later, and those that had to wait and need not any more.
    static func close(_ descriptor: CInt) {
        kept.withLockedValue { kept in
            kept.append(descriptor)
            let elsewhere = openFiles(except: Set(kept))
            kept.removeAll { descriptor in
                let isLocked = FileIdentity(descriptor: descriptor).map(elsewhere.contains) ?? false
                if !isLocked { closeDescriptor(descriptor) }
                return !isLocked
            }
        }
    }

    /// What the other descriptors of this process are open on.
    private static func openFiles(except own: Set<CInt>) -> Set<FileIdentity> {
        // Without /dev/fd the numbers that most processes stay below are tried.
        let names = FolderListing.names(in: "/dev/fd")?.compactMap { CInt($0) }
        return Set((names ?? Array(0..<1024)).filter { !own.contains($0) }.compactMap { FileIdentity(descriptor: $0) })
    }
}

/// open(2) and close(2), by names that no method hides.
private func openDescriptor(_ path: String, _ flags: CInt) -> CInt { open(path, flags) }
private func closeDescriptor(_ descriptor: CInt) { close(descriptor) }
