// SPDX-License-Identifier: Apache-2.0

import LibC

/// The metadata that shows whether a file at a path has changed.
package struct FileStamp: Hashable, Sendable {
    /// The time of the last change, as text: which module declares the fields of `timespec` differs from build to build.
    private let modified: String
    private let size: Int64
    private let inode: UInt64

    /// The stamp of a regular file; nil for any other file, such as a pipe, which can be read only once.
    package init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        #if canImport(Darwin)
        modified = String(describing: status.st_mtimespec)
        #else
        modified = String(describing: status.st_mtim)
        #endif
        size = Int64(status.st_size)
        inode = UInt64(status.st_ino)
    }
}
