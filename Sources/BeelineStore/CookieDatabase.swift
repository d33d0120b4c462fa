// SPDX-License-Identifier: Apache-2.0

public import CookieJar
import NIOConcurrencyHelpers

/// A jar that is kept in an SQLite file.
///
/// All cookies are in the jar when `open` returns, and look-ups never wait for the disk. What happens to the jar is written
/// behind it in batches: a process that is killed loses at most the last one, and never the file. Several processes may
/// have one file open and see each other's cookies; of two changes of one cookie the newer one counts.
///
/// ```swift
/// let store = try await CookieDatabase.open("/home/me/cookies.sqlite")
/// let client = BeelineClient(jar: store.jar)
/// …
/// try await store.close()  // writes what is not written yet
/// ```
///
/// Names and values are kept as the octets that they are, with all attributes. The file, its log and its index of shared
/// memory can be read by their owner only. Whoever opens a file closes it: a store that is just forgotten closes itself
/// soon after, and nobody hears whether that went well.
public final class CookieDatabase: Sendable {
    /// The jar. It stays usable after the store was closed, and is then in memory only.
    public let jar: CookieJar
    /// The file.
    public let path: String
    /// What was found when the file was opened.
    public let report: CookieDatabaseReport
    /// The mark of those changes of the jar that came from other processes by way of the file.
    public let changeSource: ChangeSource

    private let connection: Connection
    private let exchange: Exchange
    private let isClosed = NIOLockedValueBox(false)
    private let failure = NIOLockedValueBox<StoreError?>(nil)
    private let writer: Task<Result<Void, StoreError>, Never>

    init<C: Clock>(_ opened: OpenedFile, configuration: CookieDatabaseConfiguration, clock: C)
    where C.Duration == Duration {
        jar = opened.exchange.jar
        path = opened.connection.path
        report = opened.report
        changeSource = opened.recorder.source
        connection = opened.connection
        exchange = opened.exchange
        let writer = Writer(
            connection: opened.connection,
            exchange: opened.exchange,
            recorder: opened.recorder,
            lock: opened.lock,
            schedule: WriteSchedule(configuration),
            clock: clock,
            failure: failure
        )
        // Ended by `close()` or `deinit`; it holds nothing of the store itself.
        self.writer = Task { await writer.run() }
    }

    deinit { writer.cancel() }

    /// Opens a file, which is made if there is none, and fills a jar from it.
    ///
    /// A damaged file is set aside under a name with the time, and an empty one takes its place; `report` says so. An older
    /// version's file is migrated.
    ///
    /// - Parameters:
    ///   - path: The file. Its directory must be writable, for SQLite keeps files beside it.
    ///   - configuration: When changes are written, and whether the last session comes back.
    ///   - jar: The jar's bounds and policy. All who share a file should have the same: the smallest jar decides what stays.
    ///   - clock: What says the time; default the system's clock.
    /// - Throws: ``StoreError``: `.notAccessible`, `.notOurs` for a file that may be another program's (it is not touched),
    ///   `.newerSchema`, `.inUse`, `.busy`, `.damaged` while another process has the damaged file open.
    public static func open(
        _ path: String,
        configuration: CookieDatabaseConfiguration = CookieDatabaseConfiguration(),
        jar: CookieJarConfiguration = CookieJarConfiguration(),
        clock: @escaping @Sendable () -> CookieTime = { .now }
    ) async throws(StoreError) -> CookieDatabase {
        try await open(path, configuration: configuration, jar: jar, clock: clock, timer: ContinuousClock())
    }

    /// - Parameter timer: What decides when to write.
    package static func open<C: Clock>(
        _ path: String,
        configuration: CookieDatabaseConfiguration,
        jar: CookieJarConfiguration = CookieJarConfiguration(),
        clock: @escaping @Sendable () -> CookieTime,
        timer: C
    ) async throws(StoreError) -> CookieDatabase where C.Duration == Duration {
        let opening = FileOpening(path: path, configuration: configuration, jar: jar, clock: clock)
        let opened = try await Connection.offPool { () throws(StoreError) in try opening.run() }
        return CookieDatabase(opened, configuration: configuration, clock: timer)
    }

    /// Why the newest batch could not be written behind the jar; nil where it could. It is tried again, and what it holds
    /// stays in memory meanwhile.
    public var lastFailure: StoreError? { failure.withLockedValue { $0 } }

    /// Writes what has happened to the jar before this call, the times of last access too, and takes over what other
    /// processes have written. When it returns, all of it outlives the process, and the machine as far as the disk keeps
    /// its word.
    ///
    /// - Throws: ``StoreError``; what could not be written is tried again.
    public func flush() async throws(StoreError) {
        try checkOpen()
        try await connection.perform { [exchange] in try exchange.write($0, withAccess: true) }
    }

    /// Takes over what other processes have written, without waiting for `refreshInterval`.
    public func refresh() async throws(StoreError) {
        try checkOpen()
        try await connection.perform { [exchange] in try exchange.look($0) }
    }

    /// Writes what is not written yet and closes the file. Later calls wait for the first, and end as it does.
    ///
    /// - Throws: ``StoreError`` where the last batch could not be written. The file is closed nevertheless.
    public func close() async throws(StoreError) {
        isClosed.withLockedValue { $0 = true }
        writer.cancel()
        try await writer.value.get()
    }

    private func checkOpen() throws(StoreError) {
        guard !isClosed.withLockedValue({ $0 }) else {
            throw StoreError(.closed, path: path, "\(path) was closed; open it anew")
        }
    }
}
