// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import LibC

/// An open file descriptor. The code that opens it must close it.
struct FileDescriptor: Hashable, Sendable {
    let number: CInt

    init(_ number: CInt) { self.number = number }

    static let standardInput = FileDescriptor(STDIN_FILENO)
    static let standardOutput = FileDescriptor(STDOUT_FILENO)
    static let standardError = FileDescriptor(STDERR_FILENO)

    /// Opens /dev/null for each standard stream that is closed at the start, in the direction that makes its use fail.
    /// Otherwise the next opened file, such as a jar, would get its number and receive printed output.
    static func reserveStandardNumbers() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
            // open(2) returns the lowest free number, which is this one.
            _ = openFile("/dev/null", flags: number == STDIN_FILENO ? O_WRONLY : O_RDONLY, permissions: 0)
        }
        _ = openAtStart
    }

    /// The descriptors that the parent process passed on, found when the command starts. Sockets that the command opens
    /// later take the free numbers.
    static let openAtStart: Set<CInt> = {
        let numbers = 0..<maxInherited
        #if !canImport(Darwin)
        // One system call in place of 256. Darwin's poll(2) does not know all devices.
        var states = numbers.map { pollfd(fd: $0, events: 0, revents: 0) }
        if poll(&states, nfds_t(states.count), 0) >= 0 {
            return Set(states.filter { $0.revents & Int16(POLLNVAL) == 0 }.map(\.fd))
        }
        #endif
        return Set(numbers.filter { fcntl($0, F_GETFD) >= 0 })
    }()

    /// The limit of the search. Higher descriptors are not examined.
    private static let maxInherited: CInt = 256

    /// The error of a failed system call.
    struct Failure: Error, CustomStringConvertible {
        let code: CInt
        /// The number of octets written before the error.
        var written = 0
        var description: String { String(cString: strerror(code)) }
        /// Whether the file exists and must not be replaced.
        var isOfExistingFile: Bool { code == EEXIST || code == EISDIR || code == ELOOP }
        /// Whether the reader has closed the pipe.
        var isBrokenPipe: Bool { code == EPIPE }
    }

    /// The way in which a file is opened for writing.
    enum Mode {
        case truncate
        case append
        /// Creates the file. Fails if the file or a symbolic link exists.
        case new
    }

    /// Opens a file for writing and creates it if it is missing.
    ///
    /// - Parameter waits: whether to wait for the reader of a pipe. If false, a pipe without a reader is an error, and the file
    ///   is non-blocking.
    static func open(
        _ path: String,
        _ mode: Mode,
        permissions: UInt16 = 0o666,
        waits: Bool = true
    ) throws(Failure) -> FileDescriptor {
        let way =
            switch mode {
            // O_APPEND keeps data that another descriptor writes to the file at the same time, and leaves no gap after the
            // file is truncated.
            case .truncate: O_TRUNC | O_APPEND
            case .append: O_APPEND
            case .new: O_EXCL | O_NOFOLLOW | O_APPEND
            }
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | way | (waits ? 0 : O_NONBLOCK)
        let number = openFile(path, flags: flags, permissions: mode_t(permissions))
        guard number >= 0 else { throw Failure(code: errno) }
        return FileDescriptor(number)
    }

    /// Opens a file for reading.
    static func open(reading path: String) throws(Failure) -> FileDescriptor {
        let number = openFile(path, flags: O_RDONLY | O_CLOEXEC, permissions: 0)
        guard number >= 0 else { throw Failure(code: errno) }
        return FileDescriptor(number)
    }

    /// Opens a file for reading from an offset.
    static func open(reading path: String, from offset: Int64) throws(Failure) -> FileDescriptor {
        let file = try open(reading: path)
        guard let position = off_t(exactly: offset), lseek(file.number, position, SEEK_SET) == position else {
            try? file.close()
            throw Failure(code: ESPIPE)
        }
        return file
    }

    /// Reads at most `limit` bytes; empty at the end of the file. Waits until data is available.
    func read(atMost limit: Int) throws(Failure) -> [UInt8] {
        var failure: Failure?
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { space, count in
            var got = readBytes(from: number, into: space.baseAddress, count: limit)
            while got < 0, errno == EINTR || wait(for: POLLIN) {
                got = readBytes(from: number, into: space.baseAddress, count: limit)
            }
            if got < 0 { failure = Failure(code: errno) }
            count = max(0, got)
        }
        if let failure { throw failure }
        return bytes
    }

    /// Reads up to the end of the file.
    ///
    /// - Parameter streamLimit: the maximum number of bytes from a pipe or a device, which may have no end. Default: 1 GiB.
    func readToEnd(streamLimit: Int = 1 << 30) throws(Failure) -> [UInt8] {
        let limit = FileKind(descriptor: number).size == nil ? streamLimit : .max
        var all: [UInt8] = []
        while true {
            let bytes = try read(atMost: 128 * 1024)
            if bytes.isEmpty { return all }
            guard bytes.count <= limit - all.count else { throw Failure(code: EFBIG) }
            all += bytes
        }
    }

    /// Writes all bytes. Waits for a slow reader, but not in a cancelled task.
    func write(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        var rest = bytes[...]
        // A write to a full pipe blocks, and then the task cannot be cancelled.
        let isPipe = FileKind(descriptor: number) == .pipe
        while let start = UnsafeRawBufferPointer(rebasing: rest).baseAddress, !rest.isEmpty {
            guard !isPipe || waitUntilReady(for: POLLOUT) else {
                throw Failure(code: ECANCELED, written: bytes.count - rest.count)
            }
            let count = writeBytes(to: number, from: start, count: isPipe ? min(rest.count, pipeRoom) : rest.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR, !wait(for: POLLOUT) {
                throw Failure(code: errno, written: bytes.count - rest.count)
            }
        }
    }

    /// The number of bytes that a write to a pipe takes without blocking once the pipe is ready.
    private var pipeRoom: Int {
        #if !canImport(Darwin)
        // An empty pipe takes more, so that a fast reader costs few calls.
        var unread: CInt = 0
        if ioctl(number, UInt(FIONREAD), &unread) == 0, unread == 0 {
            return max(Int(PIPE_BUF), Int(fcntl(number, Self.pipeSizeCommand)))
        }
        #endif
        return Int(PIPE_BUF)
    }

    #if !canImport(Darwin)
    /// Linux's `F_GETPIPE_SZ`, which Swift's module of Glibc does not have.
    private static let pipeSizeCommand: CInt = 1032
    #endif

    /// Waits until a non-blocking file is ready; false if the last call failed for another reason. A program that shares the
    /// file may have made it non-blocking.
    private func wait(for event: CInt) -> Bool {
        (errno == EAGAIN || errno == EWOULDBLOCK) && waitUntilReady(for: event)
    }

    /// Waits until the file is ready; false if the task is cancelled before.
    private func waitUntilReady(for event: CInt) -> Bool {
        var wanted = pollfd(fd: number, events: Int16(event), revents: 0)
        while true {
            let count = pollDescriptor(&wanted, Self.pollMilliseconds)
            if count > 0 || count < 0 && errno != EINTR { return true }
            if Task.isCancelled { return false }
        }
    }

    /// The time after which a wait examines whether its task is cancelled.
    private static let pollMilliseconds: CInt = 100

    /// Writes all bytes. Waits for a slow reader.
    func write(_ bytes: some Sequence<UInt8>) throws(Failure) {
        let bytes = Array(bytes)
        try bytes.withUnsafeBytes { buffer in Result { () throws(Failure) in try write(buffer) } }.get()
    }

    /// Writes all bytes, and closes the file even if that fails.
    func writeAndClose(_ bytes: some Sequence<UInt8>) throws(Failure) {
        do throws(Failure) {
            try write(bytes)
        } catch {
            try? close()
            throw error
        }
        try close()
    }

    /// Removes the rest of a regular file that was opened for reading and writing (`3<>file`), from the present position on.
    func truncateHere() throws(Failure) {
        guard FileKind(descriptor: number).size != nil else { return }
        try truncate(to: Int64(lseek(number, 0, SEEK_CUR)))
    }

    /// Truncates the file to `length` bytes.
    func truncate(to length: Int64) throws(Failure) {
        guard let length = off_t(exactly: length) else { throw Failure(code: EFBIG) }
        guard ftruncate(number, length) == 0 else { throw Failure(code: errno) }
    }

    func close() throws(Failure) {
        guard closeFile(number) == 0 else { throw Failure(code: errno) }
    }
}

private func openFile(_ path: String, flags: CInt, permissions: mode_t) -> CInt { open(path, flags, permissions) }
private func readBytes(from number: CInt, into space: UnsafeMutableRawPointer?, count: Int) -> Int {
    read(number, space, count)
}
private func writeBytes(to number: CInt, from start: UnsafeRawPointer, count: Int) -> Int {
    write(number, start, count)
}
private func pollDescriptor(_ file: inout pollfd, _ milliseconds: CInt) -> CInt { poll(&file, 1, milliseconds) }
private func closeFile(_ number: CInt) -> CInt { close(number) }
