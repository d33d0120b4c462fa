// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB
import NIOConcurrencyHelpers

/// Transfers changes between a jar and its file in both directions. Everything runs serially on the connection's queue, so that
/// the jar applies changes in the order of their writes.
final class CookieExchange: Sendable {
    private struct Progress {
        /// The newest revision in the file that the jar has applied.
        var revision: Int64
        /// SQLite's `data_version` at the last check, which changes when another connection writes.
        var dataVersion: Int64?
        /// The time up to which access times are in the file.
        var accessed: CookieTime
        /// The time up to which the jar's changes are in the file.
        var written: CookieTime
    }

    let jar: CookieJar
    private let recorder: ChangeRecorder
    private let configuration: CookieDatabaseConfiguration
    private let clock: @Sendable () -> CookieTime
    private let path: String
    private let identity: FileIdentity?
    private let progress: NIOLockedValueBox<Progress>

    /// - Parameter revision: The newest revision in the file when the jar was filled from it.
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

    private func rows(_ db: Database) -> CookieRows { CookieRows(db, budget: ReadBudget(for: jar.configuration)) }

    // MARK: Looking

    /// Reads the changes of other processes if there are any.
    func look(_ db: Database) throws {
        try checkPlace()
        let version = try Int64.fetchOne(db, sql: "PRAGMA data_version")
        guard progress.withLockedValue({ $0.dataVersion != version }) else { return }
        var others = Others()
        try db.inTransaction(.deferred) {
            others = try self.others(rows(db), isOverrun: recorder.isOverrun)
            return .commit
        }
        progress.withLockedValue {
            $0.revision = others.revision
            $0.dataVersion = version
        }
        takeOver(others.changes, others)
    }

    // MARK: Writing

    /// Writes the jar's changes and applies those of other processes.
    ///
    /// - Parameter withAccess: Whether to write access times and clean up the file too.
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
        var others = Others()
        var changes: [CookieRows.Change] = []
        // Immediate: otherwise another process could write between the reads and the writes of this transaction.
        try db.inTransaction(.immediate) {
            let rows = rows(db)
            others = try self.others(rows, isOverrun: batch == .everything)
            let settled = try reconcile(batch, rows, others: others.changes)
            changes = settled.takenOver
            if !settled.written.isEmpty {
                others.revision += 1
                try rows.setRevision(others.revision)
            }
            let revision = others.revision
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
            $0.revision = others.revision
            if withAccess { $0.accessed = now }
        }
        takeOver(changes, others)
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
        try rows.forgetDeletions(before: oldest, keeping: configuration.maxDeletions)
    }

    // MARK: Taking over

    /// The changes of other processes since the last check.
    private struct Others {
        var changes: [CookieRows.Change] = []
        /// The newest revision.
        var revision: Int64 = 0
        /// The cookies among the removals that are newer than the last write, and may not be in the file yet.
        var unwritten: Set<CookieKey> = []
    }

    /// Returns the changes of other processes since the last check.
    ///
    /// - Parameter isOverrun: Whether the jar has more pending changes than the capacity.
    private func others(_ rows: CookieRows, isOverrun: Bool) throws -> Others {
        let state = try rows.state()
        let (known, written) = progress.withLockedValue { ($0.revision, $0.written) }
        if state.revision == known { return Others(revision: known) }
        if known >= state.pruned, known < state.revision {
            return Others(changes: try rows.changes(after: known), revision: state.revision)
        }
        // Some deletion records that the jar has not seen are pruned, or the file was restored from a backup. Remove from the
        // jar what the file does not have.
        var others = Others(revision: state.revision)
        others.changes = try rows.cookies().rows
            .map { CookieRows.Change(key: CookieKey($0.cookie), updated: $0.updated, cookie: $0.cookie) }
        let present = Set(others.changes.map(\.key))
        let cookies = jar.allCookies()
        // Checked after the copy: cookies may have come since the batch was taken.
        let isOverrun = isOverrun || recorder.isOverrun
        for cookie in cookies {
            let key = CookieKey(cookie)
            // With an overrun, cookies newer than the last write are not tracked; they are not in the file yet.
            if present.contains(key) || (isOverrun && cookie.created > written) { continue }
            if cookie.created > written { others.unwritten.insert(key) }
            others.changes.append(CookieRows.Change(key: key, updated: .min, cookie: nil))
        }
        return others
    }

    /// Applies the changes of other processes to the jar, except where the jar has a newer pending change.
    private func takeOver(_ changes: [CookieRows.Change], _ others: Others) {
        guard let newest = changes.map(\.updated).max() else { return }
        recorder.noteUpdate(newest)
        let times = Dictionary(changes.map { ($0.key, $0.updated) }) { max($0, $1) }
        jar.merge(
            stored: changes.compactMap(\.cookie),
            removed: changes.filter { $0.cookie == nil }.map(\.key.cookie),
            source: recorder.source,
            unless: { [recorder] cookie in
                let key = CookieKey(cookie)
                // The recorder may have been overrun since the comparison. Then it no longer knows its pending changes.
                if others.unwritten.contains(key), recorder.isOverrun { return true }
                return recorder.outranks(key, updated: times[key] ?? .min)
            }
        )
    }

    /// A moved file can still be written, but its data would be lost to later readers of the path.
    private func checkPlace() throws {
        guard let identity, FileIdentity(path: path) == identity else {
            let message = "\(path) was moved, deleted or replaced while it was open; close it and open it again"
            throw StoreError(.moved, path: path, message)
        }
    }
}
