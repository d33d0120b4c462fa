// SPDX-License-Identifier: Apache-2.0

import LibC

/// Identifies a file by device and inode, independent of its path.
struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64
    /// The size in octets.
    let size: Int64
    /// The time of the last change, in nanoseconds since 1970.
    let modified: Int64
    /// Whether it is a regular file.
    let isRegular: Bool

    /// The file at a path; nil if it does not exist.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The file of a descriptor; nil if the descriptor is not open.
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
        // Overflow is harmless: the value is only compared for equality.
        modified = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// Whether both are the same file.
    static func == (left: FileIdentity, right: FileIdentity) -> Bool {
        left.device == right.device && left.number == right.number
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(device)
        hasher.combine(number)
    }

    /// Whether the file has the same identity, size and modification time.
    func isUnchanged(since other: FileIdentity) -> Bool {
        self == other && size == other.size && modified == other.modified
    }
}
