// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB

/// The operations on a cookie file. Callers provide the transaction.
struct CookieRows {
    /// The single row of the table `state`.
    struct State: Hashable, Sendable {
        /// The revision of the newest batch.
        var revision: Int64
        /// The newest revision whose deletion records may be missing.
        var pruned: Int64
        /// How often a process has opened the file alone.
        var openings: Int64
    }

    /// A cookie that was added, changed or deleted.
    struct Change: Hashable, Sendable {
        let key: CookieKey
        let updated: Int64
        /// The current cookie; nil if it was deleted.
        let cookie: Cookie?
    }

    private let db: Database
    /// The budget of each query.
    private let budget: ReadBudget

    init(_ db: Database, budget: ReadBudget = ReadBudget()) {
        self.db = db
        self.budget = budget
    }

    // MARK: Reading

    /// Returns the state. Throws for a damaged table.
    func state() throws -> State {
        guard let row = try Row.fetchOne(db, sql: "SELECT revision, pruned, openings FROM state WHERE id = 0") else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the table state is empty")
        }
        var reader = RowReader(row)
        guard let revision = reader.integer(), let pruned = reader.integer(), let openings = reader.integer() else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the table state holds no numbers")
        }
        // No real file reaches this revision, and the next revision must not overflow.
        guard (0...Int64.max / 2).contains(revision) else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the table state holds no number of a batch")
        }
        return State(revision: revision, pruned: pruned, openings: openings)
    }

    /// Returns the cookies of revisions after `revision` in creation order, and the number of invalid rows. Throws for more than
    /// ``ReadBudget`` allows.
    func cookies(after revision: Int64 = -1) throws -> (rows: [CookieRow], skipped: Int) {
        let sql = "SELECT \(CookieRow.columns) FROM cookie WHERE revision > ? ORDER BY created, id"
        var (rows, skipped): ([CookieRow], Int) = ([], 0)
        try db.forEachRow(sql, arguments: [revision], budget: budget) { row in
            if let row = CookieRow(&row) { rows.append(row) } else { skipped += 1 }
        }
        return (rows, skipped)
    }

    /// Returns the changes of revisions after `revision`. Throws for more than ``ReadBudget`` allows.
    func changes(after revision: Int64) throws -> [Change] {
        let sql = "SELECT \(CookieRow.keyColumns), updated FROM deletion WHERE revision > ?"
        var changes: [Change] = []
        try db.forEachRow(sql, arguments: [revision], budget: budget) { row in
            if let key = CookieKey(&row), let updated = row.integer() {
                changes.append(Change(key: key, updated: updated, cookie: nil))
            }
        }
        return changes
            + (try cookies(after: revision).rows.map {
                Change(key: CookieKey($0.cookie), updated: $0.updated, cookie: $0.cookie)
            })
    }

    /// Returns the time of the newest change in the file.
    func newestUpdate() throws -> Int64 {
        let sql =
            "SELECT max(ifnull((SELECT max(updated) FROM cookie), 0), ifnull((SELECT max(updated) FROM deletion), 0))"
        return try Int64.fetchOne(db, sql: sql) ?? 0
    }

    // MARK: Writing

    /// Stores a cookie and replaces the one with the same key.
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

    /// Deletes a cookie and records the deletion.
    func delete(_ key: CookieKey, updated: Int64, revision: Int64) throws {
        let sql = "DELETE FROM cookie WHERE \(Self.hasKey)"
        try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(key.arguments))
        let deletion =
            "INSERT OR REPLACE INTO deletion (\(CookieRow.keyColumns), updated, revision) VALUES (?, ?, ?, ?, ?, ?, ?)"
        try db.cachedStatement(sql: deletion).execute(
            arguments: StatementArguments(key.arguments + [updated, revision])
        )
    }

    /// Updates the access time of a cookie. The latest time wins.
    func touch(_ cookie: Cookie) throws {
        let time = cookie.lastAccessed.microseconds
        let sql = "UPDATE cookie SET accessed = ? WHERE \(Self.hasKey) AND accessed < ?"
        try db.cachedStatement(sql: sql).execute(
            arguments: StatementArguments([time] + CookieKey(cookie).arguments + [time])
        )
    }

    /// Sets the revision of the newest batch.
    func setRevision(_ revision: Int64) throws {
        try db.execute(sql: "UPDATE state SET revision = ?", arguments: [revision])
    }

    /// Counts an opening by a process that is alone.
    func countOpening() throws {
        try db.execute(sql: "UPDATE state SET openings = openings + 1")
    }

    /// Deletes the expired cookies without deletion records, because they expire in all processes.
    ///
    /// - Returns: The number of deleted cookies.
    func deleteExpired(at now: CookieTime) throws -> Int {
        try db.execute(sql: "DELETE FROM cookie WHERE expires <= ?", arguments: [now.microseconds])
        return db.changesCount
    }

    /// Shortens the life of cookies that expire after `limit`, as RFC 6265bis §5.5 does. Their times are from a clock that was
    /// ahead: without this, each opening would allow them the maximum age again. Only for a process that has the file alone.
    func limitExpiry(to limit: CookieTime) throws {
        let sql = "UPDATE cookie SET expires = ? WHERE expires > ?"
        try db.execute(sql: sql, arguments: [limit.microseconds, limit.microseconds])
    }

    /// Deletes cookies whose path is too long for a jar. Earlier versions kept such cookies, and many of them make the file too
    /// large to be read.
    ///
    /// - Returns: The number of deleted cookies.
    func deleteLongPaths() throws -> Int {
        try db.execute(sql: "DELETE FROM cookie WHERE length(path) > ?", arguments: [Cookie.maxPathOctets])
        return db.changesCount
    }

    /// Deletes the session cookies. Only for a process that has the file alone.
    ///
    /// - Returns: The number of deleted cookies.
    func deleteSession() throws -> Int {
        try db.execute(sql: "DELETE FROM cookie WHERE expires IS NULL")
        return db.changesCount
    }

    /// Prunes the deletion records before a time, and all but the newest `limit`.
    func forgetDeletions(before time: CookieTime, keeping limit: Int) throws {
        let sql = """
            SELECT max(revision) FROM deletion WHERE updated < ? OR revision <=
                (SELECT revision FROM deletion ORDER BY revision DESC LIMIT 1 OFFSET ?)
            """
        guard let last = try Int64.fetchOne(db, sql: sql, arguments: [time.microseconds, limit]) else { return }
        // Prune whole revisions, so that one number tells which are gone.
        try db.execute(sql: "DELETE FROM deletion WHERE revision <= ?", arguments: [last])
        try db.execute(sql: "UPDATE state SET pruned = max(pruned, ?)", arguments: [last])
    }

    private func forgetDeletion(of key: CookieKey) throws {
        let sql = "DELETE FROM deletion WHERE \(Self.hasKey)"
        try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(key.arguments))
    }

    private static let hasKey = "domain = ? AND is_host_only = ? AND path = ? AND partition = ? AND name = ?"
}
