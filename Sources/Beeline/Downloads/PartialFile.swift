// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOCore

/// The file that a download writes to. Every call may block on disk access.
final class PartialFile: Sendable {
    private let path: String
    private let number: CInt

    /// Opens the file, or creates it.
    ///
    /// - Throws: ``BeelineError`` with code `fileFailed`, also if another download has locked the file.
    init(_ path: String) throws(BeelineError) {
        self.path = path
        while true {
            // In a folder that others can write to, a link may lead to any file, and opening a FIFO may block.
            let number = openFile(
                path,
                flags: O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                permissions: 0o666
            )
            guard number >= 0 else { throw Self.failed(path, problem: "cannot be opened") }
            guard Self.isRegular(number) else {
                closeFile(number)
                throw Self.irregular(path)
            }
            guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
                let error =
                    errno == EWOULDBLOCK
                    ? BeelineError(.fileFailed, "another download is writing to \(path): wait for it")
                    : Self.failed(path, problem: "cannot be locked")
                closeFile(number)
                throw error
            }
            // Another download may have renamed the file between opening and locking; then open it again.
            if Self.isFile(number, at: path) {
                self.number = number
                return
            }
            closeFile(number)
        }
    }

    /// Throws if the path is empty, or names anything but a regular file. A missing file is not an error.
    static func checkIsRegular(_ path: String) throws(BeelineError) {
        guard !path.isEmpty else { throw BeelineError(.fileFailed, "the path of the file is empty") }
        var there = stat()
        guard stat(path, &there) == 0, there.st_mode & S_IFMT != S_IFREG else { return }
        throw irregular(path)
    }

    private static func irregular(_ path: String) -> BeelineError {
        BeelineError(.fileFailed, "\(path) is not a regular file: it cannot be replaced")
    }

    private static func isRegular(_ number: CInt) -> Bool {
        var open = stat()
        return fstat(number, &open) == 0 && open.st_mode & S_IFMT == S_IFREG
    }

    private static func isFile(_ number: CInt, at path: String) -> Bool {
        var (open, there) = (stat(), stat())
        return fstat(number, &open) == 0 && stat(path, &there) == 0 && open.st_ino == there.st_ino
            && open.st_dev == there.st_dev
    }

    deinit { closeFile(number) }

    /// The size of the file in bytes.
    func size() throws(BeelineError) -> Int64 {
        let end = lseek(number, 0, SEEK_END)
        guard end >= 0 else { throw Self.failed(path, problem: "cannot be examined") }
        return Int64(end)
    }

    /// Truncates the file to `length` bytes and moves the write position there.
    func truncate(to length: Int64) throws(BeelineError) {
        guard ftruncate(number, off_t(length)) == 0, lseek(number, off_t(length), SEEK_SET) >= 0 else {
            throw Self.failed(path, problem: "cannot be truncated")
        }
    }

    /// Writes buffers at the current position.
    func write(_ pieces: [ByteBuffer]) throws(BeelineError) {
        for piece in pieces {
            let isWhole = piece.withUnsafeReadableBytes { bytes in
                var rest = bytes[...]
                while let start = UnsafeRawBufferPointer(rebasing: rest).baseAddress, !rest.isEmpty {
                    let count = writeBytes(to: number, from: start, count: rest.count)
                    if count < 0, errno != EINTR { return false }
                    rest = rest.dropFirst(max(0, count))
                }
                return true
            }
            guard isWhole else { throw Self.failed(path, problem: "cannot be written") }
        }
    }

    /// Renames the file to `destination` in one step: readers see either the old file or the complete new one.
    func move(to destination: String) throws(BeelineError) {
        // After a deletion, the path may name the file of another download.
        guard Self.isFile(number, at: path) else {
            throw BeelineError(.fileFailed, "the file \(path) was deleted or replaced while it was written")
        }
        guard rename(path, destination) == 0 else { throw Self.failed(destination, problem: "cannot be put in place") }
    }

    /// Releases the lock and removes an empty file with its note. Nothing may write to it afterwards.
    ///
    /// - Parameter note: The path of the note.
    func abandon(note: String) {
        if let size = try? size(), size == 0, Self.isFile(number, at: path) {
            // The file last: once it is gone, another download may create it and its note anew.
            removeFile(note)
            removeFile(path)
        }
        // Closing would release the lock too, but the time of the last reference's release is not known.
        _ = flock(number, LOCK_UN)
    }

    private static func failed(_ path: String, problem what: String) -> BeelineError {
        let cause = IOError(errnoCode: errno, reason: "download")
        return BeelineError(
            .fileFailed,
            "the file \(path) \(what): \(String(cString: strerror(cause.errnoCode)))",
            underlyingError: cause
        )
    }
}

private func openFile(_ path: String, flags: CInt, permissions: mode_t) -> CInt { open(path, flags, permissions) }
private func writeBytes(to number: CInt, from start: UnsafeRawPointer, count: Int) -> Int {
    write(number, start, count)
}
private func closeFile(_ number: CInt) { _ = close(number) }

/// Removes a file if it exists.
func removeFile(_ path: String) { _ = unlink(path) }
