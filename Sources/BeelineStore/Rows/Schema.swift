// SPDX-License-Identifier: Apache-2.0

import GRDB

/// The tables of a file of cookies, and how each version came from the one before it.
///
/// A new file is made by the same steps that an old one goes through, so each step runs whenever a file is made.
enum Schema {
    /// Says in a file's head whose it is: "BeeC".
    static let applicationID: UInt32 = 0x4265_6543

    /// What makes version n of version n - 1, from version 1 on.
    private static let steps = [
        // Name and value are octets: nothing says that they are UTF-8. Times are microseconds since 1970; a cookie without
        // `expires` is a session cookie. `partition` is empty for a cookie that is not Partitioned.
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
        // Several processes at once. `revision` counts the batches that were written to the file: what is beyond the last
        // one that a process knows is new to it. `updated` decides between two changes of one cookie. `pruned` is the
        // newest revision whose deletions may be forgotten, `openings` counts who had the file alone.
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

    /// The version of a file.
    ///
    /// - Throws: `SQLITE_CORRUPT` for a number below zero, which no version has.
    static func version(_ db: Database) throws -> Int {
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard version >= 0 else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "\(version) is not a version of its tables")
        }
        return version
    }

    /// Makes a new file.
    static func create(_ db: Database) throws {
        try db.inTransaction(.immediate) {
            try db.execute(sql: "PRAGMA application_id = \(applicationID)")
            for version in 1...current { try step(db, to: version) }
            return .commit
        }
    }

    /// Brings a file to the current version, step by step: a crash leaves it between two.
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

    /// Checks that the tables of the current version are there.
    static func check(_ db: Database) throws { try db.checkTables(["cookie", "deletion", "state"]) }

    private static func step(_ db: Database, to version: Int) throws {
        try db.execute(sql: steps[version - 1])
        try db.execute(sql: "PRAGMA user_version = \(version)")
    }
}
