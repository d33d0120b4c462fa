// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The lock on the folder of a profile. The system releases it when its process ends, so a folder whose lock is free was left by
/// a process that was killed. It contains all cookies of a browser, and the next process removes it.
struct ProfileOwner {
    /// The prefix of the names of such folders; six characters follow.
    static let prefix = "beeline-browser-"
    private static let name = "beeline-owner"
    private static let note = Array("Beeline\n".utf8)

    private let descriptor: CInt

    /// Locks a folder; nil on an error. The folder is then never removed as abandoned.
    init?(of folder: String) {
        descriptor = open("\(folder)/\(Self.name)", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return nil }
        // The file is empty until it is locked, so that other processes do not consider the folder abandoned before.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0,
            Self.note.withUnsafeBytes({ write(descriptor, $0.baseAddress, $0.count) }) == Self.note.count
        else {
            close(descriptor)
            return nil
        }
    }

    func release() { close(descriptor) }

    /// Removes the folders of this user's processes that have ended.
    static func removeAbandoned(in parent: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] {
            guard name.hasPrefix(prefix), name.utf8.count == prefix.utf8.count + 6 else { continue }
            let folder = "\(parent)/\(name)"
            let descriptor = open("\(folder)/\(Self.name)", O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(), status.st_size > 0,
                flock(descriptor, LOCK_EX | LOCK_NB) == 0
            else { continue }
            remove(folder)
        }
    }

    /// Removes a profile. The lock file goes last: if the rest cannot be removed, or a dying browser writes more, the next
    /// process tries again.
    static func remove(_ folder: String) {
        let lock = "\(folder)/\(name)"
        for entry in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where entry != name {
            try? FileManager.default.removeItem(atPath: "\(folder)/\(entry)")
        }
        guard let rest = try? FileManager.default.contentsOfDirectory(atPath: folder), rest.allSatisfy({ $0 == name })
        else { return }
        unlink(lock)
        if rmdir(folder) != 0 { try? Data(note).write(to: URL(filePath: lock)) }
    }
}
