// SPDX-License-Identifier: Apache-2.0

import LibC

/// The lock file beside a database, which shows whether a process has the database open. The system releases the lock when its
/// process ends.
///
/// The first process to open the database holds the lock alone. Only then may it create, migrate or rename the file and begin a
/// new session. Afterwards all processes with the database open share the lock. The last one to close removes the lock file.
struct FileLock: Sendable {
    /// The way a lock is held.
    enum Hold: Sendable {
        /// No other process has the database open.
        case alone
        /// Other processes have the database open.
        case shared
    }

    let path: String
    private let descriptor: CInt

    /// Acquires the lock, alone if possible.
    ///
    /// - Parameters:
    ///   - path: The lock file. It is created if it is missing.
    ///   - deadline: When to stop waiting for another process that is opening the database.
    static func acquire(_ path: String, until deadline: ContinuousClock.Instant) throws(StoreError) -> (FileLock, Hold)
    {
        while true {
            let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                throw .system(path: path, "cannot create the lock file; its directory must be writable", errno: errno)
            }
            let lock = FileLock(path: path, descriptor: descriptor)
            do {
                let hold = try lock.takeEither(until: deadline)
                // The previous holder may have removed the file between our open and our lock.
                if lock.isInPlace { return (lock, hold) }
                try lock.pause(until: deadline)
            } catch {
                closeDescriptor(descriptor)
                throw error
            }
            closeDescriptor(descriptor)
        }
    }

    private func takeEither(until deadline: ContinuousClock.Instant) throws(StoreError) -> Hold {
        while true {
            if try take(LOCK_EX) { return .alone }
            if try take(LOCK_SH) { return .shared }
            try pause(until: deadline)
        }
    }

    /// Changes the lock to shared. A process that waits for the exclusive lock may get it first; then this call waits for it.
    func share(until deadline: ContinuousClock.Instant) throws(StoreError) {
        while try !take(LOCK_SH) { try pause(until: deadline) }
    }

    /// Releases the lock and removes its file if no other process has it.
    func release() {
        if (try? take(LOCK_EX)) == true, isInPlace { unlink(path) }
        close()
    }

    /// Releases the lock and keeps its file.
    func close() { closeDescriptor(descriptor) }

    private func take(_ kind: CInt) throws(StoreError) -> Bool {
        while flock(descriptor, kind | LOCK_NB) != 0 {
            let number = errno
            if number == EWOULDBLOCK { return false }
            guard number == EINTR else {
                throw .system(path: path, "the file system has no locks; keep the file on a local disk", errno: number)
            }
        }
        return true
    }

    private func pause(until deadline: ContinuousClock.Instant) throws(StoreError) {
        guard ContinuousClock.now < deadline else {
            let message = "\(path): another process has been opening the database for too long; end it, or try again"
            throw StoreError(.busy, path: path, message)
        }
        // flock(2) has no timeout. This thread of the database may block.
        usleep(2000)
    }

    // MARK: Whose the database is

    /// The content of the lock file of one of our databases.
    private static let mark = Array("Beeline\n".utf8)

    /// Marks the database as ours. If the process is killed, the mark stays and identifies a database with a damaged header.
    func markOurs() {
        // Keep the content of another program. If the disk is full, there is no mark.
        guard FileIdentity(descriptor: descriptor)?.size == 0 else { return }
        _ = Self.mark.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    /// Whether a process that did not close the database has marked it as ours.
    var isMarkedOurs: Bool {
        var found = [UInt8](repeating: 0, count: Self.mark.count)
        let count = found.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        return count == found.count && found == Self.mark
    }

    /// Whether the path still names the locked file.
    private var isInPlace: Bool {
        FileIdentity(descriptor: descriptor).map { $0 == FileIdentity(path: path) } ?? false
    }
}

/// Calls close(2), which a method would hide.
private func closeDescriptor(_ descriptor: CInt) { close(descriptor) }
