// SPDX-License-Identifier: Apache-2.0

import DirectHTTP

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A folder for one temporary cookie file, which only this user can read.
///
/// It is in memory if the system has a folder for that (`XDG_RUNTIME_DIR`). The folder stays locked while its owner
/// runs. A process that is killed leaves its folder behind, and the next one deletes it.
struct CookieFolder: Sendable {
    private static let prefix = "beeline-login-"
    private static let template = "XXXXXX"

    private let path: String
    private let lock: FileDescriptor

    /// Creates a folder, and deletes those of processes that were killed.
    ///
    /// - Throws: ``CommandFailure`` with status `writeFailed`.
    init() throws(CommandFailure) {
        let parent = Self.parent
        Self.removeAbandoned(in: parent)
        // Another process may remove the folder as abandoned before it is locked.
        for _ in 0..<5 {
            var template = Array("\(parent)/\(Self.prefix)\(Self.template)".utf8CString)
            // The permissions are 0700.
            guard mkdtemp(&template) != nil else { break }
            let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard let lock = Self.lock(path) else { continue }
            if FileDescriptor.isFolder(path) {
                (self.path, self.lock) = (path, lock)
                return
            }
            try? lock.close()
        }
        let reason = String(cString: strerror(errno))
        throw CommandFailure(.writeFailed, "cannot create a temporary folder in \(parent): \(reason)")
    }

    /// The path of the file.
    var file: String { "\(path)/cookies.txt" }

    /// Deletes the folder and its files.
    func remove() { Self.remove(path, lock) }

    private static var parent: String {
        let folders: [String] = ["XDG_RUNTIME_DIR", "TMPDIR"].compactMap { (name: String) -> String? in
            getenv(name).map { String(cString: $0) }
        }
        return folders.first { !$0.isEmpty && access($0, W_OK | X_OK) == 0 } ?? "/tmp"
    }

    /// Removes this user's folders that no process has locked.
    private static func removeAbandoned(in parent: String) {
        for name in FileDescriptor.names(in: parent) {
            guard name.hasPrefix(prefix), name.utf8.count == prefix.utf8.count + template.utf8.count,
                let lock = lock("\(parent)/\(name)")
            else { continue }
            remove("\(parent)/\(name)", lock)
        }
    }

    /// Locks a folder of this user; nil if another process has locked it or it does not exist.
    private static func lock(_ path: String) -> FileDescriptor? {
        let number = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { return nil }
        if FileKind.isOfThisUser(descriptor: number), flock(number, LOCK_EX | LOCK_NB) == 0 {
            return FileDescriptor(number)
        }
        close(number)
        return nil
    }

    private static func remove(_ path: String, _ lock: FileDescriptor) {
        // Programs may leave drafts beside the cookie file. In the folder that is locked, even if its path leads
        // elsewhere now.
        for name in FileDescriptor.names(in: path) { unlinkat(lock.number, name, 0) }
        rmdir(path)
        try? lock.close()
    }
}
