// SPDX-License-Identifier: Apache-2.0

import BeelineStore
import CookieJar

/// A jar that a command works on, and where it is kept: read when it is opened, written at the end. An SQLite file is written
/// behind the jar meanwhile, and other commands see what is in it.
struct OpenJar: Sendable {
    let jar: CookieJar
    /// What its user should know of the file, one line each.
    let messages: [String]
    private let file: JarFile
    private let store: CookieDatabase?

    /// Opens a file.
    ///
    /// - Parameter bounds: what the jar has room for.
    /// - Throws: ``CommandFailure``.
    init(_ file: JarFile, bounds: CookieJarConfiguration) async throws(CommandFailure) {
        self.file = file
        guard file.format == nil else {
            let source = try await file.source()
            guard source?.isText ?? true else {
                // Text would be written over it at the end.
                throw CommandFailure(.usage, "the jar \(file.path) is an SQLite file; such a jar is named .sqlite")
            }
            if let found = source?.found, found.cookies.isEmpty, let problem = found.problems.first {
                throw CommandFailure(
                    .usage,
                    "the jar \(file.path) has no cookies but something else, which would be lost (\(problem)); name another file"
                )
            }
            // At the end they are gone from the file.
            jar = CookieJar(configuration: bounds)
            messages =
                source?.put(into: jar, of: file.path, isOfThisSession: false, bounds: bounds).messages ?? []
            store = nil
            return
        }
        try file.requireRegular()
        var configuration = CookieDatabaseConfiguration()
        // A command is no session: who has logged in with one stays logged in for the next, as with a file of text.
        configuration.restoresSession = true
        do throws(StoreError) {
            let store = try await CookieDatabase.open(file.path, configuration: configuration, jar: bounds)
            (self.jar, self.store) = (store.jar, store)
            messages = store.report.messages
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Writes what the jar has, and closes the file.
    ///
    /// - Throws: ``CommandFailure``.
    func save() async throws(CommandFailure) {
        guard let store else { return try file.save(jar) }
        do throws(StoreError) {
            try await store.close()
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Closes the file after a failure that counts more than its own.
    func abandon() async { try? await store?.close() }
}

extension CommandFailure {
    /// A store that cannot be opened, read or written.
    init(_ error: StoreError) {
        let reasons: Set<StoreError.Code> = [.notOurs, .newerSchema, .damaged, .unknownProfile, .inUse, .busy]
        self.init(reasons.contains(error.code) ? .readFailed : .writeFailed, "the jar \(error.message)")
    }
}
