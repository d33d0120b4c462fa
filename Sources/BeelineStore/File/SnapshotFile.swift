// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB
import LibC

/// An SQLite file of one table. Each save replaces the whole file atomically: a process that ends during a save leaves the old
/// file, and if two processes save, the later save wins. A damaged file is renamed with the time in its name. The files of other
/// programs and of newer library versions are not changed. Only the owner can read the file.
struct SnapshotFile: Sendable {
    /// The path as the caller gave it, for messages.
    let path: String
    /// The absolute path, so that later changes of the working directory have no effect.
    let place: String
    /// How long to wait for another process that reads or saves.
    let busyTimeout: Duration
    /// The application id in the file's header.
    let applicationID: UInt32
    /// The version of the schema.
    let version: Int
    /// The name of the table.
    let table: String
    /// The definition of the table, after its name.
    let columns: String
    /// The number of columns.
    let width: Int

    /// Reads the rows that a query returns; empty if the file does not exist or was damaged. A message for the user says that it
    /// was damaged.
    ///
    /// - Parameters:
    ///   - end: The end of the query, after the name of the table.
    ///   - limit: The value of the query's only parameter.
    ///   - make: Makes an item from a row; nil for a row with values of other types, which is skipped.
    /// - Throws: ``StoreError``: `.notOurs`, `.newerSchema`, `.notAccessible`, `.busy`.
    func read<Item: Sendable>(
        _ end: String,
        limit: Int,
        make: @escaping @Sendable (inout RowReader) -> Item?
    ) async throws(StoreError) -> (items: [Item], message: String?) {
        try await FileConnection.offPool { () throws(StoreError) in
            try locked { file throws(StoreError) in try rows(of: file, end, limit: limit, make: make) }
        }
    }

    private func rows<Item>(
        of file: DatabaseFile,
        _ end: String,
        limit: Int,
        make: (inout RowReader) -> Item?
    ) throws(StoreError) -> (items: [Item], message: String?) {
        var message: String?
        let items = try checked(file, onDamage: { message = $0 }) { db in
            var items: [Item] = []
            try db.forEachRow("SELECT * FROM \(table) \(end)", arguments: [limit]) { row in
                if let item = make(&row) { items.append(item) }
            }
            return items
        }
        return (items ?? [], message)
    }

    /// Opens and checks the file, and runs `body`. Nil if the file does not exist or is damaged. A damaged file is renamed.
    ///
    /// - Parameter onDamage: Receives a message for the user about a file that was damaged.
    private func checked<Result>(
        _ file: DatabaseFile,
        onDamage: (String) -> Void = { _ in },
        _ body: (Database) throws -> Result
    ) throws(StoreError) -> Result? {
        do {
            guard try isOurs(file) else { return nil }
            let connection = try FileConnection(path: file.path, busyTimeout: busyTimeout, isReadOnly: true)
            defer { try? connection.close() }
            return try connection.perform { db in
                try check(db)
                return try body(db)
            }
        } catch {
            // The header identifies our file, so a missing table means damage.
            guard error.code == .damaged || error.isOfSchema else { throw error }
            let place = try file.setAside(at: Int64(time(nil)))
            onDamage("\(path) is damaged; it is kept as \(place)")
            return nil
        }
    }

    /// Replaces the file by one with these rows.
    ///
    /// - Parameter values: Returns the values of an item's columns, in order.
    /// - Throws: ``StoreError``, as ``read(_:limit:make:)``, and `.diskFull`.
    func replace<Item: Sendable>(
        with items: [Item],
        values: @escaping @Sendable (Item) -> StatementArguments
    ) async throws(StoreError) {
        try await FileConnection.offPool { () throws(StoreError) in
            try locked { file throws(StoreError) in try write(items, to: file, values: values) }
        }
    }

    private func write<Item>(
        _ items: [Item],
        to file: DatabaseFile,
        values: (Item) -> StatementArguments
    ) throws(StoreError) {
        // A file of another program or of a newer version is not replaced.
        _ = try checked(file) { _ in }
        let schema = """
            PRAGMA application_id = \(applicationID);
            PRAGMA user_version = \(version);
            CREATE TABLE \(table) \(columns);
            """
        let marks = repeatElement("?", count: width).joined(separator: ", ")
        try file.create { draft throws(StoreError) in
            let connection = try FileConnection(path: draft, busyTimeout: busyTimeout)
            defer { try? connection.close() }
            try connection.perform { db in
                try db.inTransaction(.immediate) {
                    try db.execute(sql: schema)
                    let insert = try db.makeStatement(sql: "INSERT OR REPLACE INTO \(table) VALUES (\(marks))")
                    for item in items { try insert.execute(arguments: values(item)) }
                    return .commit
                }
            }
        }
    }

    /// Runs `body` while no other process reads or writes the file.
    private func locked<Result>(_ body: (DatabaseFile) throws(StoreError) -> Result) throws(StoreError) -> Result {
        let file = DatabaseFile(place)
        let deadline = ContinuousClock.now + busyTimeout.asWait
        while true {
            let (lock, hold) = try FileLock.acquire(file.lock, until: deadline)
            guard hold == .alone else {
                // Two processes that lock at the same moment share the lock. Both release it and try again.
                lock.close()
                guard ContinuousClock.now < deadline else {
                    throw StoreError(.busy, path: path, "\(path): another process holds its lock; end it, or try again")
                }
                usleep(2000)
                continue
            }
            defer { lock.release() }
            return try body(file)
        }
    }

    /// Whether the file exists. Throws if it is not such a file.
    private func isOurs(_ file: DatabaseFile) throws(StoreError) -> Bool {
        switch try file.kind() {
        case .absent: return false
        case .database(applicationID): return true
        case .database:
            throw StoreError(.notOurs, path: path, "\(path) is another program's database; name another file")
        case .unknown(applicationID): throw StoreError(.damaged, path: path, "\(path) is not a database")
        case .unknown:
            let message =
                "\(path) is not a database, and does not look like a damaged one; name another file, or move it away"
            throw StoreError(.notOurs, path: path, message)
        }
    }

    private func check(_ db: Database) throws {
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard found <= version else { throw StoreError.newerVersion(found, supported: version, path: path) }
        try db.checkIntegrity()
        try db.checkTables([table])
    }
}
