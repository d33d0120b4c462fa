// SPDX-License-Identifier: Apache-2.0

public import CookieJar
import GRDB

/// Cookies of a browser that stores them in SQLite: Firefox and its relatives, Chromium and its relatives. A file of
/// ``CookieDatabase`` is read too.
///
/// The profile may be in use. Nothing in it is written, locked or opened by SQLite: what is read is a private copy, which
/// includes what the browser has only in its log yet, and is deleted at once.
///
/// ```swift
/// let found = try await BrowserProfile.cookies(at: "/home/me/.mozilla/firefox/x1y2z3.default")
/// jar.insert(found.cookies)
/// ```
public enum BrowserProfile {
    /// The largest file that is copied, in octets: 1 GiB.
    public static let maximumSize = 1 << 30

    /// Where browsers keep their cookies, from the profile's folder on.
    private static let places = [
        "cookies.sqlite", "Network/Cookies", "Cookies", "Default/Network/Cookies", "Default/Cookies",
    ]

    /// Reads the cookies of a profile. Nothing is checked but what a row must have: a jar checks what it is handed.
    ///
    /// Cookies that cannot be read here are reported with the number of their row: those that Chromium has encrypted with
    /// a key of the system, and rows that are no cookies.
    ///
    /// - Parameters:
    ///   - path: The profile's folder, or its file of cookies.
    ///   - container: The number of the Firefox container (`userContextId`) whose cookies are read; default 0, those of no
    ///     container. Those of others are passed over, and so are those of private windows and of isolated first parties.
    /// - Throws: ``StoreError``: `.notAccessible`, `.unknownProfile`, `.damaged`, `.busy` where the browser writes without
    ///   a pause.
    public static func cookies(at path: String, container: Int = 0) async throws(StoreError) -> CookieImport {
        try await Connection.offPool { () throws(StoreError) in try read(path, container: container) }
    }

    private static func read(_ path: String, container: Int) throws(StoreError) -> CookieImport {
        let file = try file(path)
        let copy = try DatabaseCopy(of: file, limit: maximumSize)
        defer { copy.remove() }
        let connection = try copy.connect()
        defer { try? connection.close() }
        do {
            return try connection.perform { db in
                if try StoredCookies.isStored(in: db) { return try StoredCookies.read(db, of: file) }
                if let table = try BrowserTable(db, named: "moz_cookies") {
                    return try FirefoxCookies(table, version: try Schema.version(db), container: container).read(db)
                }
                if let table = try BrowserTable(db, named: "cookies"), table.columns.contains("host_key") {
                    return try ChromiumCookies(table).read(db)
                }
                let message = "\(file) has no table of cookies that Firefox or Chromium has; name a profile's folder"
                throw StoreError(.unknownProfile, path: file, message)
            }
        } catch {
            // Not the name of the copy, which nobody knows.
            throw StoreError(error.code, path: file, error.message.replacing(connection.path, with: file))
        }
    }

    private static func file(_ path: String) throws(StoreError) -> String {
        guard let identity = FileIdentity(path: path) else {
            throw StoreError(.notAccessible, path: path, "\(path) is not there; name a profile's folder or its file")
        }
        if identity.isRegular { return path }
        for place in places where FileIdentity(path: "\(path)/\(place)")?.isRegular == true {
            return "\(path)/\(place)"
        }
        let message = "\(path) has no cookies.sqlite and no Cookies in it; name a profile's folder or its file"
        throw StoreError(.unknownProfile, path: path, message)
    }
}
