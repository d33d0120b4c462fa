// SPDX-License-Identifier: Apache-2.0

import GRDB
public import HTTPDNS

/// A resolver's answers in an SQLite file.
///
/// ```swift
/// configuration.store = AnswerDatabase(path: "answers.sqlite")
/// ```
///
/// It is a cache: a file that is damaged is begun anew, one that belongs to another program is left alone, and what is in it
/// is checked again when it is read. One process at a time writes it; of two the later wins.
public struct AnswerDatabase: AnswerStore {
    private let path: String
    private let busyTimeout: Duration

    /// Says in a file's head whose it is: "BeeA".
    static let applicationID: UInt32 = 0x4265_6541

    /// The answers in the file at `path`, which is made when answers are first saved.
    ///
    /// - Parameter busyTimeout: How long another process's lock is waited for. Default: 5 s.
    public init(path: String, busyTimeout: Duration = .seconds(5)) {
        self.path = path
        self.busyTimeout = busyTimeout
    }

    /// The answers that were saved last.
    ///
    /// - Throws: ``StoreError``.
    public func load() async throws -> [StoredAnswer] {
        guard try DatabaseFile(path).kind() == .database(Self.applicationID) else { return [] }
        let connection = try Connection(path: path, busyTimeout: busyTimeout, isReadOnly: true)
        defer { try? connection.close() }
        return try await connection.perform { db in try Self.read(db) }
    }

    /// Replaces what is in the file.
    ///
    /// - Throws: ``StoreError``.
    public func save(_ answers: [StoredAnswer]) async throws {
        do {
            try await write(answers)
        } catch let error as StoreError where error.code == .damaged {
            try DatabaseFile(path).remove()
            try await write(answers)
        }
    }

    private func write(_ answers: [StoredAnswer]) async throws {
        let file = DatabaseFile(path)
        switch try file.kind() {
        case .absent: try file.create()
        case .database(Self.applicationID): break
        case .database:
            throw StoreError(.notOurs, path: path, "\(path): it belongs to another program; choose another file")
        case .unknown:
            try file.remove()
            try file.create()
        }
        let connection = try Connection(path: path, busyTimeout: busyTimeout)
        defer { try? connection.close() }
        try await connection.perform { db in
            try db.inTransaction {
                try db.execute(sql: Self.schema)
                try db.execute(sql: "DELETE FROM answer")
                let insert = try db.makeStatement(sql: "INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
                for answer in answers {
                    try insert.execute(arguments: [
                        answer.name, answer.network, answer.upstream, answer.v4?.text, answer.v4?.storedAt,
                        answer.v4?.expiresAt, answer.v6?.text, answer.v6?.storedAt, answer.v6?.expiresAt,
                    ])
                }
                return .commit
            }
        }
    }

    private static let schema = """
        PRAGMA application_id = \(applicationID);
        CREATE TABLE IF NOT EXISTS answer (
            name TEXT NOT NULL, network TEXT NOT NULL, upstream TEXT NOT NULL,
            v4 TEXT, v4_stored INTEGER, v4_expires INTEGER,
            v6 TEXT, v6_stored INTEGER, v6_expires INTEGER,
            PRIMARY KEY (name, network)
        ) STRICT, WITHOUT ROWID;
        """

    private static func read(_ db: Database) throws -> [StoredAnswer] {
        try Row.fetchAll(db, sql: "SELECT * FROM answer").map { row in
            StoredAnswer(
                name: row["name"],
                network: row["network"],
                upstream: row["upstream"],
                v4: part(row, "v4"),
                v6: part(row, "v6")
            )
        }
    }

    private static func part(_ row: Row, _ family: String) -> StoredAnswer.Part? {
        guard let text: String = row[family], let stored: Int64 = row["\(family)_stored"],
            let expires: Int64 = row["\(family)_expires"]
        else { return nil }
        return StoredAnswer.Part(
            addresses: text.split(separator: " ").map(String.init),
            storedAt: stored,
            expiresAt: expires
        )
    }
}

extension StoredAnswer.Part {
    /// The addresses in one text.
    fileprivate var text: String { addresses.joined(separator: " ") }
}
