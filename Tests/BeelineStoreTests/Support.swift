// SPDX-License-Identifier: Apache-2.0

import BeelineStore
import CookieJar
import Dispatch
import Foundation
import GRDB
import Names

/// 1 March 2026, 12:00 UTC: the moment at which the tests begin.
let noon = CookieTime(secondsSince1970: 1_772_366_400)

extension CookieTime {
    /// So many seconds after `noon`.
    static func after(_ seconds: Double) -> CookieTime {
        CookieTime(secondsSince1970: noon.secondsSince1970 + seconds)
    }
}

/// A folder for the files of one test, which goes with it.
final class Folder: Sendable {
    let path: String

    init() throws {
        // On Linux the directory ends in a slash, on Apple platforms it need not.
        let parent = NSTemporaryDirectory()
        path = parent + (parent.hasSuffix("/") ? "" : "/") + "beeline-store-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a file in it.
    func file(_ name: String = "jar.sqlite") -> String { path + "/" + name }

    /// The names of what is in it, sorted.
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

    /// Makes a database with SQL, as another program would.
    @discardableResult
    func makeDatabase(_ name: String = "jar.sqlite", _ fill: (Database) throws -> Void) throws -> String {
        let queue = try DatabaseQueue(path: file(name))
        try queue.writeWithoutTransaction(fill)
        try queue.close()
        return file(name)
    }

    /// Looks into a database that nobody has open.
    func look<Result>(_ name: String = "jar.sqlite", _ body: (Database) throws -> Result) throws -> Result {
        let queue = try DatabaseQueue(path: file(name))
        defer { try? queue.close() }
        return try queue.writeWithoutTransaction(body)
    }

    /// Opens a database as another program does that may hold a transaction open for long.
    func openDatabase(_ name: String = "jar.sqlite") throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        return try DatabaseQueue(path: file(name), configuration: configuration)
    }

    /// A file's mode, without its type; nil where there is none.
    func mode(_ name: String) -> Int? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file(name))
        return (attributes?[.posixPermissions] as? NSNumber)?.intValue
    }
}

extension CookieDatabaseConfiguration {
    /// Nothing is written or looked at but on demand.
    static var onDemand: CookieDatabaseConfiguration {
        var configuration = CookieDatabaseConfiguration()
        configuration.writeDelay = .seconds(3600)
        configuration.accessInterval = .seconds(3600)
        configuration.refreshInterval = nil
        return configuration
    }

    /// As `onDemand`, and the last session comes back.
    static var restoring: CookieDatabaseConfiguration {
        var configuration = onDemand
        configuration.restoresSession = true
        return configuration
    }
}

extension CookieDatabase {
    /// Opens a file at noon.
    static func open(
        _ folder: Folder,
        _ configuration: CookieDatabaseConfiguration = .onDemand,
        jar: CookieJarConfiguration = CookieJarConfiguration(),
        at seconds: Double = 0
    ) async throws -> CookieDatabase {
        try await open(folder.file(), configuration: configuration, jar: jar, clock: { .after(seconds) })
    }

    /// The Cookie header of a request for `https://example.com/`; nil for none.
    var header: String? {
        get throws { jar.header(for: try HTTPURL("https://example.com/")) }
    }
}

extension CookieJar {
    /// Inserts `name=value` for example.com, for an hour after noon.
    func put(_ name: String, _ value: String, seconds: Double = 3600) {
        var cookie = Cookie(name, value, domain: "example.com")
        cookie.expires = .after(seconds)
        insert(cookie)
    }

    /// Removes the cookie of a name of example.com.
    func take(_ name: String) { remove(Cookie(name, "", domain: "example.com")) }
}

/// Runs what waits for the system where it keeps no other test from running.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "blocking").async { continuation.resume(with: Swift.Result { try body() }) }
    }
}
