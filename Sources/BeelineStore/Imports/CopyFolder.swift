// SPDX-License-Identifier: Apache-2.0

import LibC

/// A temporary folder for the private copy of a database, accessible only to this user.
///
/// The folder stays locked while its owner runs. A folder whose owner was killed contains all cookies of a browser, so the next
/// import removes it.
struct CopyFolder {
    /// The files in a folder: the database and SQLite's files beside it.
    private static let files = ["", "-wal", "-journal", "-shm"].map { "copy.sqlite" + $0 }
    private static let prefix = "beeline-copy-"
    private static let template = "XXXXXX"
    /// The name prefix from before folders were locked. Such a folder is abandoned once it is a day old.
    private static let oldPrefix = "beeline-"
    private static let day: Int64 = 86_400

    /// The path of the database.
    var database: String { "\(path)/\(Self.files[0])" }

    private let path: String
    private let descriptor: CInt

    /// Creates a folder; nil on an error, with `errno` set.
    init?(in parent: String) {
        Self.removeAbandoned(in: parent)
        // Another process may remove the folder as abandoned before it is locked.
        for _ in 0..<5 {
            var template = Array("\(parent)/\(Self.prefix)\(Self.template)".utf8CString)
            guard mkdtemp(&template) != nil else { return nil }
            let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard let descriptor = Self.lock(path) else { continue }
            if FileIdentity(path: path) == FileIdentity(descriptor: descriptor) {
                (self.path, self.descriptor) = (path, descriptor)
                return
            }
            close(descriptor)
        }
        return nil
    }

    /// Removes the folder and its files.
    func remove() {
        Self.remove(path)
        close(descriptor)
    }

    /// Removes this user's folders that no process has locked.
    private static func removeAbandoned(in parent: String) {
        for name in FolderListing.names(in: parent) ?? [] {
            let path = "\(parent)/\(name)"
            guard isName(name, prefix) || (isName(name, oldPrefix) && isOldCopy(path)), let descriptor = lock(path)
            else { continue }
            remove(path)
            close(descriptor)
        }
    }

    private static func isName(_ name: String, _ prefix: String) -> Bool {
        name.hasPrefix(prefix) && name.utf8.count == prefix.utf8.count + template.utf8.count
    }

    private static func isOldCopy(_ path: String) -> Bool {
        guard let copy = FileIdentity(path: "\(path)/\(files[0])") else { return false }
        return copy.isRegular && copy.modified / 1_000_000_000 < Int64(time(nil)) - day
    }

    /// Locks a folder of this user; nil if another process has locked it or it does not exist.
    private static func lock(_ path: String) -> CInt? {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_uid == geteuid(), flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
            return descriptor
        }
        close(descriptor)
        return nil
    }

    private static func remove(_ path: String) {
        for file in files { unlink("\(path)/\(file)") }
        rmdir(path)
    }
}
