// SPDX-License-Identifier: Apache-2.0

import CookieJar
import DirectHTTP
import LibC
import Names

/// A cookie file that is read into a jar and written from a jar, or the URL of a jar on a Redis server.
struct JarFile: Hashable, Sendable {
    let path: String
    /// The format of a text file; nil for an SQLite file (`BeelineStore`) and a server.
    let format: CookieFormat?

    /// Whether the jar is on a server (`BeelineRedis`), and `path` is a URL.
    var isShared: Bool { Self.isURL(path) }

    /// Whether a text is the URL of a jar on a server.
    static func isURL(_ text: String) -> Bool {
        ["redis://", "rediss://", "redis+sentinel://", "rediss+sentinel://"].contains(
            where: text.lowercased().hasPrefix
        )
    }

    /// Chooses the format by the file name: `.sqlite` is a store, `.json` is JSON, anything else is Netscape's format.
    init(_ path: String) {
        self.path = path
        format = Self.isURL(path) || path.hasSuffix(".sqlite") ? nil : path.hasSuffix(".json") ? .json : .netscape
    }

    /// Reads the file in any supported format; nil if the file does not exist.
    ///
    /// - Parameter url: the URL for header lines without a Domain attribute, if the file names no URL.
    /// - Throws: ``CommandFailure`` if the file exists but cannot be read.
    func source(from url: HTTPURL? = nil) async throws(CommandFailure) -> CookieSource? {
        guard path == "-" || FileDescriptor.exists(path) else { return nil }
        if format == nil { try requireRegular() }
        let source = try await CookieSource.read(path, from: url)
        guard format == nil, source.isText, source.found.cookies.isEmpty, !source.found.problems.isEmpty else {
            return source
        }
        throw CommandFailure(.readFailed, "\(path) is not a database, or is damaged; name another file")
    }

    /// Throws if the path is not a regular file. SQLite would wait for a pipe forever.
    func requireRegular() throws(CommandFailure) {
        if FileDescriptor.isRegular(path) || !FileDescriptor.exists(path) { return }
        guard access(path, F_OK) == 0 else {
            let failure = FileDescriptor.Failure(code: errno)
            throw CommandFailure(.readFailed, "the cookies in \(path) cannot be read: \(failure)")
        }
        throw CommandFailure(.readFailed, "the jar \(path) is not a regular file, which an SQLite jar must be")
    }

    /// Throws if the text file could not be written now. A command that runs for long must not find that out at its end.
    func requireWritable() throws(CommandFailure) {
        guard format != nil, path != "-", (try? FileDescriptor.inherited(path)) == nil else { return }
        let target = FileDescriptor.resolved(path)
        let folder = target.lastIndex(of: "/").map { String(target[...$0]) } ?? "."
        if access(folder, W_OK | X_OK) == 0 { return }
        let failure = FileDescriptor.Failure(code: errno)
        guard access(target, W_OK) == 0 else {
            throw CommandFailure(.writeFailed, "the cookies cannot be written to \(path): \(failure)")
        }
    }

    /// Reads a whole file; `-` is standard input.
    ///
    /// - Throws: ``CommandFailure`` with status `readFailed`.
    static func octets(of path: String) throws(CommandFailure) -> [UInt8] {
        do {
            return try InputFiles.real.contents(path)
        } catch {
            throw CommandFailure(.readFailed, "the cookies in \(path) cannot be read: \(error)")
        }
    }

    /// Writes a jar's cookies as text, readable only by the owner. The file is replaced atomically if its folder allows it,
    /// because other processes may read it at the same time.
    ///
    /// - Parameter isCurls: whether the file is for curl's `-c`. As in curl, the newest cookie then comes first, and
    ///   times near the limit of 400 days are rounded to the minute. By default the oldest comes first.
    /// - Throws: ``CommandFailure`` with status `writeFailed`.
    func save(_ jar: CookieJar, isCurls: Bool = false) throws(CommandFailure) {
        let cookies = jar.allCookies()
        // curl reads a value only up to a tab, and accepts no such cookies from servers.
        let written =
            isCurls
            ? cookies.reversed().filter { !$0.valueOctets.contains(0x09) }.map(Self.withWholeMinute) : cookies
        let octets = (format ?? .netscape).write(written)
        do {
            guard path != "-" else { return try FileDescriptor.standardOutput.write(octets) }
            try Self.replace(path, by: octets)
        } catch {
            throw CommandFailure(.writeFailed, "the cookies cannot be written to \(path): \(error)")
        }
    }

    private static func withWholeMinute(_ cookie: Cookie) -> Cookie {
        guard let expires = cookie.expires, expires.secondsSince1970 > CookieTime.now.secondsSince1970 + 399 * 86_400
        else { return cookie }
        var cookie = cookie
        cookie.expires = CookieTime(secondsSince1970: (expires.secondsSince1970 / 60).rounded() * 60)
        return cookie
    }

    /// Replaces the content of a file and keeps its permissions; a new file is readable by its owner only. Writes after the
    /// content of a pipe, a device or an open descriptor such as `/dev/stdout`.
    ///
    /// - Parameter suffix: the suffix of the temporary file's name.
    static func replace(
        _ path: String,
        by octets: [UInt8],
        suffix: String = ".\(getpid())-\(UInt32.random(in: 0 ... .max)).new"
    ) throws(FileDescriptor.Failure) {
        // A rename would remove the file that the descriptor writes to.
        if let descriptor = try FileDescriptor.inherited(path) {
            try descriptor.write(octets)
            return try descriptor.truncateHere()
        }
        // Write to the target of a symbolic link; a rename would replace the link.
        let target = FileDescriptor.resolved(path)
        // Write into a device or a pipe; a rename would destroy it.
        guard FileDescriptor.isRegular(target) || !FileDescriptor.exists(target) else {
            return try FileDescriptor.open(target, .append).writeAndClose(octets)
        }
        let draft = target + suffix
        let file: FileDescriptor
        do throws(FileDescriptor.Failure) {
            file = try FileDescriptor.open(draft, .new, permissions: 0o600)
        } catch {
            guard error.isOfFolder else { throw error }
            return try FileDescriptor.open(target, .truncate, permissions: 0o600).writeAndClose(octets)
        }
        keepPermissions(of: target, for: file)
        do throws(FileDescriptor.Failure) {
            try file.writeAndClose(octets)
            guard rename(draft, target) == 0 else { throw FileDescriptor.Failure(code: errno) }
        } catch {
            unlink(draft)
            guard error.isOfFolder else { throw error }
            try FileDescriptor.open(target, .truncate, permissions: 0o600).writeAndClose(octets)
        }
    }

    /// Gives a file the permissions of the file that it replaces, if both have the same owner and group.
    private static func keepPermissions(of target: String, for draft: FileDescriptor) {
        guard let permissions = FileKind.permissions(of: target, ifOwnedLike: draft.number) else { return }
        fchmod(draft.number, .init(permissions))
    }
}

extension FileDescriptor.Failure {
    /// Whether the folder does not allow a temporary file or a rename: it is read-only, the file is a mount point, or the
    /// longer name is too long.
    fileprivate var isOfFolder: Bool { [EACCES, EPERM, EROFS, EBUSY, ENAMETOOLONG].contains(code) }
}
