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

    /// Puts the cookies into a jar.
    ///
    /// - Returns: what is no cookie, and what the jar does not take: a line for each, with its number.
    func put(into jar: CookieJar, of path: String, isOfThisSession: Bool) -> [String] {
        var problems = found.problems.map { ($0.line, $0.reason) }
        for (line, outcome) in zip(found.lines, jar.insert(found.cookies, isOfThisSession: isOfThisSession)) {
            switch outcome {
            case .rejected(let reason): problems.append((line, "\(reason)"))
            case .deleted: problems.append((line, "it has expired"))
            case .kept, .replaced: break
            }
        }
        return problems.sorted { $0.0 < $1.0 }.map { "\(path): \(unit) \($0): \($1)" }
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
