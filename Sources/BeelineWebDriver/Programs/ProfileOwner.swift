// SPDX-License-Identifier: Apache-2.0

import LibC

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
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

    /// Writes the number of a process group and the start of its leader to the lock file, so that ``removeAbandoned(in:)``
    /// ends the group. Does nothing on systems without `/proc`.
    func record(_ group: pid_t) {
        guard let start = Self.start(of: group) else { return }
        let line = Array("\(group) \(start)\n".utf8)
        _ = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }

    /// Kills the process groups in a lock file whose leaders still run. A number with another start belongs to a new process.
    private static func endGroups(in lock: CInt) {
        var octets = [UInt8](repeating: 0, count: 4096)
        let count = pread(lock, &octets, octets.count, 0)
        for line in String(decoding: octets.prefix(max(0, count)), as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 2, let group = pid_t(words[0]), group > 1, start(of: group) == String(words[1])
            else { continue }
            kill(-group, SIGKILL)
        }
    }

    /// The boot of the system, the namespace of process numbers, and the time at which a process started, from Linux's
    /// `/proc`; nil if there is none. Only together they identify a process.
    private static func start(of process: pid_t) -> String? {
        guard let boot = try? String(contentsOf: URL(filePath: "/proc/sys/kernel/random/boot_id"), encoding: .utf8),
            let space = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/pid"),
            let text = try? String(contentsOf: URL(filePath: "/proc/\(process)/stat"), encoding: .utf8),
            let name = text.lastIndex(of: ")")
        else { return nil }
        // The third word follows the name; the start time is the 22nd.
        let words = text[name...].dropFirst().split(separator: " ")
        return words.count > 19 ? "\(boot.prefix { $0 != "\n" })+\(space)+\(words[19])" : nil
    }

    /// Removes the folders of this user's processes that have ended, and ends the browsers that still use them.
    static func removeAbandoned(in parent: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] {
            guard name.hasPrefix(prefix), name.utf8.count == prefix.utf8.count + 6 else { continue }
            let folder = "\(parent)/\(name)"
            // Another user could make a link, and let it lead to any folder of this user when the profile is removed.
            let place = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard place >= 0 else { continue }
            defer { close(place) }
            let descriptor = open("\(folder)/\(Self.name)", O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            guard ownSize(place) != nil, let size = ownSize(descriptor), size > 0,
                flock(descriptor, LOCK_EX | LOCK_NB) == 0
            else { continue }
            endGroups(in: descriptor)
            remove(folder)
        }
    }

    /// The size of a file or folder of this user; nil for those of others.
    private static func ownSize(_ descriptor: CInt) -> Int? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid() else { return nil }
        return Int(status.st_size)
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
