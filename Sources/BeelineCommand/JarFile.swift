// SPDX-License-Identifier: Apache-2.0

import CookieJar

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A file of cookies: read into a jar, and written whole from one.
struct JarFile: Hashable, Sendable {
    let path: String
    let format: CookieFormat

    /// A file whose name says its format: `.json` is JSON, everything else Netscape's.
    ///
    /// - Throws: ``CommandFailure`` for `.sqlite`, which is not a file of cookies but a store.
    init(_ path: String) throws(CommandFailure) {
        guard !path.hasSuffix(".sqlite") else {
            throw CommandFailure(.usage, "the jar \(path): SQLite is not supported yet; name it .txt or .json")
        }
        self.path = path
        format = path.hasSuffix(".json") ? .json : .netscape
    }

    /// Puts the file's cookies into a jar; lines that are no cookies are passed over, as by curl.
    ///
    /// - Throws: ``CommandFailure`` where there is a file that cannot be read; none at all is an empty one.
    func load(into jar: CookieJar) throws(CommandFailure) {
        guard access(path, F_OK) == 0 || errno != ENOENT else { return }
        let octets = try Self.octets(of: path)
        jar.insert(CookieFormat(of: octets).read(octets, now: .now).cookies, isOfThisSession: false)
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

    /// Writes a jar's cookies: whole or not at all, since others may read the file meanwhile. Only its owner may read it.
    ///
    /// - Throws: ``CommandFailure`` with status `writeFailed`.
    func save(_ jar: CookieJar) throws(CommandFailure) {
        let octets = format.write(jar.allCookies())
        do {
            guard path != "-" else { return try FileDescriptor.standardOutput.write(octets) }
            // A symbolic link would be lost if it were replaced itself.
            let target = FileDescriptor.resolved(path)
            let draft = "\(target).\(getpid()).new"
            let file = try FileDescriptor.open(draft, .truncate, permissions: 0o600)
            do {
                try file.write(octets)
                try file.close()
                guard rename(draft, target) == 0 else { throw FileDescriptor.Failure(code: errno) }
            } catch {
                unlink(draft)
                throw error
            }
        } catch {
            throw CommandFailure(.writeFailed, "the cookies cannot be written to \(path): \(error)")
        }
    }
}
