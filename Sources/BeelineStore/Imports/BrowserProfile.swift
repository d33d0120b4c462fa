// SPDX-License-Identifier: Apache-2.0

public import CookieJar
import GRDB

/// Reads the cookies of browsers that store them in SQLite: Firefox, Chromium and their derivatives. It also reads the files of
/// ``CookieDatabase``.
///
/// The profile may be in use. Nothing in it is written, locked or opened by SQLite. The cookies are read from a private copy,
/// which includes the browser's write-ahead log and is deleted immediately.
///
/// ```swift
/// let found = try await BrowserProfile.cookies(at: "/home/me/.mozilla/firefox/x1y2z3.default")
/// jar.insert(found.cookies)
/// ```
public enum BrowserProfile {
    /// The maximum size of a copied file in octets: 1 GiB.
    package static let maxSize = 1 << 30

    /// The paths of cookie files relative to the profile's folder.
    private static let places = [
        "cookies.sqlite", "Network/Cookies", "Cookies", "Default/Network/Cookies", "Default/Cookies",
    ]

    /// Reads the cookies of a profile. Only the columns are checked; a jar validates the cookies that it receives.
    ///
    /// Cookies that cannot be read are reported with their row number: those encrypted by Chromium with a key of the system,
    /// and rows that are not cookies.
    ///
    /// - Parameters:
    ///   - path: The profile's folder, or its cookie file.
    ///   - container: The number of the Firefox container (`userContextId`) to read; default 0, no container. The cookies of
    ///     other containers, of private windows and of isolated first parties are skipped.
    /// - Throws: ``StoreError``: `.notAccessible`, `.unknownProfile`, `.damaged`, `.busy` if the browser writes without a
    ///   pause, `.cancelled`.
    public static func cookies(at path: String, container: Int = 0) async throws(StoreError) -> CookieImport {
        try await FileConnection.offPool { stop throws(StoreError) in try read(path, container: container, stop) }
    }

    private static func read(_ path: String, container: Int, _ stop: StopSignal) throws(StoreError) -> CookieImport {
        let file = try file(path)
        let copy = try DatabaseCopy(of: file, limit: maxSize, stop)
        defer { copy.remove() }
        let connection = try copy.connect()
        defer { try? connection.close() }
        do {
            return try connection.perform(stoppedBy: stop) { db in
                if try StoredCookies.isStored(in: db) { return try StoredCookies.read(db, of: file) }
                if let table = try BrowserTable(db, named: "moz_cookies") {
                    return try FirefoxCookies(table, version: try Schema.version(db), container: container).read(db)
                }
                if let table = try BrowserTable(db, named: "cookies"), table.columns.contains("host_key") {
                    return try ChromiumCookies(table).read(db)
                }
                let message = "\(file) has no cookie table of Firefox or Chromium; name a profile's folder"
                throw StoreError(.unknownProfile, path: file, message)
            }
        } catch {
            // Show the path of the profile instead of the copy.
            throw StoreError(error.code, path: file, error.message.replacing(connection.path, with: file))
        }
    }

    private static func file(_ path: String) throws(StoreError) -> String {
        guard let identity = FileIdentity(path: path) else {
            throw StoreError(.notAccessible, path: path, "\(path) does not exist; name a profile's folder or its file")
        }
        if identity.isRegular { return path }
        for place in places where FileIdentity(path: "\(path)/\(place)")?.isRegular == true {
            return "\(path)/\(place)"
        }
        let message = "\(path) has no cookies.sqlite and no Cookies in it; name a profile's folder or its file"
        throw StoreError(.unknownProfile, path: path, message)
    }
}
