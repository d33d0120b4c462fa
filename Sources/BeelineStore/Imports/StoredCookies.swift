// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB

/// Reads the cookies of one of this library's files from a copy. Does not disturb processes that have the file open, and ends
/// no session.
enum StoredCookies {
    /// Whether a database is one of this library's files.
    static func isStored(in db: Database) throws -> Bool {
        try Int64.fetchOne(db, sql: "PRAGMA application_id") == Int64(Schema.applicationID)
    }

    /// Reads the cookies of a copy of any schema version up to the current one.
    static func read(_ db: Database, of path: String) throws -> CookieImport {
        let version = try Schema.version(db)
        guard version <= Schema.current else {
            throw StoreError.newerVersion(version, supported: Schema.current, path: path)
        }
        try Schema.migrate(db)
        try Schema.check(db)
        var result = CookieImport()
        var number = 0
        try db.forEachRow("SELECT \(CookieRow.columns) FROM cookie ORDER BY created, id") { row in
            number += 1
            if let row = CookieRow(&row) {
                result.add(row.cookie, line: number)
            } else {
                result.skip(line: number, "a column is missing or of another type")
            }
        }
        return result
    }
}
