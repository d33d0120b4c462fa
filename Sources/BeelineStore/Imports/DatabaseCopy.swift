// SPDX-License-Identifier: Apache-2.0

import GRDB
import LibC

/// A copy of a database that another program may be writing, in a folder that is accessible only to this user.
///
/// The copy includes the write-ahead log or the rollback journal. It is valid only if none of the files changed during the copy
/// and SQLite finds no damage.
struct DatabaseCopy {
    private static let parts = ["", "-wal", "-journal"]
    /// The number of attempts, and the time in microseconds for which the files must be unchanged before one. The time is
    /// longer than the timestamp resolution of file systems.
    private static let attempts = 50
    private static let quietTime: UInt32 = 20_000

    private let folder: CopyFolder
    private let source: String
    private var path: String { folder.database }
    private let limit: Int
    private let stop: StopSignal

    /// Prepares a copy of a database.
    ///
    /// - Parameters:
    ///   - limit: The maximum size of each file in octets.
    ///   - stop: Ends the copying.
    init(of source: String, limit: Int, _ stop: StopSignal) throws(StoreError) {
        self.source = source
        self.limit = limit
        self.stop = stop
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        let parent = folder.isEmpty ? "/tmp" : folder
        guard let folder = CopyFolder(in: parent) else {
            throw .system(path: source, "cannot be copied to \(parent)", errno: errno)
        }
        self.folder = folder
    }

    func remove() {
        folder.remove()
    }

    /// Copies the database and opens the copy.
    func connect() throws(StoreError) -> FileConnection {
        var failure: StoreError?
        for _ in 0..<Self.attempts {
            try stop.check(source)
            let before = try identities()
            if hasNoRecentChange(before) {
                for part in Self.parts { try copy(part) }
                if try identities().elementsEqual(before, by: Self.isUnchanged) {
                    do throws(StoreError) {
                        return try checked()
                    } catch {
                        guard error.code == .damaged, failure == nil else { throw error }
                        // The first damage may come from the copy itself, so try again.
                        failure = error
                    }
                }
            }
            // This thread may block.
            usleep(Self.quietTime)
        }
        let message = "\(source) is being written without a pause; end the browser, or try again"
        throw failure ?? StoreError(.busy, path: source, message)
    }

    private func checked() throws(StoreError) -> FileConnection {
        var connection: FileConnection?
        do throws(StoreError) {
            let opened = try FileConnection(path: path, busyTimeout: .zero)
            connection = opened
            try opened.perform(stoppedBy: stop) { try $0.checkIntegrity() }
            return opened
        } catch {
            try? connection?.close()
            guard error.code == .damaged else { throw error }
            throw StoreError(.damaged, path: source, "\(source) is not a database, or is damaged; name another file")
        }
    }

    private func identities() throws(StoreError) -> [FileIdentity?] {
        let found = Self.parts.map { FileIdentity(path: source + $0) }
        for case let identity? in found where identity.size > limit {
            throw StoreError(.notAccessible, path: source, "\(source) has more than \(limit) octets and is not copied")
        }
        return found
    }

    private func hasNoRecentChange(_ identities: [FileIdentity?]) -> Bool {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let now = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        return identities.allSatisfy { identity in
            identity.map { $0.modified < now - Int64(Self.quietTime) * 1000 || $0.modified > now } ?? true
        }
    }

    private static func isUnchanged(_ left: FileIdentity?, _ right: FileIdentity?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.isUnchanged(since: right)
    }

    private func copy(_ part: String) throws(StoreError) {
        unlink(path + part)
        let from = LockedFiles.open(source + part)
        guard from >= 0 else {
            if errno == ENOENT, !part.isEmpty { return }
            throw .system(path: source, "cannot be read; this user must own it", errno: errno)
        }
        defer { LockedFiles.close(from) }
        let to = open(path + part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard to >= 0 else { throw .system(path: source, "cannot be copied to \(path)", errno: errno) }
        defer { close(to) }
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        var total = 0
        while true {
            let count = pread(from, &buffer, buffer.count, off_t(total))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .system(path: source, "cannot be read", errno: errno) }
            total += count
            // A file that grows during the copy is copied again.
            if count == 0 || total > limit { return }
            try append(buffer[..<count], to: to)
            try stop.check(source)
        }
    }

    private func append(_ octets: ArraySlice<UInt8>, to file: CInt) throws(StoreError) {
        var rest = octets
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            // With little disk space left, a write may be partial before it fails.
            guard count > 0 else { throw .system(path: source, "cannot be copied to \(path)", errno: errno) }
            rest = rest.dropFirst(count)
        }
    }
}
