// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The lock file beside a database, which says whether anybody has the database open. The system lets go of it when its
/// holder ends, however it ends.
///
/// Who opens the database first holds the lock alone: only then may the file be created, migrated or set aside, and a new
/// session begin. Afterwards all who have the database open share the lock. The last one to close removes the lock file.
struct FileLock: Sendable {
    /// How a lock is held.
    enum Hold: Sendable {
        /// Nobody else has the database open.
        case alone
        /// Others have.
        case shared
    }

    let path: String
    private let descriptor: CInt

    /// Takes the lock, alone if that is possible.
    ///
    /// - Parameters:
    ///   - path: The lock file, which is made if there is none.
    ///   - deadline: Until when to wait while another process is opening the database.
    static func acquire(_ path: String, until deadline: ContinuousClock.Instant) throws(StoreError) -> (FileLock, Hold)
    {
        while true {
            let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                throw .system(path: path, "the lock file cannot be made; its directory must be writable", errno: errno)
            }
            let lock = FileLock(path: path, descriptor: descriptor)
            do {
                let hold = try lock.takeEither(until: deadline)
                // The one who held it before may have removed the file between our opening it and our locking it.
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

    /// Lets others in. Somebody who waits to be alone may be let in first, and is then waited for.
    func share(until deadline: ContinuousClock.Instant) throws(StoreError) {
        while try !take(LOCK_SH) { try pause(until: deadline) }
    }

    /// Lets go of the lock, and removes its file if nobody else has it.
    func release() {
        if (try? take(LOCK_EX)) == true, isInPlace { unlink(path) }
        close()
    }

    /// Lets go of the lock, and leaves its file.
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
            let message = "\(path): another process has been opening the database for long; end it, or try again"
            throw StoreError(.busy, path: path, message)
        }
        // On the thread of the database, which has nothing else to do; flock(2) has no time limit of its own.
        usleep(2000)
    }

    // MARK: Whose the database is

    /// What the lock file of a database of ours says.
    private static let note = Array("Beeline\n".utf8)

    /// Notes that the database is ours. Where its holder is killed, the note stays, and says so of a database whose head is lost.
    func noteOurs() {
        // What another program has written there is not touched. Where there is no room, there is no note.
        guard FileIdentity(descriptor: descriptor)?.size == 0 else { return }
        _ = Self.note.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    /// Whether somebody who had the database open, and did not close it, noted that it is ours.
    var isNotedOurs: Bool {
        var found = [UInt8](repeating: 0, count: Self.note.count)
        let count = found.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        return count == found.count && found == Self.note
    }

    /// Whether the locked file is the one that the path names.
    private var isInPlace: Bool {
        FileIdentity(descriptor: descriptor).map { $0 == FileIdentity(path: path) } ?? false
    }
}

/// close(2), by a name that no method hides.
private func closeDescriptor(_ descriptor: CInt) { close(descriptor) }
