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

    /// Why a system call failed.
    struct Failure: Error, CustomStringConvertible {
        let code: CInt
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
    static func open(_ path: String, _ mode: Mode, permissions: mode_t = 0o666) throws(Failure) -> FileDescriptor {
        let way =
            switch mode {
            case .truncate: O_TRUNC
            case .append: O_APPEND
            case .new: O_EXCL | O_NOFOLLOW
            }
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | way
        let number = openFile(path, flags, permissions)
        guard number >= 0 else { throw Failure(code: errno) }
        return FileDescriptor(number)
    }

    /// The file behind symbolic links; the path itself where there is none.
    static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

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

    /// The size of a regular file.
    static func size(of path: String) throws(Failure) -> Int64 {
        let file = try open(reading: path)
        defer { try? file.close() }
        let end = lseek(file.number, 0, SEEK_END)
        guard end >= 0 else { throw Failure(code: errno) }
        return Int64(end)
    }

    /// The next bytes, `limit` at the most; none at the end. Waits where there are none yet.
    func read(atMost limit: Int) throws(Failure) -> [UInt8] {
        var failure: Failure?
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { space, count in
            var got = readBytes(number, space.baseAddress, limit)
            while got < 0, errno == EINTR { got = readBytes(number, space.baseAddress, limit) }
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
            } else if errno == EAGAIN || errno == EWOULDBLOCK {
                var wanted = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
                poll(&wanted, 1, -1)
            } else if errno != EINTR {
                throw Failure(code: errno)
            }
        }
    }

    /// Writes all of it; waits where the reader is slow.
    func write(_ bytes: some Sequence<UInt8>) throws(Failure) {
        let bytes = Array(bytes)
        try bytes.withUnsafeBytes { buffer in Result { () throws(Failure) in try write(buffer) } }.get()
    }

    /// Shortens the regular file at a path to `length`, if it is longer.
    static func truncate(_ path: String, to length: Int64) throws(Failure) {
        guard isRegular(path), try size(of: path) > length else { return }
        let file = try open(path, .append)
        defer { try? file.close() }
        try file.truncate(to: length)
    }

    /// Forgets what was written behind `length`.
    func truncate(to length: Int64) throws(Failure) {
        guard ftruncate(number, off_t(length)) == 0 else { throw Failure(code: errno) }
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
