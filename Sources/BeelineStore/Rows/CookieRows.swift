// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB

/// The rows of a file of cookies: each operation is one statement, within a transaction of the caller's.
struct CookieRows {
    /// The one row of the table `state`.
    struct State: Hashable, Sendable {
        /// The newest batch.
        var revision: Int64
        /// The newest batch whose deletions may be forgotten.
        var pruned: Int64
        /// How often somebody had the file alone.
        var openings: Int64
    }

    /// A cookie that came, changed or went.
    struct Change: Hashable, Sendable {
        let key: CookieKey
        let updated: Int64
        /// The cookie as it is now; nil: it went.
        let cookie: Cookie?
    }

    private let db: Database

    init(_ db: Database) { self.db = db }

    // MARK: Reading

    /// The state; a file without one is damaged.
    func state() throws -> State {
        guard let row = try Row.fetchOne(db, sql: "SELECT revision, pruned, openings FROM state WHERE id = 0") else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the table state is empty")
        }
        var reader = RowReader(row)
        guard let revision = reader.integer(), let pruned = reader.integer(), let openings = reader.integer() else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the table state holds no numbers")
        }
        // No file is written so often: what is beyond leaves no room for the next batch.
        guard (0...Int64.max / 2).contains(revision) else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the table state holds no number of a batch")
        }
        return State(revision: revision, pruned: pruned, openings: openings)
    }

    /// The cookies of revisions after `revision` in the order of their creation, and how many rows are none.
    func cookies(after revision: Int64 = -1) throws -> (rows: [CookieRow], skipped: Int) {
        let sql = "SELECT \(CookieRow.columns) FROM cookie WHERE revision > ? ORDER BY created, id"
        let cursor = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: [revision])
        var (rows, skipped): ([CookieRow], Int) = ([], 0)
        while let row = try cursor.next() {
            if let row = CookieRow(row) { rows.append(row) } else { skipped += 1 }
        }
        return (rows, skipped)
    }

    /// What came, changed and went in revisions after `revision`.
    func changes(after revision: Int64) throws -> [Change] {
        let sql = "SELECT \(CookieRow.keyColumns), updated FROM deletion WHERE revision > ?"
        let cursor = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: [revision])
        var changes: [Change] = []
        while let row = try cursor.next() {
            var reader = RowReader(row)
            guard let key = CookieKey(&reader), let updated = reader.integer() else { continue }
            changes.append(Change(key: key, updated: updated, cookie: nil))
        }
        return changes
            + (try cookies(after: revision).rows.map {
                Change(key: CookieKey($0.cookie), updated: $0.updated, cookie: $0.cookie)
            })
    }

    /// The time of the newest change in the file.
    func newestUpdate() throws -> Int64 {
        let sql =
            "SELECT max(ifnull((SELECT max(updated) FROM cookie), 0), ifnull((SELECT max(updated) FROM deletion), 0))"
        return try Int64.fetchOne(db, sql: sql) ?? 0
    }

    // MARK: Writing

    /// Stores a cookie in the place of the one with its key.
    func store(_ row: CookieRow) throws {
        try forgetDeletion(of: CookieKey(row.cookie))
        let sql = """
            INSERT INTO cookie (\(CookieRow.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (domain, name, path, is_host_only, partition) DO UPDATE SET
                value = excluded.value, created = excluded.created, accessed = excluded.accessed,
                expires = excluded.expires, is_secure = excluded.is_secure, is_http_only = excluded.is_http_only,
                same_site = excluded.same_site, updated = excluded.updated, revision = excluded.revision
            """
        try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(row.arguments))
    }

    /// Deletes a cookie, and keeps in mind that it was deleted.
    func delete(_ key: CookieKey, updated: Int64, revision: Int64) throws {
        let sql = "DELETE FROM cookie WHERE \(Self.hasKey)"
        try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(key.arguments))
        let deletion =
            "INSERT OR REPLACE INTO deletion (\(CookieRow.keyColumns), updated, revision) VALUES (?, ?, ?, ?, ?, ?, ?)"
        try db.cachedStatement(sql: deletion).execute(
            arguments: StatementArguments(key.arguments + [updated, revision])
        )
    }

    /// Notes when a cookie was sent last; the latest time counts, whoever writes it.
    func touch(_ cookie: Cookie) throws {
        let time = cookie.lastAccessed.microseconds
        let sql = "UPDATE cookie SET accessed = ? WHERE \(Self.hasKey) AND accessed < ?"
        try db.cachedStatement(sql: sql).execute(
            arguments: StatementArguments([time] + CookieKey(cookie).arguments + [time])
        )
    }

    /// Notes that a batch was written.
    func setRevision(_ revision: Int64) throws {
        try db.execute(sql: "UPDATE state SET revision = ?", arguments: [revision])
    }

    /// Notes that somebody has the file alone.
    func countOpening() throws {
        try db.execute(sql: "UPDATE state SET openings = openings + 1")
    }

    /// Deletes what has expired. Nobody needs to hear of it: it has expired everywhere.
    ///
    /// - Returns: How many cookies it was.
    func deleteExpired(at now: CookieTime) throws -> Int {
        try db.execute(sql: "DELETE FROM cookie WHERE expires <= ?", arguments: [now.microseconds])
        return db.changesCount
    }

    /// Deletes the session cookies, of which nobody else has any.
    ///
    /// - Returns: How many they were.
    func deleteSession() throws -> Int {
        try db.execute(sql: "DELETE FROM cookie WHERE expires IS NULL")
        return db.changesCount
    }

    /// Forgets deletions before a time, and all but the newest `limit`.
    func forgetDeletions(before time: CookieTime, keeping limit: Int) throws {
        let sql = """
            SELECT max(revision) FROM deletion WHERE updated < ? OR revision <=
                (SELECT revision FROM deletion ORDER BY revision DESC LIMIT 1 OFFSET ?)
            """
        guard let last = try Int64.fetchOne(db, sql: sql, arguments: [time.microseconds, limit]) else { return }
        // By revision, so that one number says which of them are gone.
        try db.execute(sql: "DELETE FROM deletion WHERE revision <= ?", arguments: [last])
        try db.execute(sql: "UPDATE state SET pruned = max(pruned, ?)", arguments: [last])
    }

    private func forgetDeletion(of key: CookieKey) throws {
        let sql = "DELETE FROM deletion WHERE \(Self.hasKey)"
        try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(key.arguments))
    }

    private static let hasKey = "domain = ? AND is_host_only = ? AND path = ? AND partition = ? AND name = ?"
}
