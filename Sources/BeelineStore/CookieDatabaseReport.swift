// SPDX-License-Identifier: Apache-2.0

/// What was found when a file of cookies was opened.
public struct CookieDatabaseReport: Hashable, Sendable {
    /// How many cookies came into the jar.
    public internal(set) var loaded = 0
    /// How many rows are not in the jar, because they are no cookies that it can hold. They stay in the file until their
    /// time is over.
    public internal(set) var skipped = 0
    /// How many cookies were more than the jar holds: they went, from the file too.
    public internal(set) var dropped = 0
    /// How many expired cookies were deleted.
    public internal(set) var expired = 0
    /// How many session cookies of an earlier session were deleted.
    public internal(set) var endedSession = 0
    /// Whether another process, or another store of this one, had the file open already.
    public internal(set) var isShared = false
    /// The schema version that the file had, where it was brought to the current one; else nil.
    public internal(set) var migratedFrom: Int?
    /// Where a damaged file was put, whose place an empty one took; else nil.
    public internal(set) var setAside: String?
    /// What its user should know, one line each; empty where all was well.
    public internal(set) var messages: [String] = []
}
