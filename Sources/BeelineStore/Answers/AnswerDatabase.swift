// SPDX-License-Identifier: Apache-2.0

public import HTTPDNS

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
    package var path: String { file.path }
    /// The maximum number of answers to read and write. The newest are kept.
    package let maxAnswers: Int

    private let file: SnapshotFile
    /// The absolute path, so that later changes of the working directory have no effect.
    var place: String { file.place }

    /// Creates a store for a file. The first save creates the file.
    ///
    /// - Parameters:
    ///   - path: The file. Its directory must be writable.
    ///   - busyTimeout: How long to wait for another process that is saving. Default: 5 s.
    ///   - maxAnswers: The maximum number of answers to read and write. Default: 100,000.
    public init(path: String, busyTimeout: Duration = .seconds(5), maxAnswers: Int = 100_000) {
        self.maxAnswers = max(0, maxAnswers)
        file = SnapshotFile(
            path: path,
            place: DatabaseFile.absolute(path),
            busyTimeout: busyTimeout,
            // "BeeA".
            applicationID: 0x4265_6541,
            version: 1,
            table: "answer",
            columns: """
                (
                    name TEXT NOT NULL, network TEXT NOT NULL, upstream TEXT NOT NULL, said INTEGER NOT NULL,
                    v4 TEXT, v4_stored INTEGER, v4_expires INTEGER,
                    v6 TEXT, v6_stored INTEGER, v6_expires INTEGER,
                    PRIMARY KEY (name, network)
                ) STRICT, WITHOUT ROWID
                """,
            width: 10
        )
    }

    /// Returns the answers of the last save; empty if the file does not exist or was damaged. A damaged file is renamed.
    ///
    /// - Throws: ``StoreError``: `.notOurs`, `.newerSchema`, `.notAccessible`, `.busy`.
    public func load() async throws -> [StoredAnswer] {
        try await file.read("ORDER BY said DESC LIMIT ?", limit: maxAnswers) { StoredAnswer(&$0) }.items
    }

    /// Replaces the saved answers.
    ///
    /// - Throws: ``StoreError``, as ``load()``, and `.diskFull`.
    public func save(_ answers: [StoredAnswer]) async throws {
        let kept =
            answers.count <= maxAnswers ? answers : Array(answers.sorted { $0.said > $1.said }.prefix(maxAnswers))
        try await file.replace(with: kept) { $0.columns }
    }
}
