// SPDX-License-Identifier: Apache-2.0

import BeelineStore
import CookieJar
import Dispatch
import Foundation
import GRDB
import Names

/// 1 March 2026, 12:00 UTC: the time at which the tests start.
let noon = CookieTime(secondsSince1970: 1_772_366_400)

extension CookieTime {
    /// The time a number of seconds after `noon`.
    static func after(_ seconds: Double) -> CookieTime {
        CookieTime(secondsSince1970: noon.secondsSince1970 + seconds)
    }
}

/// A folder for the files of one test, removed with the object.
final class Folder: Sendable {
    let path: String

    init() throws {
        // The directory always ends in a slash on Linux, but not on Apple platforms.
        let parent = NSTemporaryDirectory()
        path = parent + (parent.hasSuffix("/") ? "" : "/") + "beeline-store-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a file in the folder.
    func file(_ name: String = "jar.sqlite") -> String { path + "/" + name }

    /// The names of the folder's files, sorted.
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

    /// Makes a database with SQL, like another program.
    @discardableResult
    func makeDatabase(_ name: String = "jar.sqlite", _ fill: (Database) throws -> Void) throws -> String {
        let queue = try DatabaseQueue(path: file(name))
        try queue.writeWithoutTransaction(fill)
        try queue.close()
        return file(name)
    }

    /// Opens a database that is not in use, and runs `body`.
    func look<Result>(_ name: String = "jar.sqlite", _ body: (Database) throws -> Result) throws -> Result {
        let queue = try DatabaseQueue(path: file(name))
        defer { try? queue.close() }
        return try queue.writeWithoutTransaction(body)
    }

    /// Opens a database like another program that holds transactions open.
    func openDatabase(_ name: String = "jar.sqlite") throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        return try DatabaseQueue(path: file(name), configuration: configuration)
    }

    /// A file's permissions; nil if the file does not exist.
    func mode(_ name: String) -> Int? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file(name))
        return (attributes?[.posixPermissions] as? NSNumber)?.intValue
    }
}

extension CookieDatabaseConfiguration {
    /// Writes and reads only on demand.
    static var onDemand: CookieDatabaseConfiguration {
        var configuration = CookieDatabaseConfiguration()
        configuration.writeDelay = .seconds(3600)
        configuration.accessInterval = .seconds(3600)
        configuration.refreshInterval = nil
        return configuration
    }

    /// Like `onDemand`, and restores the last session.
    static var restoring: CookieDatabaseConfiguration {
        var configuration = onDemand
        configuration.restoresSession = true
        return configuration
    }
}

extension CookieDatabase {
    /// Opens a file with a clock that stands still, at noon by default.
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
    /// Inserts `name=value` for example.com. It expires this many seconds after noon.
    func put(_ name: String, _ value: String, seconds: Double = 3600) {
        var cookie = Cookie(name, value, domain: "example.com")
        cookie.expires = .after(seconds)
        insert(cookie)
    }

    /// Removes the cookie of example.com with this name.
    func take(_ name: String) { remove(Cookie(name, "", domain: "example.com")) }
}

/// Runs blocking work on its own queue, so that other tests can run.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "blocking").async { continuation.resume(with: Swift.Result { try body() }) }
    }
}
