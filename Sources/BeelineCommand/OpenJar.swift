// SPDX-License-Identifier: Apache-2.0

import BeelineStore
import CookieJar

/// A jar with its file: read when it is opened, written when it is saved. Changes are written to an SQLite file in the
/// background, where other commands can see them.
struct OpenJar: Sendable {
    let jar: CookieJar
    /// Messages about the file for the user, one line each.
    let messages: [String]
    private let file: JarFile
    private let store: CookieDatabase?

    /// Opens a jar.
    ///
    /// - Parameter bounds: the limits of the jar.
    /// - Throws: ``CommandFailure`` if the file cannot be used as a jar.
    init(_ file: JarFile, bounds: CookieJarConfiguration) async throws(CommandFailure) {
        self.file = file
        guard file.format == nil else {
            let source = try await file.source()
            guard source?.isText ?? true else {
                // Saving would overwrite the database with text.
                throw CommandFailure(.usage, "the jar \(file.path) is an SQLite file; its name must end in .sqlite")
            }
            if let found = source?.found, found.cookies.isEmpty, let problem = found.problems.first {
                throw CommandFailure(
                    .usage,
                    "the jar \(file.path) holds data other than cookies, which would be lost (\(problem)); name another file"
                )
            }
            // The messages name the dropped cookies, because saving removes them from the file.
            jar = CookieJar(configuration: bounds)
            messages =
                source?.put(into: jar, of: file.path, isOfThisSession: false, bounds: bounds).messages ?? []
            store = nil
            return
        }
        try file.requireRegular()
        var configuration = CookieDatabaseConfiguration()
        // Commands share a session: the next command stays logged in, as with a text jar.
        configuration.restoresSession = true
        do throws(StoreError) {
            let store = try await CookieDatabase.open(file.path, configuration: configuration, jar: bounds)
            (self.jar, self.store) = (store.jar, store)
            messages = store.report.messages
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Saves the jar and closes the file.
    ///
    /// - Throws: ``CommandFailure`` if the file cannot be written.
    func save() async throws(CommandFailure) {
        guard let store else { return try file.save(jar) }
        do throws(StoreError) {
            try await store.close()
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Closes the file after another failure and ignores errors.
    func abandon() async { try? await store?.close() }
}

extension CommandFailure {
    /// Makes a failure from a store error.
    init(_ error: StoreError) {
        let reasons: Set<StoreError.Code> = [.notOurs, .newerSchema, .damaged, .unknownProfile, .inUse, .busy]
        self.init(reasons.contains(error.code) ? .readFailed : .writeFailed, "the jar \(error.message)")
    }
}
