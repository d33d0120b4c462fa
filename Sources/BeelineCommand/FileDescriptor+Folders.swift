// SPDX-License-Identifier: Apache-2.0

import LibC

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension FileDescriptor {
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

    /// Opens a file for reading from an offset.
    static func open(reading path: String, from offset: Int64) throws(Failure) -> FileDescriptor {
        let file = try open(reading: path)
        guard let position = off_t(exactly: offset), lseek(file.number, position, SEEK_SET) == position else {
            try? file.close()
            throw Failure(code: ESPIPE)
        }
        return file
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
