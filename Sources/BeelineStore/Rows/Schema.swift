// SPDX-License-Identifier: Apache-2.0

import GRDB

/// The tables of a cookie file and the migration steps between versions.
///
/// A new file runs all steps too, so each step is exercised whenever a file is created.
enum Schema {
    /// The application id in the file's header: "BeeC".
    static let applicationID: UInt32 = 0x4265_6543

    /// Step n migrates version n - 1 to version n, from version 1 on.
    private static let steps = [
        // Name and value are blobs because they may not be UTF-8. Times are microseconds since 1970. A cookie without `expires`
        // is a session cookie. `partition` is empty for an unpartitioned cookie.
        """
        CREATE TABLE cookie (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            domain TEXT NOT NULL,
            is_host_only INTEGER NOT NULL,
            path TEXT NOT NULL,
            partition TEXT NOT NULL,
            name BLOB NOT NULL,
            value BLOB NOT NULL,
            created INTEGER NOT NULL,
            accessed INTEGER NOT NULL,
            expires INTEGER,
            is_secure INTEGER NOT NULL,
            is_http_only INTEGER NOT NULL,
            same_site INTEGER NOT NULL,
            UNIQUE (domain, name, path, is_host_only, partition)
        ) STRICT;
        """,
        // For several processes. `revision` counts the written batches: rows with a higher revision than a process has seen are
        // new to it. `updated` decides between two changes of one cookie. `pruned` is the newest revision whose deletion
        // records may be missing. `openings` counts the processes that opened the file alone.
        """
        ALTER TABLE cookie ADD COLUMN updated INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE cookie ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX cookie_revision ON cookie (revision);
        CREATE TABLE deletion (
            domain TEXT NOT NULL,
            is_host_only INTEGER NOT NULL,
            path TEXT NOT NULL,
            partition TEXT NOT NULL,
            name BLOB NOT NULL,
            updated INTEGER NOT NULL,
            revision INTEGER NOT NULL,
            PRIMARY KEY (domain, name, path, is_host_only, partition)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX deletion_revision ON deletion (revision);
        CREATE TABLE state (
            id INTEGER PRIMARY KEY CHECK (id = 0),
            revision INTEGER NOT NULL,
            pruned INTEGER NOT NULL,
            openings INTEGER NOT NULL
        ) STRICT;
        INSERT INTO state VALUES (0, 0, 0, 0);
        """,
    ]

    /// The version that this library reads and writes.
    static var current: Int { steps.count }

    /// Returns the version of a file.
    ///
    /// - Throws: `SQLITE_CORRUPT` for a negative number, which is not a valid version.
    static func version(_ db: Database) throws -> Int {
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard version >= 0 else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "\(version) is not a version of its tables")
        }
        return version
    }

    /// Creates the tables in a new file.
    static func create(_ db: Database) throws {
        try db.inTransaction(.immediate) {
            try db.execute(sql: "PRAGMA application_id = \(applicationID)")
            for version in 1...current { try step(db, to: version) }
            return .commit
        }
    }

    /// Migrates a file to the current version. Each step is a transaction, so a crash leaves a valid version.
    static func migrate(_ db: Database) throws {
        var version = try version(db)
        while version < current {
            version += 1
            try db.inTransaction(.immediate) {
                try step(db, to: version)
                return .commit
            }
        }
    }

    /// Checks that the tables of the current version exist.
    static func check(_ db: Database) throws { try db.checkTables(["cookie", "deletion", "state"]) }

    private static func step(_ db: Database, to version: Int) throws {
        try db.execute(sql: steps[version - 1])
        try db.execute(sql: "PRAGMA user_version = \(version)")
    }
}
