// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What tells a file from the one that was at its path before.
struct FileStamp: Hashable {
    private let seconds: Int
    private let nanoseconds: Int
    private let size: Int64
    private let inode: UInt64

    /// The stamp of a regular file; nil for any other: a pipe can be read only once.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        #if canImport(Darwin)
        let changed = status.st_mtimespec
        #else
        let changed = status.st_mtim
        #endif
        seconds = Int(changed.tv_sec)
        nanoseconds = Int(changed.tv_nsec)
        size = Int64(status.st_size)
        inode = UInt64(status.st_ino)
    }
}
