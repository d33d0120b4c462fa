// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB
public import HTTPDNS

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Keeps a resolver's answers in an SQLite file, so that a new process can send its first requests without querying an
/// upstream.
///
/// ```swift
/// configuration.cache.store = AnswerDatabase(path: "answers.sqlite")
/// ```
///
/// The file is a cache. Each save replaces the whole file atomically: a process that ends during a save leaves the old file,
/// and if two processes save, the later save wins. A damaged file is renamed with the time in its name. The files of other
/// programs and of newer library versions are not changed. Only the owner can read the file.
public struct AnswerDatabase: AnswerStore {
    /// The path of the file, as given to the initializer.
    package let path: String
    /// How long to wait for another process that is saving.
    package let busyTimeout: Duration
    /// The maximum number of answers to read and write. The newest are kept.
    package let maxAnswers: Int

    /// The application id in the file's header: "BeeA".
    private static let applicationID: UInt32 = 0x4265_6541
    /// The version of the schema.
    private static let version = 1

    /// The absolute path, so that later changes of the working directory have no effect.
    let place: String

    /// Creates a store for a file. The first save creates the file.
    ///
    /// - Parameters:
    ///   - path: The file. Its directory must be writable.
    ///   - busyTimeout: How long to wait for another process that is saving. Default: 5 s.
    ///   - maxAnswers: The maximum number of answers to read and write. Default: 100,000.
    public init(path: String, busyTimeout: Duration = .seconds(5), maxAnswers: Int = 100_000) {
        self.path = path
        self.busyTimeout = busyTimeout
        self.maxAnswers = max(0, maxAnswers)
        place = DatabaseFile.absolute(path)
    }

    /// Returns the answers of the last save; empty if the file does not exist or was damaged. A damaged file is renamed.
    ///
    /// - Throws: ``StoreError``: `.notOurs`, `.newerSchema`, `.notAccessible`, `.busy`.
    public func load() async throws -> [StoredAnswer] {
        try await FileConnection.offPool { () throws(StoreError) in try locked(read) }
    }

    /// Replaces the saved answers.
    ///
    /// - Throws: ``StoreError``, as ``load()``, and `.diskFull`.
    public func save(_ answers: [StoredAnswer]) async throws {
        try await FileConnection.offPool { () throws(StoreError) in
            try locked { file throws(StoreError) in try write(answers, to: file) }
        }
    }

    /// Runs `body` while no other process reads or writes the file.
    private func locked<Result>(
        _ body: (DatabaseFile) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
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

    // MARK: Reading

    private func read(_ file: DatabaseFile) throws(StoreError) -> [StoredAnswer] {
        do {
            guard try isOurs(file) else { return [] }
            let connection = try FileConnection(path: file.path, busyTimeout: busyTimeout, isReadOnly: true)
            defer { try? connection.close() }
            return try connection.perform { db in
                try check(db)
                let rows = try Row.fetchCursor(
                    db,
                    sql: "SELECT * FROM answer ORDER BY said DESC LIMIT ?",
                    arguments: [maxAnswers]
                )
                var answers: [StoredAnswer] = []
                var budget = ReadBudget()
                while let row = try rows.next() {
                    var reader = RowReader(row)
                    if let answer = StoredAnswer(&reader) { answers.append(answer) }
                    try budget.take(reader.size)
                }
                return answers
            }
        } catch {
            // The header identifies our file, so a missing table means damage.
            guard error.code == .damaged || error.isOfSchema else { throw error }
            _ = try file.setAside(at: Int64(time(nil)))
            return []
        }
    }

    /// Whether the file exists. Throws if it is not an answer database.
    private func isOurs(_ file: DatabaseFile) throws(StoreError) -> Bool {
        switch try file.kind() {
        case .absent: return false
        case .database(Self.applicationID): return true
        case .database:
            throw StoreError(.notOurs, path: path, "\(path) is another program's database; name another file")
        case .unknown(Self.applicationID): throw StoreError(.damaged, path: path, "\(path) is not a database")
        case .unknown:
            let message =
                "\(path) is not a database, and does not look like a damaged one; name another file, or move it away"
            throw StoreError(.notOurs, path: path, message)
        }
    }

    private func check(_ db: Database) throws {
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard version <= Self.version else {
            let message = "\(path) has version \(version), this library supports \(Self.version); update the program"
            throw StoreError(.newerSchema, path: path, message)
        }
        try db.checkIntegrity()
        try db.checkTables(["answer"])
    }

    // MARK: Writing

    private func write(_ answers: [StoredAnswer], to file: DatabaseFile) throws(StoreError) {
        do {
            if try isOurs(file) {
                let connection = try FileConnection(path: file.path, busyTimeout: busyTimeout, isReadOnly: true)
                defer { try? connection.close() }
                try connection.perform(check)
            }
        } catch {
            guard error.code == .damaged || error.isOfSchema else { throw error }
            _ = try file.setAside(at: Int64(time(nil)))
        }
        let kept =
            answers.count <= maxAnswers ? answers : Array(answers.sorted { $0.said > $1.said }.prefix(maxAnswers))
        try file.create { draft throws(StoreError) in
            let connection = try FileConnection(path: draft, busyTimeout: busyTimeout)
            defer { try? connection.close() }
            try connection.perform { db in
                try db.inTransaction(.immediate) {
                    try db.execute(sql: Self.schema)
                    let insert = try db.makeStatement(
                        sql: "INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                    )
                    for answer in kept { try insert.execute(arguments: answer.columns) }
                    return .commit
                }
            }
        }
    }

    private static let schema = """
        PRAGMA application_id = \(applicationID);
        PRAGMA user_version = \(version);
        CREATE TABLE answer (
            name TEXT NOT NULL, network TEXT NOT NULL, upstream TEXT NOT NULL, said INTEGER NOT NULL,
            v4 TEXT, v4_stored INTEGER, v4_expires INTEGER,
            v6 TEXT, v6_stored INTEGER, v6_expires INTEGER,
            PRIMARY KEY (name, network)
        ) STRICT, WITHOUT ROWID;
        """
}
