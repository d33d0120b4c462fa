// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import LibC

/// A folder for one temporary cookie file, which only this user can read.
///
/// It is in memory if the system has a folder for that (`XDG_RUNTIME_DIR`). The folder stays locked while its owner
/// runs. A process that is killed leaves its folder behind, and the next one on the same host deletes it.
struct CookieFolder: Sendable {
    /// Contains the name of the host, because processes of other hosts may not see the locks of this one (NFS).
    private static let prefix = "beeline-login-at-\(host)-"
    private static let template = "XXXXXX"

    private let path: String
    /// The open folder, locked if its file system has locks.
    private let lock: FileDescriptor

    /// Creates a folder, and deletes those of processes that were killed.
    ///
    /// - Throws: ``CommandFailure`` with status `writeFailed`.
    init(in parent: String = defaultParent) throws(CommandFailure) {
        Self.removeAbandoned(in: parent)
        // Another process may remove the folder as abandoned before it is locked.
        for _ in 0..<5 {
            var template = Array("\(parent)/\(Self.prefix)\(Self.template)".utf8CString)
            // The permissions are 0700.
            guard mkdtemp(&template) != nil else { break }
            let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard let folder = Self.open(path) else {
                let code = errno
                // Fails if it is removed already.
                rmdir(path)
                if code == ENOENT { continue }
                errno = code
                break
            }
            if Self.lock(folder) != .isTaken, FileDescriptor.isFolder(path) {
                (self.path, self.lock) = (path, folder)
                return
            }
            try? folder.close()
        }
        let reason = String(cString: strerror(errno))
        throw CommandFailure(.writeFailed, "cannot create a temporary folder in \(parent): \(reason)")
    }

    /// The path of the file.
    var file: String { "\(path)/cookies.txt" }

    /// Deletes the folder and its files.
    func remove() { Self.remove(path, lock) }

    static var defaultParent: String {
        let folders: [String] = ["XDG_RUNTIME_DIR", "TMPDIR"].compactMap { (name: String) -> String? in
            getenv(name).map { String(cString: $0) }
        }
        return folders.first { !$0.isEmpty && access($0, W_OK | X_OK) == 0 } ?? "/tmp"
    }

    /// The name of this host, as a part of a file name.
    private static let host: String = {
        var name = [CChar](repeating: 0, count: 256)
        // The last octet stays 0.
        guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
        let octets = name.prefix { $0 != 0 }.prefix(64).map { UInt8(bitPattern: $0) }
        return String(decoding: octets, as: UTF8.self).replacing("/", with: "-")
    }()

    /// Removes this user's folders that no process of this host has locked.
    private static func removeAbandoned(in parent: String) {
        for name in FileDescriptor.names(in: parent) {
            guard name.hasPrefix(prefix), name.utf8.count == prefix.utf8.count + template.utf8.count,
                let folder = open("\(parent)/\(name)")
            else { continue }
            if lock(folder) == .done {
                remove("\(parent)/\(name)", folder)
            } else {
                try? folder.close()
            }
        }
    }

    /// Opens a folder of this user. If there is none, the result is nil, and `errno` says why.
    private static func open(_ path: String) -> FileDescriptor? {
        let number = openFolder(path)
        guard number >= 0 else { return nil }
        if FileKind.isOfThisUser(descriptor: number) { return FileDescriptor(number) }
        close(number)
        errno = EACCES
        return nil
    }

    private enum Locking {
        case done
        /// Another process has the lock.
        case isTaken
        /// The file system does not support locks, or has no more of them.
        case isImpossible
    }

    private static func lock(_ folder: FileDescriptor) -> Locking {
        if flock(folder.number, LOCK_EX | LOCK_NB) == 0 { return .done }
        return errno == EWOULDBLOCK ? .isTaken : .isImpossible
    }

    private static func remove(_ path: String, _ lock: FileDescriptor) {
        // Programs may leave temporary files beside the cookie file. Delete by descriptor, because the path may lead to
        // another folder now.
        for name in FileDescriptor.names(in: path) { unlinkat(lock.number, name, 0) }
        rmdir(path)
        try? lock.close()
    }
}

private func openFolder(_ path: String) -> CInt { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) }
