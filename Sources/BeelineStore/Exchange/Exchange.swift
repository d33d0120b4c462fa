// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB
import NIOConcurrencyHelpers

/// What passes between a jar and its file, in both directions. All of it runs on the connection's queue, one exchange after
/// the other, so that the jar takes over changes in the order in which they were written.
final class Exchange: Sendable {
    private struct Progress {
        /// The newest batch in the file that the jar knows.
        var revision: Int64
        /// The file as SQLite counts its changes by others, when it was looked at last.
        var dataVersion: Int64?
        /// Until when the times of last access are in the file.
        var accessed: CookieTime
        /// Up to when the changes of the jar are in the file.
        var written: CookieTime
    }

    let jar: CookieJar
    private let recorder: ChangeRecorder
    private let configuration: CookieDatabaseConfiguration
    private let clock: @Sendable () -> CookieTime
    private let path: String
    private let identity: FileIdentity?
    private let progress: NIOLockedValueBox<Progress>

    /// - Parameter revision: The newest batch in the file when the jar was filled from it.
    init(
        jar: CookieJar,
        recorder: ChangeRecorder,
        configuration: CookieDatabaseConfiguration,
        clock: @escaping @Sendable () -> CookieTime,
        path: String,
        revision: Int64
    ) {
        self.jar = jar
        self.recorder = recorder
        self.configuration = configuration
        self.clock = clock
        self.path = path
        identity = FileIdentity(path: path)
        let now = clock()
        progress = NIOLockedValueBox(Progress(revision: revision, accessed: now, written: now))
    }

    // MARK: Looking

    /// Takes over what others have written, if they have.
    func look(_ db: Database) throws {
        try checkPlace()
        let version = try Int64.fetchOne(db, sql: "PRAGMA data_version")
        guard progress.withLockedValue({ $0.dataVersion != version }) else { return }
        var changes: [CookieRows.Change] = []
        var revision: Int64 = 0
        try db.inTransaction(.deferred) {
            (changes, revision) = try others(CookieRows(db), isOverrun: recorder.isOverrun)
            return .commit
        }
        progress.withLockedValue {
            $0.revision = revision
            $0.dataVersion = version
        }
        takeOver(changes)
    }

    // MARK: Writing

    /// Writes what has happened to the jar, and takes over what others have written.
    ///
    /// - Parameter withAccess: Whether the times of last access are written too, and the file is tidied up.
    func write(_ db: Database, withAccess: Bool) throws {
        try checkPlace()
        let start = clock()
        let batch = recorder.take()
        do {
            try write(batch, db, withAccess: withAccess)
            progress.withLockedValue { $0.written = start }
        } catch {
            recorder.putBack(batch)
            throw error
        }
    }

    private func write(_ batch: PendingChanges.Batch, _ db: Database, withAccess: Bool) throws {
        let now = clock()
        let accessed = withAccess ? jar.cookies(accessedSince: progress.withLockedValue { $0.accessed }) : []
        guard batch != .changes([]) || !accessed.isEmpty else { return try look(db) }
        var changes: [CookieRows.Change] = []
        var revision: Int64 = 0
        // Immediate: a transaction that reads first and writes later could find that somebody has written in between.
        try db.inTransaction(.immediate) {
            let rows = CookieRows(db)
            (changes, revision) = try others(rows, isOverrun: batch == .everything)
            let settled = try reconcile(batch, rows, others: changes)
            changes = settled.takenOver
            if !settled.written.isEmpty {
                revision += 1
                try rows.setRevision(revision)
            }
            for entry in settled.written {
                if entry.kind == .stored {
                    try rows.store(CookieRow(entry.cookie, updated: entry.updated, revision: revision))
                } else {
                    try rows.delete(CookieKey(entry.cookie), updated: entry.updated, revision: revision)
                }
            }
            for cookie in accessed { try rows.touch(cookie) }
            if withAccess { try tidy(rows, now: now) }
            return .commit
        }
        progress.withLockedValue {
            $0.revision = revision
            if withAccess { $0.accessed = now }
        }
        takeOver(changes)
    }

    private func reconcile(
        _ batch: PendingChanges.Batch,
        _ rows: CookieRows,
        others: [CookieRows.Change]
    ) throws -> Reconciliation {
        switch batch {
        case .changes(let own): Reconciliation(own: own, others: others)
        case .everything:
            Reconciliation(
                jar: jar.allCookies(),
                file: try rows.cookies().rows.map(\.cookie),
                others: others,
                updated: recorder.stamp()
            )
        }
    }

    private func tidy(_ rows: CookieRows, now: CookieTime) throws {
        _ = try rows.deleteExpired(at: now)
        let lifetime = configuration.deletionLifetime.components.seconds
        let oldest = CookieTime(secondsSince1970: now.secondsSince1970 - Double(lifetime))
        try rows.forgetDeletions(before: oldest, keeping: configuration.maximumDeletions)
    }

    // MARK: Taking over

    /// What others have written since the jar looked last, and the newest batch.
    ///
    /// - Parameter isOverrun: Whether the jar has more changes that wait than are remembered.
    private func others(
        _ rows: CookieRows,
        isOverrun: Bool
    ) throws -> (changes: [CookieRows.Change], revision: Int64) {
        let state = try rows.state()
        let (known, written) = progress.withLockedValue { ($0.revision, $0.written) }
        if state.revision == known { return ([], known) }
        if known >= state.pruned, known < state.revision {
            return (try rows.changes(after: known), state.revision)
        }
        // Deletions that the jar has not heard of are forgotten, or the file was put back from a copy: what the jar has
        // and the file has not is gone.
        var changes = try rows.cookies().rows
            .map { CookieRows.Change(key: CookieKey($0.cookie), updated: $0.updated, cookie: $0.cookie) }
        let present = Set(changes.map(\.key))
        for cookie in jar.allCookies() {
            let key = CookieKey(cookie)
            // What came since the last batch was never there, and is not remembered one by one.
            if present.contains(key) || (isOverrun && cookie.created > written) { continue }
            changes.append(CookieRows.Change(key: key, updated: .min, cookie: nil))
        }
        return (changes, state.revision)
    }

    /// Puts what others have written into the jar, where nothing newer has happened to it.
    private func takeOver(_ changes: [CookieRows.Change]) {
        guard let newest = changes.map(\.updated).max() else { return }
        recorder.witness(newest)
        let times = Dictionary(changes.map { ($0.key, $0.updated) }) { max($0, $1) }
        jar.merge(
            stored: changes.compactMap(\.cookie),
            removed: changes.filter { $0.cookie == nil }.map(\.key.cookie),
            source: recorder.source,
            unless: { [recorder] cookie in
                let key = CookieKey(cookie)
                return recorder.outranks(key, updated: times[key] ?? .min)
            }
        )
    }

    /// A file that was moved away can still be written, and nobody would ever read it.
    private func checkPlace() throws {
        guard let identity, FileIdentity(path: path) == identity else {
            let message = "\(path) was moved, deleted or replaced while it was open; close it and open it anew"
            throw StoreError(.moved, path: path, message)
        }
    }
}
