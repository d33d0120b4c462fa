// SPDX-License-Identifier: Apache-2.0

import BeelineRedis
import BeelineStore
import CookieJar

/// A jar with its file or server: read when it is opened, written when it is saved. Changes are written to an SQLite file or a
/// server in the background, where other commands can see them.
struct OpenJar: Sendable {
    private enum Store: Sendable {
        case text(JarFile)
        case database(CookieDatabase)
        #if Redis
        case shared(RedisJar)
        #endif
    }

    let jar: CookieJar
    /// Messages about the file for the user, one line each.
    let messages: [String]
    private let store: Store

    /// Opens a jar.
    ///
    /// - Parameter bounds: the limits of the jar.
    /// - Throws: ``CommandFailure`` if the file or server cannot be used as a jar.
    init(_ file: JarFile, bounds: CookieJarConfiguration) async throws(CommandFailure) {
        if file.isShared {
            #if Redis
            let shared = try await Self.shared(file, bounds: bounds)
            (jar, store, messages) = (shared.jar, .shared(shared), [])
            return
            #else
            throw CommandFailure(.usage, "the jar \(file.path) needs a build with the trait Redis; name a file")
            #endif
        }
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
            // The messages name the dropped cookies, except expired ones, because saving removes them from the file.
            jar = CookieJar(configuration: bounds)
            messages =
                source?.put(into: jar, of: file.path, isOfThisSession: false, bounds: bounds).messages ?? []
            store = .text(file)
            return
        }
        try file.requireRegular()
        var configuration = CookieDatabaseConfiguration()
        // Commands share a session: the next command stays logged in, as with a text jar.
        configuration.restoresSession = true
        do throws(StoreError) {
            let database = try await CookieDatabase.open(file.path, configuration: configuration, jar: bounds)
            (jar, store) = (database.jar, .database(database))
            messages = database.report.messages
        } catch {
            throw CommandFailure(error)
        }
    }

    #if Redis
    /// Opens a shared jar and reads all its cookies.
    static func shared(_ file: JarFile, bounds: CookieJarConfiguration) async throws(CommandFailure) -> RedisJar {
        do throws(RedisError) {
            var configuration = try RedisJarConfiguration(url: file.path)
            // Otherwise a forgotten key file would put plain cookies into an encrypted jar.
            configuration.refusesEncryption = true
            configuration.onProblem = { problem in Terminal.log("\(problem)") }
            let shared = try RedisJar(configuration, jar: bounds)
            do throws(RedisError) {
                try await shared.synchronize()
            } catch {
                try? await shared.close(within: .zero)
                throw error
            }
            return shared
        } catch {
            throw CommandFailure(error)
        }
    }
    #endif

    /// Whether the jar is on a server.
    var isShared: Bool {
        #if Redis
        if case .shared = store { return true }
        #endif
        return false
    }

    /// Saves the jar and closes the file or the connection.
    ///
    /// - Parameter limit: The time limit for a jar on a server.
    /// - Throws: ``CommandFailure`` if the jar cannot be written.
    func save(within limit: Duration = .seconds(5)) async throws(CommandFailure) {
        switch store {
        case .text(let file): try file.save(jar)
        case .database(let database):
            do throws(StoreError) { try await database.close() } catch { throw CommandFailure(error) }
        #if Redis
        case .shared(let shared):
            do throws(RedisError) { try await shared.close(within: limit) } catch { throw CommandFailure(error) }
        #endif
        }
    }

    /// Closes the jar after another failure and ignores errors.
    func abandon() async {
        switch store {
        case .text: break
        case .database(let database): try? await database.close()
        #if Redis
        case .shared(let shared): try? await shared.close()
        #endif
        }
    }
}

extension CommandFailure {
    /// Makes a failure from a store error.
    init(_ error: StoreError) {
        let reasons: Set<StoreError.Code> = [.notOurs, .newerSchema, .damaged, .unknownProfile, .inUse, .busy]
        self.init(reasons.contains(error.code) ? .readFailed : .writeFailed, "the jar \(error.message)")
    }
}

#if Redis
extension CommandFailure {
    /// Makes a failure from the error of a shared jar.
    init(_ error: RedisError) {
        let statuses: [RedisError.Code: CommandStatus] = [
            .badName: .usage, .badURL: .usage, .badKey: .readFailed, .badSecret: .readFailed,
            .unavailable: .connectFailed, .timedOut: .timedOut, .leaseLost: .unavailable, .tooManyChanges: .tooLarge,
            .notLoggedIn: .httpError,
        ]
        self.init(statuses[error.code] ?? .internalFault, error.message)
    }
}
#endif
