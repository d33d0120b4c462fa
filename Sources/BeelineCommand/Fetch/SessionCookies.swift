// SPDX-License-Identifier: Apache-2.0

import Beeline
import CookieJar

/// The cookies of a command line: one jar for all its parts, and the files from which it is read and to which it is
/// written.
struct SessionCookies: Sendable {
    /// The jar; nil if no part has cookies.
    let jar: CookieJar?
    /// Messages for the user, one line each.
    let messages: [String]
    private let file: OpenJar?

    /// Opens the jar: the file of the last `--jar`, the default file, or one in memory. Adds the cookies of the first part's
    /// files.
    ///
    /// - Throws: ``CommandFailure`` for cookies that cannot be read.
    init(_ parts: [FetchPlan]) async throws(CommandFailure) {
        guard let bounds = parts.first(where: \.hasCookies)?.jarBounds else {
            (jar, messages, file) = (nil, [], nil)
            return
        }
        // Read the files before opening the jar: its own file may be among them.
        let cookies = try await Self.cookies(parts[0])
        let memory: CookieJar
        var messages: [String] = []
        // A part without --jar has the jar of the environment or the configuration file.
        let named = parts.last { $0.command.cookies.jar != nil && $0.jar != nil }
        if let path = named?.jar ?? parts.compactMap(\.jar).last {
            let open = try await OpenJar(path, bounds: bounds)
            (file, memory, messages) = (open, open.jar, open.messages)
        } else {
            (file, memory) = (nil, CookieJar(configuration: bounds))
        }
        jar = memory
        self.messages = messages + Self.insert(cookies, into: memory, bounds: bounds)
    }

    /// Adds the cookies of the files of a part that follows a `--next`. Returns messages for the user.
    func load(_ plan: FetchPlan) async throws(CommandFailure) -> [String] {
        guard let jar else { return [] }
        return Self.insert(try await Self.cookies(plan), into: jar, bounds: plan.jarBounds)
    }

    /// Writes the files of `-c` and a jar that is a file. A failure to save one does not prevent saving the others.
    func saveFiles(_ parts: [FetchPlan]) async throws(CommandFailure) {
        var failure: CommandFailure?
        if let file, !file.isShared {
            do throws(CommandFailure) { try await file.save() } catch { failure = error }
        }
        for plan in parts {
            guard let jar, let file = plan.cookieJar else { continue }
            do throws(CommandFailure) { try file.save(jar, isCurls: true) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    /// Writes a jar that is on a server.
    func saveShared() async throws(CommandFailure) {
        // An interrupted fetch ends after 3 s.
        if let file, file.isShared { try await file.save(within: Task.isCancelled ? .seconds(2) : .seconds(5)) }
    }

    /// Closes the jar after another failure and ignores errors.
    func abandon() async { await file?.abandon() }

    private static func cookies(
        _ plan: FetchPlan
    ) async throws(CommandFailure) -> [(path: String, cookies: [Cookie])] {
        let url = (plan.command.urls.first?.text).flatMap { try? plan.urlPlan.url($0, upload: nil) }
        var cookies: [(path: String, cookies: [Cookie])] = []
        // Netscape's format has no times of creation, and `-c` writes the newest cookie first. So the last line counts as the oldest
        // cookie, which is sent first.
        var created = CookieTime.now
        for file in plan.cookieFiles {
            // As with curl's `-b`, a missing file and lines that are not cookies are ignored.
            guard let source = try await file.source(from: url) else { continue }
            var found = source.found.cookies
            if source.isNetscape {
                for index in found.indices {
                    found[index].created = created
                    created = CookieTime(microseconds: created.microseconds - 1)
                }
            }
            cookies.append((file.path, plan.command.cookies.dropsSession ? found.filter { $0.expires != nil } : found))
        }
        return cookies
    }

    private static func insert(
        _ files: [(path: String, cookies: [Cookie])],
        into jar: CookieJar,
        bounds: CookieJarConfiguration
    ) -> [String] {
        files.flatMap { path, cookies in
            CookieInsertion(cookies, into: jar, isOfThisSession: false).messages(of: path, bounds)
        }
    }
}
