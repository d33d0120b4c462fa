// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Reads databases that this process may have open in SQLite, without releasing SQLite's locks.
///
/// SQLite locks with fcntl(2), and when a process closes any descriptor of a file, the system releases all its locks on that
/// file. So a descriptor is kept open while the process has the file open elsewhere, and is reused for the next read.
enum LockedFiles {
    /// The descriptors that cannot be closed yet.
    private static let kept = NIOLockedValueBox<[CInt]>([])

    /// Opens a file for reading.
    ///
    /// - Returns: A descriptor with an undefined file position; negative on an error, with `errno` set.
    static func open(_ path: String) -> CInt {
        let known = FileIdentity(path: path).flatMap { identity in
            kept.withLockedValue { kept in
                kept.firstIndex { FileIdentity(descriptor: $0) == identity }.map { kept.remove(at: $0) }
            }
        }
        return known ?? openDescriptor(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    }

    /// Closes a descriptor of ``open(_:)`` and any kept ones, as soon as that releases no lock.
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
