// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB

/// The cookies of a file of this library, read from a copy: whoever has the file open is not disturbed, and no session ends.
enum StoredCookies {
    /// Whether a database is a file of this library.
    static func isStored(in db: Database) throws -> Bool {
        try Int64.fetchOne(db, sql: "PRAGMA application_id") == Int64(Schema.applicationID)
    }

    /// Reads the cookies of a copy, whatever version it has.
    static func read(_ db: Database, of path: String) throws -> CookieImport {
        let version = try Schema.version(db)
        guard version <= Schema.current else {
            let message = "\(path) has version \(version), and this library knows \(Schema.current); update the program"
            throw StoreError(.newerSchema, path: path, message)
        }
        try Schema.migrate(db)
        try Schema.check(db)
        var result = CookieImport()
        let cursor = try Row.fetchCursor(db, sql: "SELECT \(CookieRow.columns) FROM cookie ORDER BY created, id")
        var number = 0
        while let row = try cursor.next() {
            number += 1
            if let row = CookieRow(row) {
                result.add(row.cookie, line: number)
            } else {
                result.skip(line: number, "a column is missing or of another type")
            }
        }
        return result
    }
}
