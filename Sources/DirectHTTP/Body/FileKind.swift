// SPDX-License-Identifier: Apache-2.0

import LibC

/// The kind of the file at a path. It is in this target because the targets above import Foundation. There, the module
/// that declares the fields of `stat` differs from build to build.
package enum FileKind: Hashable, Sendable {
    case file(size: Int64)
    case folder
    case pipe
    /// A socket or a device.
    case other
    /// There is no file, or its kind cannot be determined.
    case none

    /// Follows symbolic links.
    package init(_ path: String) {
        var status = stat()
        self = stat(path, &status) == 0 ? FileKind(status) : .none
    }

    package init(descriptor: CInt) {
        var status = stat()
        self = fstat(descriptor, &status) == 0 ? FileKind(status) : .none
    }

    /// Whether the file of a descriptor belongs to this process's user.
    package static func isOfThisUser(descriptor: CInt) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_uid == geteuid()
    }

    /// Whether there is a file at a path that belongs to another user. This is assumed of a path in a folder that this user may
    /// not search.
    package static func isOfOtherUser(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return errno == EACCES }
        return status.st_uid != geteuid()
    }

    /// The permissions of a file without the special bits; nil unless it has the owner and group of an open file.
    package static func permissions(of path: String, ifOwnedLike descriptor: CInt) -> UInt32? {
        var (old, new) = (stat(), stat())
        guard stat(path, &old) == 0, fstat(descriptor, &new) == 0, old.st_uid == new.st_uid, old.st_gid == new.st_gid
        else { return nil }
        return UInt32(old.st_mode & 0o777)
    }

    private init(_ status: stat) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: self = .file(size: Int64(status.st_size))
        case S_IFDIR: self = .folder
        case S_IFIFO: self = .pipe
        default: self = .other
        }
    }

    /// The size of a regular file in bytes; nil for anything else.
    package var size: Int64? { if case .file(let size) = self { size } else { nil } }
}
