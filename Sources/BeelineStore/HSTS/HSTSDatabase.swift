// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
import GRDB
import Names

/// Keeps the hosts that require TLS (HSTS, RFC 6797) in an SQLite file.
///
/// ```swift
/// let database = HSTSDatabase(path: "/home/me/.cache/app/hsts.sqlite")
/// let hosts = HSTSStore()
/// hosts.add(try await database.load())
/// let client = try BeelineClient(hsts: hosts)
/// …
/// try await database.save(hosts.entries)
/// ```
///
/// Each save replaces the whole file atomically: a process that ends during a save leaves the old file, and if two processes
/// save, the later save wins. A damaged file is renamed with the time in its name. The files of other programs and of newer
/// library versions are not changed. Only the owner can read the file.
public struct HSTSDatabase: Sendable {
    /// The path of the file, as given to the initializer.
    package var path: String { file.path }
    /// The maximum number of entries to read and write.
    package let maxEntries: Int

    private let file: SnapshotFile

    /// Names a file. The first save creates it.
    ///
    /// - Parameters:
    ///   - path: The file. Its directory must be writable.
    ///   - busyTimeout: How long to wait for another process that is saving. Default: 5 s.
    ///   - maxEntries: The maximum number of entries to read and write. The last ones are kept. Default: 10,000.
    public init(path: String, busyTimeout: Duration = .seconds(5), maxEntries: Int = 10_000) {
        self.maxEntries = max(0, maxEntries)
        file = SnapshotFile(
            path: path,
            place: DatabaseFile.absolute(path),
            busyTimeout: busyTimeout,
            // "BeeH".
            applicationID: 0x4265_6548,
            version: 1,
            table: "host",
            columns: """
                (
                    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
                    subdomains INTEGER NOT NULL, expiry INTEGER NOT NULL
                ) STRICT
                """,
            width: 4
        )
    }

    /// Returns the entries of the last save, also expired ones; empty if the file does not exist or was damaged. A damaged file
    /// is renamed.
    ///
    /// - Throws: ``StoreError``: `.notOurs`, `.newerSchema`, `.notAccessible`, `.busy`.
    public func load() async throws(StoreError) -> [HSTSEntry] { try await loadWithMessage().items }

    /// Returns what ``load()`` returns, and a message for the user if the file was damaged.
    package func loadWithMessage() async throws(StoreError) -> (items: [HSTSEntry], message: String?) {
        try await file.read("ORDER BY number LIMIT ?", limit: maxEntries) { row in
            guard row.integer() != nil, let name = row.text(), let subdomains = row.boolean(),
                let expiry = row.integer(), let host = try? Host(name)
            else { return nil }
            return HSTSEntry(host: host, includesSubdomains: subdomains, expiresAt: expiry)
        }
    }

    /// Replaces the saved entries.
    ///
    /// - Throws: ``StoreError``, as ``load()``, and `.diskFull`.
    public func save(_ entries: [HSTSEntry]) async throws(StoreError) {
        let rows = entries.suffix(maxEntries).enumerated().map { (number: Int64($0), entry: $1) }
        try await file.replace(with: rows) { row in
            [row.number, row.entry.host, row.entry.includesSubdomains, row.entry.expiresAt]
        }
    }
}
