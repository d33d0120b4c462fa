// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A file that the kernel knows by a number. Whoever opened it closes it.
struct FileDescriptor: Hashable, Sendable {
    let number: CInt

    init(_ number: CInt) { self.number = number }

    static let standardInput = FileDescriptor(STDIN_FILENO)
    static let standardOutput = FileDescriptor(STDOUT_FILENO)

    /// Opens the standard streams that we were started without, for neither reading nor writing as it would have been: else the
    /// next file that is opened, such as a jar, gets the number, and what is printed goes into it.
    static func reserveStandardNumbers() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
            // The lowest number that is free is this one.
            _ = openFile("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY, 0)
        }
    }

    /// Why a system call failed.
    struct Failure: Error, CustomStringConvertible {
        let code: CInt
        /// How many octets were written before.
        var written = 0
        var description: String { String(cString: strerror(code)) }
        /// Nobody reads any more.
        var isBrokenPipe: Bool { code == EPIPE }
    }

    /// How a file is opened to be written.
    enum Mode {
        case truncate
        case append
        /// The file is made; it is an error if there is one, or a symbolic link.
        case new
    }

    /// Opens a file to write to, and makes it where there is none.
    ///
    /// - Parameter waits: whether a pipe without a reader is waited for; else it is an error, and the file is non-blocking.
    static func open(
        _ path: String,
        _ mode: Mode,
        permissions: mode_t = 0o666,
        waits: Bool = true
    ) throws(Failure) -> FileDescriptor {
        let way =
            switch mode {
            // What another descriptor writes into the file meanwhile is not written over.
            case .truncate: O_TRUNC | O_APPEND
            case .append: O_APPEND
            case .new: O_EXCL | O_NOFOLLOW
            }
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | way | (waits ? 0 : O_NONBLOCK)
        let number = openFile(path, flags, permissions)
        guard number >= 0 else { throw Failure(code: errno) }
        return FileDescriptor(number)
    }

    /// The file behind symbolic links, also where it is yet to be made.
    static func resolved(_ path: String) -> String {
        if let real = realpath(path, nil) {
            defer { free(real) }
            return String(cString: real)
        }
        var path = path
        // As many links as Linux follows.
        for _ in 0..<40 {
            guard !exists(path), let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else {
                break
            }
            let folder = path[..<(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)]
            path = next.hasPrefix("/") ? next : folder + next
        }
        return path
    }

    /// Whether there is something at a path, behind symbolic links; also where that cannot be found out.
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR) }

    /// Whether there is a regular file behind a path and its symbolic links: another one may wait for ever to be opened.
    static func isRegular(_ path: String) -> Bool {
        let attributes = try? FileManager.default.attributesOfItem(atPath: resolved(path))
        return attributes?[.type] as? FileAttributeType == .typeRegular
    }

    /// Opens a file to read.
    static func open(reading path: String) throws(Failure) -> FileDescriptor {
        let number = openFile(path, O_RDONLY | O_CLOEXEC, 0)
        guard number >= 0 else { throw Failure(code: errno) }
        return FileDescriptor(number)
    }

    /// The size of a regular file, which need not be readable; nil for anything else, and where there is none.
    static func size(of path: String) -> Int64? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: resolved(path)),
            attributes[.type] as? FileAttributeType == .typeRegular
        else { return nil }
        return (attributes[.size] as? UInt64).flatMap { Int64(exactly: $0) }
            ?? (attributes[.size] as? Int).flatMap { Int64(exactly: $0) }
    }

    /// The next bytes, `limit` at the most; none at the end. Waits where there are none yet.
    func read(atMost limit: Int) throws(Failure) -> [UInt8] {
        var failure: Failure?
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { space, count in
            var got = readBytes(number, space.baseAddress, limit)
            while got < 0, errno == EINTR || wait(for: POLLIN) { got = readBytes(number, space.baseAddress, limit) }
            if got < 0 { failure = Failure(code: errno) }
            count = max(0, got)
        }
        if let failure { throw failure }
        return bytes
    }

    /// All bytes up to the end.
    func readToEnd() throws(Failure) -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let bytes = try read(atMost: 128 * 1024)
            if bytes.isEmpty { return all }
            all += bytes
        }
    }

    /// Writes all of it; waits where the reader is slow.
    func write(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        var rest = bytes[...]
        while let start = UnsafeRawBufferPointer(rebasing: rest).baseAddress, !rest.isEmpty {
            let count = writeBytes(number, start, rest.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR, !wait(for: POLLOUT) {
                throw Failure(code: errno, written: bytes.count - rest.count)
            }
        }
    }

    /// Waits until a file that does not block can be read or written; false where the last call failed for another reason. The
    /// program that shares the file with us may have made it so.
    private func wait(for event: CInt) -> Bool {
        guard errno == EAGAIN || errno == EWOULDBLOCK else { return false }
        var wanted = pollfd(fd: number, events: Int16(event), revents: 0)
        poll(&wanted, 1, -1)
        return true
    }

    /// Writes all of it; waits where the reader is slow.
    func write(_ bytes: some Sequence<UInt8>) throws(Failure) {
        let bytes = Array(bytes)
        try bytes.withUnsafeBytes { buffer in Result { () throws(Failure) in try write(buffer) } }.get()
    }

    /// Shortens the regular file at a path to `length`, if it is longer.
    static func truncate(_ path: String, to length: Int64) throws(Failure) {
        guard let size = size(of: path), size > length else { return }
        let file = try open(path, .append)
        defer { try? file.close() }
        try file.truncate(to: length)
    }

    /// Forgets what was written behind `length`.
    func truncate(to length: Int64) throws(Failure) {
        guard let length = off_t(exactly: length) else { throw Failure(code: EFBIG) }
        guard ftruncate(number, length) == 0 else { throw Failure(code: errno) }
    }

    func close() throws(Failure) {
        guard closeFile(number) == 0 else { throw Failure(code: errno) }
    }
}

private func openFile(_ path: String, _ flags: CInt, _ permissions: mode_t) -> CInt { open(path, flags, permissions) }
private func readBytes(_ number: CInt, _ space: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(number, space, count)
}
private func writeBytes(_ number: CInt, _ start: UnsafeRawPointer, _ count: Int) -> Int { write(number, start, count) }
private func closeFile(_ number: CInt) -> CInt { close(number) }
