// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A folder for the private copy of a database, which only this user can enter.
///
/// It is locked as long as its owner lives. A folder whose owner was killed holds all cookies of a browser: whoever makes the
/// next one removes it.
struct CopyFolder {
    /// What is in a folder: a database and what SQLite keeps beside it.
    private static let files = ["", "-wal", "-journal", "-shm"].map { "copy.sqlite" + $0 }
    private static let prefix = "beeline-copy-"
    private static let template = "XXXXXX"
    /// What folders were called before they were locked. One that is a day old belongs to no import any more.
    private static let oldPrefix = "beeline-"
    private static let day: Int64 = 86_400

    /// The path of the database.
    var database: String { "\(path)/\(Self.files[0])" }

    private let path: String
    private let descriptor: CInt

    /// Makes a folder; nil where `errno` says why there is none.
    init?(in parent: String) {
        Self.removeAbandoned(in: parent)
        // Another process may take the folder for an abandoned one before it is locked.
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

    /// Removes the folder with what is in it.
    func remove() {
        Self.remove(path)
        close(descriptor)
    }

    /// Removes the folders of this user that nobody holds.
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

    /// Locks a folder of this user; nil where another process has, or there is none.
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
