// SPDX-License-Identifier: Apache-2.0

import Dispatch
import GRDB
import GRDBSQLite

/// The only connection to a file. It has its own queue, so that tasks do not block on the disk.
struct FileConnection: Sendable {
    /// The maximum size of a value and of a row in octets. Cookies and answers are far smaller, but a file can contain
    /// an expression whose value has a gigabyte.
    static let maxLength = 1 << 20
    /// The number of steps of SQLite's virtual machine between two checks of a ``StopSignal``; about a millisecond.
    private static let stepsBetweenChecks: CInt = 10_000

    let path: String
    private let queue: DatabaseQueue

    /// Opens an existing file.
    init(path: String, busyTimeout: Duration, isReadOnly: Bool = false) throws(StoreError) {
        self.path = path
        var configuration = Configuration()
        configuration.label = "beeline.store"
        configuration.readonly = isReadOnly
        configuration.foreignKeysEnabled = false
        // SQLite stores milliseconds in 32 bits.
        let busyTimeout = min(max(busyTimeout, .zero), .seconds(2_000_000))
        configuration.busyMode = .timeout(busyTimeout / .seconds(1))
        configuration.prepareDatabase { db in
            // The file is untrusted: disable its functions and check cells on reads.
            try db.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
            sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_LENGTH, CInt(Self.maxLength))
        }
        do {
            queue = try LockedFiles.whileOpening { try DatabaseQueue(path: path, configuration: configuration) }
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// Sets up the file for several processes and for crashes: a write-ahead log that is synced before a batch counts as
    /// written. Deleted content is overwritten.
    func useLog() throws(StoreError) {
        try perform { db in
            guard try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL") == "wal" else {
                let message = "\(path): its file system cannot share memory between processes; keep it on a local disk"
                throw StoreError(.notAccessible, path: path, message)
            }
            try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON")
        }
    }

    /// Runs `body` on the queue and blocks until it ends. Only for threads that may block.
    func perform<Result>(_ body: (Database) throws -> Result) throws(StoreError) -> Result {
        do {
            return try queue.writeWithoutTransaction(body)
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// Runs `body` on the queue and blocks until it ends. After `stop`, the running statement fails.
    func perform<Result>(
        stoppedBy stop: StopSignal,
        _ body: (Database) throws -> Result
    ) throws(StoreError) -> Result {
        try stop.check(path)
        do {
            return try perform { db in
                // SQLite calls it only while `body` runs statements, and `body` runs while `stop` is retained.
                let context = Unmanaged.passUnretained(stop).toOpaque()
                let isStopped: @convention(c) (UnsafeMutableRawPointer?) -> CInt = { context in
                    context.map { Unmanaged<StopSignal>.fromOpaque($0).takeUnretainedValue().isStopped } == true ? 1 : 0
                }
                sqlite3_progress_handler(db.sqliteConnection, Self.stepsBetweenChecks, isStopped, context)
                defer { sqlite3_progress_handler(db.sqliteConnection, 0, nil, nil) }
                return try withExtendedLifetime(stop) { try body(db) }
            }
        } catch {
            try stop.check(path)
            throw error
        }
    }

    /// Runs `body` on the queue. Cancellation of the task does not stop it.
    func perform<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws(StoreError) -> Result {
        let path = path
        let result: Swift.Result<Result, StoreError> = await withCheckedContinuation { continuation in
            queue.asyncWriteWithoutTransaction { db in
                continuation.resume(returning: Swift.Result { try body(db) }.mapError { StoreError($0, path: path) })
            }
        }
        return try result.get()
    }

    /// Closes the file. The last connection to close checkpoints and removes the log.
    func close() throws(StoreError) {
        do {
            try queue.close()
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// Runs `body` on a thread that may block on the disk.
    static func offPool<Result: Sendable>(
        _ body: @escaping @Sendable () throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        let result: Swift.Result<Result, StoreError> = await withCheckedContinuation { continuation in
            DispatchQueue(label: "beeline.store.opening").async {
                continuation.resume(returning: Swift.Result(catching: body))
            }
        }
        return try result.get()
    }

    /// Runs `body` on a thread that may block on the disk, with a signal that is set when the task is cancelled.
    static func offPool<Result: Sendable>(
        stopping body: @escaping @Sendable (StopSignal) throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        let stop = StopSignal()
        let result: Swift.Result<Result, StoreError> = await withTaskCancellationHandler {
            do throws(StoreError) {
                return .success(try await offPool { () throws(StoreError) in try body(stop) })
            } catch {
                return .failure(error)
            }
        } onCancel: {
            stop.stop()
        }
        return try result.get()
    }
}

extension Database {
    /// Throws if a page, a row or an index is damaged.
    func checkIntegrity() throws {
        let verdict = try String.fetchOne(self, sql: "PRAGMA integrity_check(1)")
        guard verdict == "ok" else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: verdict ?? "it cannot be checked")
        }
    }

    /// Whether a table of this name exists. Does not accept a view, whose rows could take unlimited time to compute, a virtual
    /// table, which may read from a view, or a table with computed columns, whose values take no space in the file.
    func hasTable(_ name: String) throws -> Bool {
        let sql = """
            SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? AND sql LIKE 'CREATE TABLE %'
                AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(sqlite_master.name) WHERE hidden <> 0)
            """
        return try Int.fetchOne(self, sql: sql, arguments: [name]) != nil
    }

    /// Throws if a table is missing or a trigger exists, because a trigger would change what is written.
    func checkTables(_ names: [String]) throws {
        for name in names where try !hasTable(name) {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the table \(name) is missing")
        }
        if let trigger = try String.fetchOne(self, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger'") {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the trigger \(trigger) does not belong to it")
        }
    }
}
