// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The file of a database and those that SQLite keeps beside it, as the file system sees them. Only who is alone with the
/// file may use what changes it (``FileLock``).
struct DatabaseFile: Sendable {
    /// What a file is.
    enum Kind: Hashable, Sendable {
        /// There is none, or it is empty.
        case absent
        /// An SQLite database of the program with this number.
        case database(applicationID: UInt32)
        /// Not a database, or one whose head is damaged; with the number at its place in the head, if the file is as long.
        case unknown(applicationID: UInt32?)
    }

    let path: String

    /// The file that a path names; symbolic links are followed.
    ///
    /// The path does not change with the working directory, and leads behind a link whose file is still to be made.
    init(_ path: String) { self.path = Self.resolved(path) }

    /// The links that are followed one after the other: as many as Linux follows.
    private static let linkLimit = 40

    private static func resolved(_ path: String) -> String {
        var path = path
        for _ in 0..<linkLimit {
            if let real = real(path) { return real }
            let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
            let folder = start == path.startIndex ? "." : String(path[..<start])
            // Where there is no folder either, opening fails and says so.
            guard let parent = real(folder) else { return path }
            let file = (parent == "/" ? "" : parent) + "/" + path[start...]
            guard let target = linkTarget(file) else { return file }
            path = target.hasPrefix("/") ? target : parent + "/" + target
        }
        return path
    }

    /// A path from the root, links and all: what it leads to is looked for with each use.
    static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let folder = real(".") else { return path }
        return (folder == "/" ? "" : folder) + "/" + path
    }

    private static func real(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    /// Where a symbolic link leads; nil for anything else.
    private static func linkTarget(_ path: String) -> String? {
        // The longest path that Linux takes.
        var target = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &target, target.count)
        return count > 0 ? String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    private static let companions = ["-wal", "-shm", "-journal"]
    private static let magic = Array("SQLite format 3\0".utf8)

    /// The lock file's path.
    var lock: String { path + "-lock" }
    /// Where a new database is made before it gets its name, so that no half-made one ever has it.
    private var draft: String { path + "-new" }

    /// What the file is. It is read without SQLite, which would recover what it opens, and so change it.
    func kind() throws(StoreError) -> Kind {
        let descriptor = LockedFiles.open(path)
        guard descriptor >= 0 else {
            if errno == ENOENT { return .absent }
            throw .system(path: path, "cannot be opened; this user must own it", errno: errno)
        }
        defer { LockedFiles.close(descriptor) }
        guard let identity = FileIdentity(descriptor: descriptor), identity.isRegular else {
            throw StoreError(.notAccessible, path: path, "\(path) is not a file; name another")
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

    /// Makes a new database at the path: whole or not at all.
    ///
    /// - Parameter fill: Makes the database at the path that it is given, where an empty file of mode 0600 is.
    func create(_ fill: (String) throws(StoreError) -> Void) throws(StoreError) {
        // A log without its database is of no use, and the new database must not take it for its own.
        for companion in Self.companions {
            unlink(path + companion)
            unlink(draft + companion)
        }
        unlink(draft)
        let descriptor = open(draft, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw .system(path: path, "cannot be made; its directory must be writable", errno: errno)
        }
        close(descriptor)
        do {
            try fill(draft)
        } catch {
            unlink(draft)
            throw error
        }
        guard rename(draft, path) == 0 else {
            throw .system(path: path, "cannot be made; its directory must be writable", errno: errno)
        }
        synchronizeDirectory()
    }

    /// Takes the rights of everybody but its owner off the file, and off those beside it. SQLite gives new ones the mode of
    /// the database.
    func restrictMode() throws(StoreError) {
        for name in [path] + Self.companions.map({ path + $0 }) where chmod(name, 0o600) != 0 {
            guard errno == ENOENT else {
                throw .system(path: path, "its mode cannot be made 0600; this user must own it", errno: errno)
            }
        }
    }

    /// Puts the file and those beside it out of the way, under a name with the time.
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
        // The database last: a log that stayed behind alone would be taken for the next database's.
        for companion in Self.companions + [""] where rename(path + companion, target + companion) != 0 {
            guard errno == ENOENT else {
                throw .system(path: path, "is damaged, and cannot be set aside; move it away", errno: errno)
            }
        }
        synchronizeDirectory()
        return target
    }

    /// `20261023T142501Z`.
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

    /// Makes renamings outlive a power cut.
    private func synchronizeDirectory() {
        let directory = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(directory, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
