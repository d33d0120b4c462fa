// SPDX-License-Identifier: Apache-2.0

/// How a jar is kept on disk: when its changes are written, and for how long others are waited for.
public struct CookieDatabaseConfiguration: Sendable {
    /// Whether the session cookies of earlier sessions come back; default false: they are deleted, as RFC 6265bis §5.7
    /// has it. A session lasts while at least one process has the file open; one that joins it gets its cookies anyway.
    public var restoresSession = false

    /// How long a change waits at most until it is written; default 1 second. What is written within it is one batch, and
    /// is what a crash of the process can lose.
    public var writeDelay: Duration = .seconds(1)
    /// So many changed cookies are written without waiting; default 500.
    public var writeBatchCount = 500
    /// How many changed cookies are remembered one by one while the file cannot be written; default 20,000. Beyond it the
    /// whole jar is compared with the file when that can be written again.
    public var maximumPendingChanges = 20_000

    /// How often the file is looked at for changes of other processes; default each second, nil: only when something is
    /// written, and by `refresh()`. A look at a file that nobody has changed reads nothing from the disk.
    public var refreshInterval: Duration? = .seconds(1)
    /// How often the times of last access are written, which alone are not worth a batch; default each minute. They are
    /// also written by `flush()` and `close()`.
    public var accessInterval: Duration = .seconds(60)

    /// How long another process's lock is waited for; default 5 seconds.
    public var busyTimeout: Duration = .seconds(5)

    /// How long the file remembers that a cookie was deleted, so that other processes hear of it; default 7 days. One that
    /// has not looked for longer reads the whole file.
    public var deletionLifetime: Duration = .seconds(7 * 86_400)
    /// How many deletions the file remembers; default 10,000.
    public var maximumDeletions = 10_000

    /// A configuration with every default.
    public init() {}
}
