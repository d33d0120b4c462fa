// SPDX-License-Identifier: Apache-2.0

import BeelineStore
import CookieJar
import Names

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Cookies of a file or of a browser's profile. What it is its content says, not its name.
struct CookieSource: Sendable {
    /// The cookies, and what is none.
    var found: CookieImport
    /// Whether it is a text, and not an SQLite file.
    var isText: Bool
    /// What the numbers of `found` count.
    var unit: String { isText ? "line" : "row" }

    private static let sqlite = Array("SQLite format 3\0".utf8)

    /// Reads cookies.
    ///
    /// - Parameters:
    ///   - path: a file, or the folder of a profile; `-` is standard input.
    ///   - format: the form of a text; nil: what it looks like.
    ///   - url: where header lines without a Domain attribute come from, if the text does not say it.
    ///   - container: the container of Firefox whose cookies are read.
    /// - Throws: ``CommandFailure`` with status `readFailed`.
    static func read(
        _ path: String,
        as format: CookieFormat? = nil,
        from url: HTTPURL? = nil,
        container: Int = 0
    ) async throws(CommandFailure) -> CookieSource {
        if path != "-", isFolder(path) { return try await profile(path, container: container) }
        let octets = try JarFile.octets(of: path)
        if path != "-", format == nil, octets.starts(with: sqlite) {
            return try await profile(path, container: container)
        }
        let found = (format ?? CookieFormat(of: octets)).read(octets, from: url, now: .now)
        return CookieSource(found: found, isText: true)
    }

    /// What became of the cookies of a source.
    struct Result {
        /// Cookies that are in the jar now.
        var imported: Int
        /// What is no cookie, what the jar does not take, and what it had no room for.
        var skipped: Int
        /// What the user should know: a line for each that was not taken, with its number, and a line for all that had no room.
        var messages: [String]
    }

    /// Puts the cookies into a jar.
    ///
    /// - Parameters:
    ///   - path: where they come from, for messages.
    ///   - bounds: what the jar has room for.
    func put(
        into jar: CookieJar,
        of path: String,
        isOfThisSession: Bool,
        bounds: CookieJarConfiguration
    ) -> Result {
        var problems = found.problems.map { ($0.line, $0.reason) }
        let intake = CookieIntake(found.cookies, into: jar, isOfThisSession: isOfThisSession)
        for (line, outcome) in zip(found.lines, intake.outcomes) {
            switch outcome {
            // All of those that found no room have one line together.
            case .rejected(.noRoom), .kept, .replaced: break
            case .rejected(let reason): problems.append((line, "\(reason)"))
            case .deleted: problems.append((line, "it has expired"))
            }
        }
        let lines = problems.sorted { $0.0 < $1.0 }.map { "\(path): \(unit) \($0): \($1)" }
        let skipped = problems.count + intake.dropped
        return Result(
            imported: found.cookies.count + found.problems.count - skipped,
            skipped: skipped,
            messages: lines + intake.messages(of: path, bounds)
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

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
