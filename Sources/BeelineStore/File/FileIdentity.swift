// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Which file a path names, whatever it is called.
struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64
    /// The size in octets.
    let size: Int64
    /// When it was changed last, in nanoseconds since 1970.
    let modified: Int64
    /// Whether it is a file, and not a directory or a device.
    let isRegular: Bool

    /// The file that a path names; nil where there is none.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The file that a descriptor is open on.
    init?(descriptor: CInt) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
        size = Int64(status.st_size)
        isRegular = status.st_mode & S_IFMT == S_IFREG
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        // A file may carry any time; one that 64 bits do not hold only has to be told from others.
        modified = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// Whether both are one file.
    static func == (left: FileIdentity, right: FileIdentity) -> Bool {
        left.device == right.device && left.number == right.number
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(device)
        hasher.combine(number)
    }

    /// Whether the file was left as it was.
    func isUnchanged(since other: FileIdentity) -> Bool {
        self == other && size == other.size && modified == other.modified
    }
}
