// SPDX-License-Identifier: Apache-2.0

public import CookieJar
import NIOConcurrencyHelpers

/// A cookie jar that is kept in an SQLite file.
///
/// `open` loads all cookies into the jar, so lookups never wait for the disk. Changes of the jar are written in the background
/// in batches: if the process is killed, at most the last batch is lost, and the file stays intact. Several processes can open
/// one file and see each other's cookies. If two processes change the same cookie, the newer change wins.
///
/// ```swift
/// let store = try await CookieDatabase.open("/home/me/cookies.sqlite")
/// let client = try BeelineClient(jar: store.jar)
/// …
/// try await store.close()  // writes what is not written yet
/// ```
///
/// Names and values are stored as their exact octets, with all attributes. Only the owner can read the file, its write-ahead
/// log and its shared-memory index.
///
/// Keep the store as long as the jar is in use: the jar does not keep it. Call ``close()`` when both are no longer needed. A
/// store that is released without it writes the changes so far and closes its file soon after, but errors are not reported, and
/// later changes of the jar are not written.
public final class CookieDatabase: Sendable {
    /// The jar. It stays usable in memory after the store is closed.
    public let jar: CookieJar
    /// The path of the file.
    public let path: String
    /// The result of opening the file.
    public let report: CookieDatabaseReport
    /// The source of jar changes that came from other processes through the file.
    package let changeSource: ChangeSource

    private let connection: FileConnection
    private let exchange: CookieExchange
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
        // `close()` or `deinit` ends this task. The task does not retain the store.
        self.writer = Task { await writer.run() }
    }

    deinit { writer.cancel() }

    /// Opens a file, creates it if it is missing, and fills a jar from it.
    ///
    /// A damaged file is renamed with the time in its name and replaced by an empty one; `report` tells where it is. The file
    /// of an older version is migrated.
    ///
    /// - Parameters:
    ///   - path: The file. Its directory must be writable, because SQLite creates files beside it.
    ///   - configuration: The times of writes and the handling of the last session.
    ///   - jar: The jar's limits and policy. All processes that share a file should use the same, because the smallest limits
    ///     apply to the file.
    ///   - clock: Returns the current time; default the system's clock.
    /// - Throws: ``StoreError``: `.notAccessible`, `.notOurs` for a file that may be another program's (it is not changed),
    ///   `.newerSchema`, `.inUse`, `.busy`, `.damaged` while another process has the damaged file open.
    public static func open(
        _ path: String,
        configuration: CookieDatabaseConfiguration = CookieDatabaseConfiguration(),
        jar: CookieJarConfiguration = CookieJarConfiguration(),
        clock: @escaping @Sendable () -> CookieTime = { .now }
    ) async throws(StoreError) -> CookieDatabase {
        try await open(path, configuration: configuration, jar: jar, clock: clock, timer: ContinuousClock())
    }

    /// - Parameter timer: The clock of the write schedule.
    package static func open<C: Clock>(
        _ path: String,
        configuration: CookieDatabaseConfiguration,
        jar: CookieJarConfiguration = CookieJarConfiguration(),
        clock: @escaping @Sendable () -> CookieTime,
        timer: C
    ) async throws(StoreError) -> CookieDatabase where C.Duration == Duration {
        let opening = FileOpening(path: path, configuration: configuration, jar: jar, clock: clock)
        let opened = try await FileConnection.offPool { () throws(StoreError) in try opening.run() }
        return CookieDatabase(opened, configuration: configuration, clock: timer)
    }

    /// The error of the last background write; nil if it succeeded. Failed writes are retried, and their changes stay in memory
    /// until then.
    public var lastFailure: StoreError? { failure.withLockedValue { $0 } }

    /// Writes all changes of the jar before this call, including access times, and reads the changes of other processes. When
    /// it returns, the changes survive the end of the process, and a power failure if the disk honours sync requests.
    ///
    /// - Throws: ``StoreError``. Changes that could not be written are retried.
    public func flush() async throws(StoreError) {
        try checkOpen()
        try await connection.perform { [exchange] in try exchange.write($0, withAccess: true) }
    }

    /// Reads the changes of other processes now, without waiting for `refreshInterval`.
    public func refresh() async throws(StoreError) {
        try checkOpen()
        try await connection.perform { [exchange] in try exchange.look($0) }
    }

    /// Writes the remaining changes and closes the file. Later calls wait for the first and have the same result.
    ///
    /// - Throws: ``StoreError`` if the last batch could not be written. The file is closed even then.
    public func close() async throws(StoreError) {
        isClosed.withLockedValue { $0 = true }
        writer.cancel()
        try await writer.value.get()
    }

    private func checkOpen() throws(StoreError) {
        guard !isClosed.withLockedValue({ $0 }) else {
            throw StoreError(.closed, path: path, "\(path) was closed; open it again")
        }
    }
}
