// SPDX-License-Identifier: Apache-2.0

/// The result of opening a cookie database.
public struct CookieDatabaseReport: Hashable, Sendable {
    /// The number of cookies loaded into the jar.
    public internal(set) var loaded = 0
    /// The number of rows that are not valid cookies for the jar. They stay in the file until they expire, except cookies with a
    /// path that is too long, which are deleted.
    public internal(set) var skipped = 0
    /// The number of cookies beyond the jar's limits. They are deleted from the file too.
    public internal(set) var dropped = 0
    /// The number of expired cookies that were deleted.
    public internal(set) var expired = 0
    /// The number of session cookies of an earlier session that were deleted.
    public internal(set) var endedSession = 0
    /// Whether another process, or another store of this process, had the file open.
    public internal(set) var isShared = false
    /// The earlier schema version of a migrated file; nil without a migration.
    public internal(set) var migratedFrom: Int?
    /// The new path of a damaged file that was replaced by an empty one; nil otherwise.
    public internal(set) var setAside: String?
    /// Messages for the user, one line each; empty without problems.
    public internal(set) var messages: [String] = []
}
