// SPDX-License-Identifier: Apache-2.0

import Dispatch
import GRDB

/// The one connection to a file. Its queue is a thread of its own, so no task waits for the disk.
struct Connection: Sendable {
    let path: String
    private let queue: DatabaseQueue

    /// Opens a file that exists.
    init(path: String, busyTimeout: Duration, isReadOnly: Bool = false) throws(StoreError) {
        self.path = path
        var configuration = Configuration()
        configuration.label = "beeline.store"
        configuration.readonly = isReadOnly
        configuration.foreignKeysEnabled = false
        // SQLite counts milliseconds in 32 bits.
        let busyTimeout = min(max(busyTimeout, .zero), .seconds(2_000_000))
        configuration.busyMode = .timeout(Double(busyTimeout.components.seconds) + busyTimeout.fraction)
        configuration.prepareDatabase { db in
            // A file may come from anywhere: it must not bring functions of its own, and cells are checked as they are read.
            try db.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
        }
        do {
            queue = try DatabaseQueue(path: path, configuration: configuration)
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// Makes the file fit for several processes and for sudden ends: a write-ahead log that is on the disk when a batch is
    /// called written. What is deleted is overwritten.
    func useLog() throws(StoreError) {
        try perform { db in
            guard try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL") == "wal" else {
                let message = "\(path): its file system cannot share memory between processes; keep it on a local disk"
                throw StoreError(.notAccessible, path: path, message)
            }
            try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON")
        }
    }

    /// Runs `body` on the queue, and waits for it; only for threads that may wait.
    func perform<Result>(_ body: (Database) throws -> Result) throws(StoreError) -> Result {
        do {
            return try queue.writeWithoutTransaction(body)
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// Runs `body` on the queue. It is run whether the task is cancelled or not, and what it has begun it ends.
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

    /// Closes the file. The last one to do so writes the log into the database and removes it.
    func close() throws(StoreError) {
        do {
            try queue.close()
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// Runs `body` where it may wait for the disk.
    static func offPool<Result: Sendable>(
        _ body: @escaping @Sendable () throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        let result: Swift.Result<Result, StoreError> = await withCheckedContinuation { continuation in
            DispatchQueue(label: "beeline.store.opening").async {
                do throws(StoreError) {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }
}

extension Database {
    /// Fails where a page, a row or an index is damaged.
    func checkIntegrity() throws {
        let verdict = try String.fetchOne(self, sql: "PRAGMA integrity_check(1)")
        guard verdict == "ok" else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: verdict ?? "it cannot be checked")
        }
    }
}

extension Database {
    /// Whether there is a table of this name. A view is none: its rows may take any time to compute, and need not end.
    func hasTable(_ name: String) throws -> Bool {
        let sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return try Int.fetchOne(self, sql: sql, arguments: [name]) != nil
    }

    /// Fails where a table is missing, and where there is a trigger, which would change what is written.
    func checkTables(_ names: [String]) throws {
        for name in names where try !hasTable(name) {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the table \(name) is missing")
        }
        if let trigger = try String.fetchOne(self, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger'") {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the trigger \(trigger) is none of its own")
        }
    }
}

extension Duration {
    /// What is beyond whole seconds, in seconds.
    fileprivate var fraction: Double { Double(components.attoseconds) / 1e18 }
}
