// SPDX-License-Identifier: Apache-2.0

import BeelineStore
import CookieJar
import Names

/// Cookies read from a file or a browser profile. The content decides the format, not the file name.
struct CookieSource: Sendable {
    /// The cookies, and the lines or rows that are not cookies.
    var found: CookieImport
    /// Whether the source is text rather than an SQLite file.
    var isText: Bool
    /// Whether the source is in Netscape's format, which has no times of creation.
    var isNetscape = false
    /// The unit of the line numbers in `found`.
    var unit: String { isText ? "line" : "row" }

    private static let sqlite = Array("SQLite format 3\0".utf8)

    /// Reads the cookies of a file or profile.
    ///
    /// - Parameters:
    ///   - path: a file, or the folder of a profile; `-` is standard input.
    ///   - format: the format of a text; nil detects it.
    ///   - url: the URL for header lines without a Domain attribute, if the text names no URL.
    ///   - container: the number of the Firefox container to read.
    /// - Throws: ``CommandFailure`` with status `readFailed`.
    static func read(
        _ path: String,
        as format: CookieFormat? = nil,
        from url: HTTPURL? = nil,
        container: Int = 0
    ) async throws(CommandFailure) -> CookieSource {
        if path != "-", FileDescriptor.isFolder(path) { return try await profile(path, container: container) }
        let octets = try JarFile.octets(of: path)
        if path != "-", format == nil, octets.starts(with: sqlite) {
            return try await profile(path, container: container)
        }
        let format = format ?? CookieFormat(of: octets)
        let found = format.read(octets, from: url, now: .now)
        return CookieSource(found: found, isText: true, isNetscape: format == .netscape)
    }

    /// The result of importing a source.
    struct Result {
        /// The number of cookies now in the jar.
        var imported: Int
        /// The number of entries that are not cookies, were rejected, or had no room.
        var skipped: Int
        /// Messages for the user: one for each rejected entry with its number, and one for all entries without room.
        var messages: [String]
    }

    /// Adds the cookies to a jar.
    ///
    /// - Parameters:
    ///   - path: the source's path, for messages.
    ///   - bounds: the limits of the jar.
    ///   - namesExpired: whether an expired cookie is worth a message. In the jar's own file it is not.
    func put(
        into jar: CookieJar,
        of path: String,
        isOfThisSession: Bool,
        bounds: CookieJarConfiguration,
        namesExpired: Bool = false
    ) -> Result {
        var problems = found.problems.map { ($0.line, $0.reason) }
        let insertion = CookieInsertion(found.cookies, into: jar, isOfThisSession: isOfThisSession)
        for (line, outcome) in zip(found.lines, insertion.outcomes) {
            switch outcome {
            // One common message reports all cookies without room.
            case .rejected(.noRoom), .kept, .replaced: break
            case .rejected(let reason): problems.append((line, "\(reason)"))
            case .deleted: if namesExpired { problems.append((line, "it has expired")) }
            }
        }
        let lines = problems.sorted { $0.0 < $1.0 }.map { "\(path): \(unit) \($0): \($1)" }
        let skipped = problems.count + insertion.dropped
        return Result(
            imported: found.cookies.count + found.problems.count - skipped,
            skipped: skipped,
            messages: lines + insertion.messages(of: path, bounds)
        )
    }

    private static func profile(_ path: String, container: Int) async throws(CommandFailure) -> CookieSource {
        do throws(StoreError) {
            let found = try await BrowserProfile.cookies(at: path, container: container)
            return CookieSource(found: found, isText: false)
        } catch {
            throw CommandFailure(.readFailed, error.message)
        }
    }
}
