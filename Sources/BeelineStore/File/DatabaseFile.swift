// SPDX-License-Identifier: Apache-2.0

import LibC

/// A database file and SQLite's files beside it, at the level of the file system. Callers of methods that change files must
/// hold the ``FileLock`` alone.
struct DatabaseFile: Sendable {
    /// The kind of a file.
    enum Kind: Hashable, Sendable {
        /// The file does not exist or is empty.
        case absent
        /// An SQLite database with this application id.
        case database(applicationID: UInt32)
        /// Not a database, or a damaged header. Has the application id of the header if the file is long enough.
        case unknown(applicationID: UInt32?)
    }

    let path: String

    /// The file at a path, with symbolic links resolved.
    ///
    /// The result does not depend on the working directory. It also resolves a link whose target does not exist yet.
    init(_ path: String) { self.path = Self.resolved(path) }

    /// The maximum length of a chain of links; the same as on Linux.
    private static let linkLimit = 40

    private static func resolved(_ path: String) -> String {
        var path = path
        for _ in 0..<linkLimit {
            if let real = real(path) { return real }
            let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
            let folder = start == path.startIndex ? "." : String(path[..<start])
            // If the folder is missing as well, opening the file reports the error.
            guard let parent = real(folder) else { return path }
            let file = (parent == "/" ? "" : parent) + "/" + path[start...]
            guard let target = linkTarget(file) else { return file }
            path = target.hasPrefix("/") ? target : parent + "/" + target
        }
        return path
    }

    /// Returns an absolute path. Links are not resolved, so that each use follows them again.
    static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let folder = real(".") else { return path }
        return (folder == "/" ? "" : folder) + "/" + path
    }

    private static func real(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    /// Returns the target of a symbolic link; nil for anything else.
    private static func linkTarget(_ path: String) -> String? {
        // The maximum path length on Linux.
        var target = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &target, target.count)
        return count > 0 ? String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    private static let companions = ["-wal", "-shm", "-journal"]
    private static let magic = Array("SQLite format 3\0".utf8)

    /// The path of the lock file.
    var lock: String { path + "-lock" }
    /// The path at which a new database is prepared before it is renamed, so that an incomplete one never has the final name.
    private var draft: String { path + "-new" }

    /// Returns the kind of the file. Reads it without SQLite, which would run recovery and change the file.
    func kind() throws(StoreError) -> Kind {
        let descriptor = LockedFiles.open(path)
        guard descriptor >= 0 else {
            if errno == ENOENT { return .absent }
            throw .system(path: path, "cannot be opened; this user must own it", errno: errno)
        }
        defer { LockedFiles.close(descriptor) }
        guard let identity = FileIdentity(descriptor: descriptor), identity.isRegular else {
            throw StoreError(.notAccessible, path: path, "\(path) is not a regular file; name another one")
        }
        guard identity.size > 0 else { return .absent }
        var head = [UInt8](repeating: 0, count: 100)
        let count = head.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { throw .system(path: path, "cannot be read; check the disk", errno: errno) }
        let number = count < 72 ? nil : head[68..<72].reduce(0) { $0 << 8 | UInt32($1) }
        guard let number, count == head.count, head.starts(with: Self.magic) else {
            return .unknown(applicationID: number)
        }
        return .database(applicationID: number)
    }

    /// Creates a new database at the path atomically.
    ///
    /// - Parameter fill: Fills the database at the given path, which is an empty file with mode 0600.
    func create(_ fill: (String) throws(StoreError) -> Void) throws(StoreError) {
        // SQLite would apply a leftover log to the new database.
        for companion in Self.companions {
            unlink(path + companion)
            unlink(draft + companion)
        }
        unlink(draft)
        let descriptor = open(draft, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw .system(path: path, "cannot be created; its directory must be writable", errno: errno)
        }
        close(descriptor)
        do {
            try fill(draft)
        } catch {
            unlink(draft)
            throw error
        }
        guard rename(draft, path) == 0 else {
            throw .system(path: path, "cannot be created; its directory must be writable", errno: errno)
        }
        synchronizeDirectory()
    }

    /// Sets mode 0600 on the file and the files beside it. SQLite gives new ones the mode of the database.
    func restrictMode() throws(StoreError) {
        for name in [path] + Self.companions.map({ path + $0 }) where chmod(name, 0o600) != 0 {
            guard errno == ENOENT else {
                throw .system(path: path, "its mode cannot be set to 0600; this user must own it", errno: errno)
            }
        }
    }

    /// Renames the file and the files beside it, with the time in the new name.
    ///
    /// - Returns: The new path.
    func setAside(at seconds: Int64) throws(StoreError) -> String {
        let stem = "\(path).damaged-\(Self.stamp(seconds))"
        var target = stem
        var attempt = 1
        while access(target, F_OK) == 0 {
            attempt += 1
            target = "\(stem)-\(attempt)"
        }
        // Rename the database last: a log left without its database would be applied to the next one.
        for companion in Self.companions + [""] where rename(path + companion, target + companion) != 0 {
            guard errno == ENOENT else {
                throw .system(path: path, "is damaged, and cannot be set aside; move it away", errno: errno)
            }
        }
        synchronizeDirectory()
        return target
    }

    /// Formats a time as `20261023T142501Z`.
    private static func stamp(_ seconds: Int64) -> String {
        var time = time_t(clamping: seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        let digits = { (number: CInt, width: Int) in
            let text = String(number)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        let date = digits(parts.tm_year + 1900, 4) + digits(parts.tm_mon + 1, 2) + digits(parts.tm_mday, 2)
        return date + "T" + digits(parts.tm_hour, 2) + digits(parts.tm_min, 2) + digits(parts.tm_sec, 2) + "Z"
    }

    /// Syncs the directory, so that renames survive a power failure.
    private func synchronizeDirectory() {
        let directory = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(directory, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
