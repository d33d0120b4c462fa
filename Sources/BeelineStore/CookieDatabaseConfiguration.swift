// SPDX-License-Identifier: Apache-2.0

/// The settings of a ``CookieDatabase``: when it writes, reads and gives up waiting.
public struct CookieDatabaseConfiguration: Sendable {
    /// Whether the session cookies of earlier sessions are restored; default false: they are deleted (RFC 6265bis §5.7). A
    /// session lasts while at least one process has the file open. A process that joins a session always gets its cookies.
    public var restoresSession = false

    /// The maximum delay before a change is written; default 1 second. The changes within it form one batch, and a crash of the
    /// process can lose that batch.
    public var writeDelay: Duration = .seconds(1)
    /// The number of changed cookies that are written without delay; default 500.
    package var writeBatchCount = 500
    /// The maximum number of changed cookies that are tracked while the file cannot be written; default 20,000. With more
    /// changes, the whole jar is compared with the file when it can be written again.
    package var maxPendingChanges = 20_000

    /// How often the file is checked for changes of other processes; default 1 second, at least 10 ms. Nil: only on
    /// writes and `refresh()`. A check of an unchanged file does not read from the disk.
    public var refreshInterval: Duration? = .seconds(1)
    /// How often changes of access times alone are written; default 1 minute. `flush()` and `close()` write them too.
    package var accessInterval: Duration = .seconds(60)

    /// How long to wait for the lock of another process; default 5 seconds.
    public var busyTimeout: Duration = .seconds(5)

    /// How long the file keeps a record of a deleted cookie for other processes; default 7 days. A process that has not checked
    /// the file for longer reads the whole file.
    package var deletionLifetime: Duration = .seconds(7 * 86_400)
    /// The maximum number of deletion records in the file; default 10,000.
    package var maxDeletions = 10_000

    /// Creates a configuration with the default values.
    public init() {}
}
