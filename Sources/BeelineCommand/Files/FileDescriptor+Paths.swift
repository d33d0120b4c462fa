// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import LibC

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension FileDescriptor {
    /// Returns the path with all symbolic links resolved, even if the target does not exist.
    static func resolved(_ path: String) -> String {
        if let real = realpath(path, nil) {
            defer { free(real) }
            return String(cString: real)
        }
        var path = path
        for _ in 0..<maxLinks {
            guard !exists(path), let next = linkTarget(path) else { break }
            path = next
        }
        return path
    }

    /// Linux follows at most this many links.
    private static let maxLinks = 40

    /// The path that a symbolic link leads to; nil for other files.
    private static func linkTarget(_ path: String) -> String? {
        // The longest path on Linux and macOS.
        let next = String(unsafeUninitializedCapacity: 4096) { space in
            space.withMemoryRebound(to: CChar.self) { space in
                space.baseAddress.map { max(0, readlink(path, $0, space.count)) } ?? 0
            }
        }
        guard !next.isEmpty else { return nil }
        let folder = path[..<path.fileName.startIndex]
        return next.hasPrefix("/") ? next : folder + next
    }

    static func isLink(_ path: String) -> Bool { linkTarget(path) != nil }

    /// The descriptor that a path such as `/dev/stdout` or `/dev/fd/3`, or a link to it, names; nil for other paths.
    ///
    /// - Throws: ``Failure`` if the parent process did not pass on this descriptor. It may be a socket of the command now.
    static func inherited(_ path: String) throws(Failure) -> FileDescriptor? {
        var path = path
        for _ in 0..<maxLinks {
            for folder in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(folder) {
                guard let number = CInt(path.dropFirst(folder.count)) else { return nil }
                guard openAtStart.contains(number) else { throw Failure(code: EBADF) }
                return FileDescriptor(number)
            }
            guard let next = linkTarget(path) else { return nil }
            path = next
        }
        return nil
    }

    /// Whether a path exists after following symbolic links; true if this cannot be determined.
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR) }

    /// Whether the path leads to a regular file. Opening another kind of file may block forever.
    static func isRegular(_ path: String) -> Bool { FileKind(path).size != nil }

    /// Whether there is a folder at a path.
    static func isFolder(_ path: String) -> Bool { FileKind(path) == .folder }

    /// Returns the size in bytes of a regular file, readable or not; nil for other or missing files.
    static func size(of path: String) -> Int64? { FileKind(path).size }

    /// Creates the missing folders of a path (`--create-dirs`), with curl's permissions.
    ///
    /// - Throws: ``CommandFailure`` with status `writeFailed`.
    static func createFolders(of path: String) throws(CommandFailure) {
        for index in path.unicodeScalars.indices.dropFirst() where path.unicodeScalars[index] == "/" {
            let folder = String(path[..<index])
            guard mkdir(folder, 0o750) != 0 else { continue }
            let failure = Failure(code: errno)
            guard failure.code != EEXIST, failure.code != EISDIR, !exists(folder) else { continue }
            throw CommandFailure(.writeFailed, "the folder \(folder) cannot be created: \(failure)")
        }
    }

    /// The names in a folder. Empty if it cannot be read.
    static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// Removes the regular file at a path and ignores errors. A symbolic link such as `/dev/stdout` stays, and its file
    /// becomes empty. Returns whether a file was removed.
    static func discard(_ path: String) -> Bool {
        guard isLink(path) else { return unlink(path) == 0 }
        try? truncate(path, to: 0)
        return false
    }

    /// Shortens the regular file at a path to `length` bytes if it is longer.
    static func truncate(_ path: String, to length: Int64) throws(Failure) {
        guard let size = size(of: path), size > length else { return }
        let file = try open(path, .append)
        defer { try? file.close() }
        try file.truncate(to: length)
    }

    /// The time when the file at a path was modified, in seconds since 1970; nil if there is no file.
    static func modified(_ path: String) -> Int64? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: resolved(path))
        return (attributes?[.modificationDate] as? Date).map {
            Int64(clamping: $0.timeIntervalSince1970.rounded(.down))
        }
    }

    /// Sets the modification time of the file at a path. Returns false if that fails.
    static func setModified(_ path: String, to seconds: Int64) -> Bool {
        let date = Date(timeIntervalSince1970: Double(seconds))
        return (try? FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)) != nil
    }

    /// Redirects standard error to a file; `-` is standard output (`--stderr`).
    ///
    /// - Throws: ``CommandFailure`` with status `writeFailed`.
    static func redirectStandardError(to path: String) throws(CommandFailure) {
        do throws(Failure) {
            let file = path == "-" ? standardOutput : try open(path, .truncate)
            guard dup2(file.number, STDERR_FILENO) >= 0 else { throw Failure(code: errno) }
            if path != "-" { try file.close() }
        } catch {
            throw CommandFailure(.writeFailed, "--stderr: the file \(path) cannot be written: \(error)")
        }
    }
}
