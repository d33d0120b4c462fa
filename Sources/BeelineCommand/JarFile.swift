// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A file of cookies, which is read into a jar and written from one.
struct JarFile: Hashable, Sendable {
    let path: String
    /// The form in which a file of text is written; nil: it is an SQLite file (`BeelineStore`).
    let format: CookieFormat?

    /// A file whose name says its form: `.sqlite` is a store, `.json` is JSON, everything else Netscape's.
    init(_ path: String) {
        self.path = path
        format = path.hasSuffix(".sqlite") ? nil : path.hasSuffix(".json") ? .json : .netscape
    }

    /// What is in the file, in whatever form; nil where there is none.
    ///
    /// - Throws: ``CommandFailure`` where there is a file that cannot be read.
    /// - Parameter url: where header lines without a Domain attribute come from, if the file does not say it.
    func source(from url: HTTPURL? = nil) async throws(CommandFailure) -> CookieSource? {
        guard path == "-" || FileDescriptor.exists(path) else { return nil }
        if format == nil { try requireRegular() }
        let source = try await CookieSource.read(path, from: url)
        guard format == nil, source.isText, source.found.cookies.isEmpty, !source.found.problems.isEmpty else {
            return source
        }
        throw CommandFailure(.readFailed, "\(path) is not a database, or is damaged; name another file")
    }

    /// Refuses what is no regular file: SQLite would wait for a pipe without end.
    func requireRegular() throws(CommandFailure) {
        guard FileDescriptor.isRegular(path) || !FileDescriptor.exists(path) else {
            throw CommandFailure(.readFailed, "the jar \(path) is no regular file, as an SQLite file must be")
        }
    }

    /// The file's cookies; none where there is no file. Lines that are no cookies are passed over in silence, as curl's `-b` does.
    ///
    /// - Throws: ``CommandFailure`` where there is a file that cannot be read.
    func cookies(from url: HTTPURL? = nil) async throws(CommandFailure) -> [Cookie] {
        try await source(from: url)?.found.cookies ?? []
    }

    /// What is in a file; `-` is standard input.
    ///
    /// - Throws: ``CommandFailure`` with status `readFailed`.
    static func octets(of path: String) throws(CommandFailure) -> [UInt8] {
        do {
            guard path != "-" else { return try FileDescriptor.standardInput.readToEnd() }
            let file = try FileDescriptor.open(reading: path)
            defer { try? file.close() }
            return try file.readToEnd()
        } catch {
            throw CommandFailure(.readFailed, "the cookies in \(path) cannot be read: \(error)")
        }
    }

    /// Writes a jar's cookies as text: whole or not at all where its folder allows it, since others may read the file meanwhile.
    /// Only its owner may read it.
    ///
    /// - Throws: ``CommandFailure`` with status `writeFailed`.
    func save(_ jar: CookieJar) throws(CommandFailure) {
        let octets = (format ?? .netscape).write(jar.allCookies())
        do {
            guard path != "-" else { return try FileDescriptor.standardOutput.write(octets) }
            try Self.replace(path, by: octets)
        } catch {
            throw CommandFailure(.writeFailed, "the cookies cannot be written to \(path): \(error)")
        }
    }

    /// Replaces what is in a file.
    ///
    /// - Parameter suffix: what the name of the draft has behind the file's own.
    static func replace(
        _ path: String,
        by octets: [UInt8],
        suffix: String = ".\(getpid())-\(UInt32.random(in: 0 ... .max)).new"
    ) throws(FileDescriptor.Failure) {
        // A symbolic link would be lost if it were replaced itself.
        let target = FileDescriptor.resolved(path)
        // A device or a pipe is written to: a file in its place would destroy it.
        guard FileDescriptor.isRegular(target) || !FileDescriptor.exists(target) else {
            return try write(octets, to: FileDescriptor.open(target, .append))
        }
        let draft = target + suffix
        let file: FileDescriptor
        do throws(FileDescriptor.Failure) {
            file = try FileDescriptor.open(draft, .new, permissions: 0o600)
        } catch {
            guard error.isOfFolder else { throw error }
            return try write(octets, to: FileDescriptor.open(target, .truncate, permissions: 0o600))
        }
        do throws(FileDescriptor.Failure) {
            try write(octets, to: file)
            guard rename(draft, target) == 0 else { throw FileDescriptor.Failure(code: errno) }
        } catch {
            unlink(draft)
            guard error.isOfFolder else { throw error }
            try write(octets, to: FileDescriptor.open(target, .truncate, permissions: 0o600))
        }
    }

    private static func write(_ octets: [UInt8], to file: FileDescriptor) throws(FileDescriptor.Failure) {
        do {
            try file.write(octets)
        } catch {
            try? file.close()
            throw error
        }
        try file.close()
    }
}

extension FileDescriptor.Failure {
    /// Whether a folder takes no file beside the one that is there: it may be read-only, the file a mount point, or the name of
    /// a second file too long.
    fileprivate var isOfFolder: Bool { [EACCES, EPERM, EROFS, EBUSY, ENAMETOOLONG].contains(code) }
}
