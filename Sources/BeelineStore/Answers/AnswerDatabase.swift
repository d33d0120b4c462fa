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

/// A resolver's answers in an SQLite file, so that the first requests of the next process need not wait for an upstream.
///
/// ```swift
/// configuration.store = AnswerDatabase(path: "answers.sqlite")
/// ```
///
/// It is a cache: each save puts a whole new file in the place of the old one, so that a process which ends in the middle
/// leaves the old one, and of two processes that save, the later wins. A damaged file is set aside under a name with the
/// time. Another program's file, and that of a newer version of this library, are not touched. Only the owner can read it.
public struct AnswerDatabase: AnswerStore {
    /// The file.
    public let path: String
    /// How long another process that is saving is waited for.
    public let busyTimeout: Duration
    /// So many answers are read and written, those that were said last; more are left out.
    public let maxAnswers: Int

    /// Says in a file's head whose it is: "BeeA".
    private static let applicationID: UInt32 = 0x4265_6541
    /// The version of the table.
    private static let version = 1

    /// Where the file is, whatever the working directory becomes until the next call.
    let place: String

    /// The answers in a file, which is made when answers are first saved.
    ///
    /// - Parameters:
    ///   - path: The file. Its directory must be writable.
    ///   - busyTimeout: How long another process that is saving is waited for. Default: 5 s.
    ///   - maxAnswers: How many answers are read and written. Default: 100,000.
    public init(path: String, busyTimeout: Duration = .seconds(5), maxAnswers: Int = 100_000) {
        self.path = path
        self.busyTimeout = busyTimeout
        self.maxAnswers = max(0, maxAnswers)
        place = DatabaseFile.absolute(path)
    }

    /// The answers that were saved last; none where there is no file, or where it was damaged and is set aside now.
    ///
    /// - Throws: ``StoreError``: `.notOurs`, `.newerSchema`, `.notAccessible`, `.busy`.
    public func load() async throws -> [StoredAnswer] {
        try await Connection.offPool { () throws(StoreError) in try locked(read) }
    }

    /// Replaces what is in the file.
    ///
    /// - Throws: ``StoreError``, as ``load()``, and `.diskFull`.
    public func save(_ answers: [StoredAnswer]) async throws {
        try await Connection.offPool { () throws(StoreError) in
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
                // Two that asked in the same moment share it: both let go, and one is the first the next time.
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
            let connection = try Connection(path: file.path, busyTimeout: busyTimeout, isReadOnly: true)
            defer { try? connection.close() }
            return try connection.perform { db in
                try check(db)
                let rows = try Row.fetchCursor(
                    db,
                    sql: "SELECT * FROM answer ORDER BY said DESC LIMIT ?",
                    arguments: [maxAnswers]
                )
                var answers: [StoredAnswer] = []
                while let row = try rows.next() {
                    if let answer = StoredAnswer(row) { answers.append(answer) }
                }
                return answers
            }
        } catch {
            // The head says that the file is ours: a table that is not there was lost.
            guard error.code == .damaged || error.isOfSchema else { throw error }
            _ = try file.setAside(at: Int64(time(nil)))
            return []
        }
    }

    /// Whether there is a file, and it is one of this kind.
    private func isOurs(_ file: DatabaseFile) throws(StoreError) -> Bool {
        switch try file.kind() {
        case .absent: return false
        case .database(Self.applicationID): return true
        case .database:
            throw StoreError(.notOurs, path: path, "\(path) is another program's database; name another file")
        case .unknown(Self.applicationID): throw StoreError(.damaged, path: path, "\(path) is no database")
        case .unknown:
            let message =
                "\(path) is no database, and nothing shows that it was one; name another file, or move it away"
            throw StoreError(.notOurs, path: path, message)
        }
    }

    private func check(_ db: Database) throws {
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard version <= Self.version else {
            let message = "\(path) has version \(version), and this library knows \(Self.version); update the program"
            throw StoreError(.newerSchema, path: path, message)
        }
        try db.checkIntegrity()
        try db.checkTables(["answer"])
    }

    // MARK: Writing

    private func write(_ answers: [StoredAnswer], to file: DatabaseFile) throws(StoreError) {
        do {
            if try isOurs(file) {
                let connection = try Connection(path: file.path, busyTimeout: busyTimeout, isReadOnly: true)
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
            let connection = try Connection(path: draft, busyTimeout: busyTimeout)
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
